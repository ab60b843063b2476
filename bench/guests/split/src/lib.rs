//! A line as its words, between blanks.

use tidegate::prelude::*;

/// Sends every word of a line.
#[tidegate::function]
pub struct Split;

impl Unkeyed for Split {
    type In = Bytes;
    type Out = Bytes;

    fn on_record(&mut self, line: &[u8], cx: &mut Context<Self>) -> Result {
        line.split(|&byte| byte == b' ').for_each(|word| cx.emit(word));
        Ok(())
    }
}
