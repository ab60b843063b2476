//! The newest version under every key; older ones are dropped, however late they come.

use tidegate::prelude::*;

/// What is read of a version.
#[derive(Fields)]
pub struct Version {
    updated: i64,
}

/// Passes a version on if it is newer than every one seen under its key.
#[tidegate::function]
pub struct Newest {
    #[state]
    newest: Value<i64>,
    #[metric]
    stale: Count,
}

impl Keyed for Newest {
    type In = Fields<Version>;
    type Out = Forward;

    fn on_record(&mut self, version: Version, cx: &mut Context<Self>) -> Result {
        if self.newest.get()?.is_some_and(|newest| version.updated <= *newest) {
            self.stale.add(1);
            return Ok(());
        }
        self.newest.set(version.updated);
        cx.forward();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
