//! The watermark of a subtask with several inputs.
//!
//! # Words
//! - *input*: one incoming channel, by its number from 0
//!
//! # Invariants
//! 1. It is the least of what the inputs said last, as long as each has said something.
//! 2. It never falls: an input that says less than before is taken at its former word.
//! 3. An input that has ended is taken at its last word. One that was read to its end said [`EventTime::END`] before; one
//!    that was told to stop did not, and what it would have brought holds the others back for ever.
//!
//! # Absent on purpose
//! Idleness: an input that says nothing holds back.

use model::EventTime;

#[cfg(test)]
mod tests;

/// See the module.
#[derive(Clone, Debug)]
pub struct WatermarkMerge {
    inputs: Vec<EventTime>,
    merged: EventTime,
}

impl WatermarkMerge {
    /// Of a subtask with so many inputs, which have said nothing.
    #[must_use]
    pub fn new(inputs: usize) -> Self {
        Self { inputs: vec![EventTime::UNKNOWN; inputs], merged: EventTime::UNKNOWN }
    }

    /// `input` says that nothing before `watermark` follows. `Some`: so far the subtask's own rises.
    pub fn note(&mut self, input: usize, watermark: EventTime) -> Option<EventTime> {
        let known = self.inputs.get_mut(input)?;
        *known = watermark.max(*known);
        let least = self.inputs.iter().copied().min()?;
        if least <= self.merged {
            return None;
        }
        self.merged = least;
        Some(least)
    }
}
