//! Lets each record through once: the first with its key within seven days of event time.
//!
//! It needs nothing but the key, so no record is ever copied into the sandbox.

use tidegate::prelude::*;

/// What has been seen.
#[tidegate::function]
pub struct Dedup {
    #[state(ttl = "7d", clock = "event-time", refresh = "on-create")]
    seen: Value<bool>,
    #[metric]
    duplicates: Count,
}

impl Keyed for Dedup {
    type In = KeyOnly;
    type Out = Forward;

    fn on_record(&mut self, _: (), cx: &mut Context<Self>) -> Result {
        if self.seen.get()?.is_none() {
            self.seen.set(true);
            cx.forward();
        } else {
            self.duplicates.add(1);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
