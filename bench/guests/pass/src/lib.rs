//! Every record goes on as it is.

use tidegate::prelude::*;

/// Forwards; nothing crosses into the sandbox.
#[tidegate::function]
pub struct Pass;

impl Unkeyed for Pass {
    type In = KeyOnly;
    type Out = Forward;

    fn on_record(&mut self, _: (), cx: &mut Context<Self>) -> Result {
        cx.forward();
        Ok(())
    }
}
