//! A record goes on if its last byte is a letter.

use tidegate::prelude::*;

/// Copies every value in, and none out.
#[tidegate::function]
pub struct FilterBinary;

impl Unkeyed for FilterBinary {
    type In = Bytes;
    type Out = Forward;

    fn on_record(&mut self, value: &[u8], cx: &mut Context<Self>) -> Result {
        if value.last().is_some_and(u8::is_ascii_alphabetic) {
            cx.forward();
        }
        Ok(())
    }
}
