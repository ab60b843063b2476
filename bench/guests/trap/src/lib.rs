//! A record that is not empty makes it panic.

use tidegate::prelude::*;

/// Panics.
#[tidegate::function]
pub struct Trap;

impl Unkeyed for Trap {
    type In = Bytes;
    type Out = Forward;

    fn on_record(&mut self, value: &[u8], _: &mut Context<Self>) -> Result {
        assert!(value.is_empty(), "{} bytes", value.len());
        Ok(())
    }
}
