//! Barrier alignment for a subtask with several inputs.
//!
//! State may be snapshotted for epoch `n` only when every live input has delivered barrier `n`. Until then the
//! inputs that already did are *held*: the task stops polling them, so backpressure reaches their senders. This
//! module decides which inputs to hold and when to snapshot. It does not wait: channels and the snapshot itself
//! belong to `runtime`.
//!
//! # Words
//! - *input*: one incoming channel, by its number from 0
//! - *live*: has not delivered end of input; *held*: delivered barrier `n`, waits for the others
//!
//! # Invariants
//! 1. At most one epoch is aligning.
//! 2. Epochs on one input strictly rise; a repeated or lower one is [`Error::EpochNotRising`].
//! 3. End of input counts as every later barrier of that input.
//! 4. Aborting an epoch releases its held inputs in input order, and loses no element.
//! 5. A higher barrier supersedes an epoch that aligns: whoever sent it knows that the lower one was aborted.
//! 6. A barrier of an aborted or superseded epoch holds nothing and is passed on by nobody.
//! 7. The watermark of an aligned barrier is the least of those its inputs delivered with it.
//!
//! # Absent on purpose
//! No clock: the coordinator aborts an alignment that takes too long, and tells us.

use model::{Barrier, Epoch, EventTime};

/// What an input has delivered that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Barriers of one input do not rise.
    #[error("input {input} delivered barrier {found} after barrier {last}: expected a higher one")]
    EpochNotRising {
        /// The input.
        input: usize,
        /// Its last barrier.
        last: Epoch,
        /// The one that came.
        found: Epoch,
    },
    /// Something came on an input that is held or has ended, or that does not exist.
    #[error("input {input} delivered something though it {why}")]
    NotPolled {
        /// The input.
        input: usize,
        /// Why nothing was expected.
        why: &'static str,
    },
}

/// What to do next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Inputs that may be polled again, in their order.
    pub released: Vec<usize>,
    /// Every live input has delivered this barrier: snapshot and pass it on, before any other element.
    pub aligned: Option<Barrier>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Input {
    /// The last barrier it delivered; epochs begin at 1.
    last: Epoch,
    /// The watermark of its barrier, while it is held.
    held: Option<EventTime>,
    has_ended: bool,
}

/// The alignment of one subtask.
#[derive(Clone, Debug)]
pub struct Alignment {
    inputs: Vec<Input>,
    /// The epoch that aligns.
    aligning: Option<Epoch>,
    /// Barriers up to this one are of no account any more.
    past: Epoch,
}

impl Alignment {
    /// A subtask with so many inputs, all live.
    #[must_use]
    pub fn new(inputs: usize) -> Self {
        Self { inputs: vec![Input::default(); inputs], aligning: None, past: Epoch(0) }
    }

    /// The epoch that aligns now.
    #[must_use]
    pub fn aligning(&self) -> Option<Epoch> {
        self.aligning
    }

    /// Whether `input` must not be polled.
    #[must_use]
    pub fn is_held(&self, input: usize) -> bool {
        self.inputs.get(input).is_some_and(|input| input.held.is_some())
    }

    /// Whether `input` has delivered end of input.
    #[must_use]
    pub fn has_ended(&self, input: usize) -> bool {
        self.inputs.get(input).is_some_and(|input| input.has_ended)
    }

    /// Whether every input has.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.inputs.iter().all(|input| input.has_ended)
    }

    /// `input` delivered `barrier`.
    ///
    /// # Errors
    /// When it does not rise, or the input was not to be polled; nothing has changed then.
    pub fn barrier(&mut self, input: usize, barrier: Barrier) -> Result<Step, Error> {
        let from = self.polled(input)?;
        if barrier.epoch <= from.last {
            return Err(Error::EpochNotRising { input, last: from.last, found: barrier.epoch });
        }
        from.last = barrier.epoch;
        let is_late = barrier.epoch <= self.past || self.aligning.is_some_and(|aligning| barrier.epoch < aligning);
        if is_late {
            return Ok(Step::default());
        }
        let mut step = Step::default();
        if self.aligning.is_some_and(|aligning| barrier.epoch > aligning) {
            step.released = self.release();
        }
        self.aligning = Some(barrier.epoch);
        if let Some(from) = self.inputs.get_mut(input) {
            from.held = Some(barrier.watermark);
        }
        self.align(&mut step);
        Ok(step)
    }

    /// `input` delivered end of input.
    ///
    /// # Errors
    /// When the input was not to be polled; nothing has changed then.
    pub fn end(&mut self, input: usize) -> Result<Step, Error> {
        self.polled(input)?.has_ended = true;
        let mut step = Step::default();
        self.align(&mut step);
        Ok(step)
    }

    /// Epochs up to `epoch` are aborted, as far as they are not aligned yet. Returns the inputs that may be
    /// polled again.
    pub fn abort(&mut self, epoch: Epoch) -> Vec<usize> {
        self.past = self.past.max(epoch);
        if self.aligning.is_some_and(|aligning| aligning <= epoch) { self.release() } else { Vec::new() }
    }

    /// The input, if anything may come from it.
    fn polled(&mut self, input: usize) -> Result<&mut Input, Error> {
        match self.inputs.get_mut(input) {
            None => Err(Error::NotPolled { input, why: "does not exist" }),
            Some(from) if from.has_ended => Err(Error::NotPolled { input, why: "has ended" }),
            Some(from) if from.held.is_some() => Err(Error::NotPolled { input, why: "is held" }),
            Some(from) => Ok(from),
        }
    }

    /// Ends the alignment if nothing is missing.
    fn align(&mut self, step: &mut Step) {
        let Some(epoch) = self.aligning else { return };
        if self.inputs.iter().any(|input| !input.has_ended && input.held.is_none()) {
            return;
        }
        let watermark = self.inputs.iter().filter_map(|input| input.held).min();
        step.aligned = Some(Barrier { epoch, watermark: watermark.unwrap_or(EventTime::UNKNOWN) });
        self.past = epoch;
        step.released.extend(self.release());
    }

    /// Forgets the epoch that aligns.
    fn release(&mut self) -> Vec<usize> {
        self.aligning = None;
        let held = self.inputs.iter_mut().enumerate().filter_map(|(at, input)| input.held.take().map(|_| at));
        held.collect()
    }
}

#[cfg(test)]
mod tests;
