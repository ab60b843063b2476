//! A word and how often it was seen, so far: every word comes out again with its new count.

use tidegate::prelude::*;

/// A word and its count.
#[derive(Fields)]
pub struct Counted<'a> {
    word: &'a str,
    count: i64,
}

/// Counts every key.
#[tidegate::function]
pub struct CountWords {
    #[state]
    seen: Counter,
}

impl Keyed for CountWords {
    type In = KeyOnly;
    type Out = Fields<Counted<'static>>;

    fn on_record(&mut self, _: (), cx: &mut Context<Self>) -> Result {
        let count = self.seen.add(1)?;
        cx.emit(&Counted { word: cx.key_text()?, count });
        Ok(())
    }
}

#[cfg(test)]
mod tests;
