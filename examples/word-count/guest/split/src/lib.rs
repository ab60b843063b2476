//! A line as its words.
//!
//! A word is a run of ASCII letters, digits and apostrophes that begins and ends with a letter or digit,
//! in lower case; everything else stands between words.

use tidegate::prelude::*;

/// Sends every word of a line.
#[tidegate::function]
pub struct Split {
    #[scratch]
    lower: Vec<u8>,
}

impl Unkeyed for Split {
    type In = Bytes;
    type Out = Bytes;

    fn on_record(&mut self, line: &[u8], cx: &mut Context<Self>) -> Result {
        self.lower.clear();
        self.lower.extend(line.iter().map(u8::to_ascii_lowercase));
        for run in self.lower.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'\'') {
            let word = trim_apostrophes(run);
            if !word.is_empty() {
                cx.emit(word);
            }
        }
        Ok(())
    }
}

fn trim_apostrophes(mut run: &[u8]) -> &[u8] {
    while let [b'\'', rest @ ..] | [rest @ .., b'\''] = run {
        run = rest;
    }
    run
}

#[cfg(test)]
mod tests;
