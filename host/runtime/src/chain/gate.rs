//! The head of a chain that receives: the queues of all its senders, served in turn, except those that
//! [`protocol::alignment`] holds.
//!
//! # Invariants
//! 1. Batches of one queue are handled in their order.
//! 2. No queue waits for ever while another is busy, unless it is held.
//! 3. Between the last element before an aligned barrier and the barrier nothing is handed out.

use std::sync::Arc;
use std::time::Duration;

use model::{Barrier, EventTime, InputId, RecordBatch, StreamElement};
use protocol::alignment::{Alignment, Error, Step};
use protocol::queue_bound::Drain;
use protocol::watermark::WatermarkMerge;

use super::context::{Context, Flow, Stop};
use crate::queue::{Received, Receiver, Signal};

/// The bound of the queues is changed by more than this share of it.
const WORTH_TELLING: usize = 8;

/// A queue and the input its records are for.
#[derive(Debug)]
pub(crate) struct Inlet {
    pub(crate) receiver: Receiver<StreamElement>,
    pub(crate) input: InputId,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Gate {
    inlets: Vec<Inlet>,
    /// The inlets that may be asked, by their number, rising.
    open: Vec<usize>,
    /// The place among the open ones that is asked next.
    next: usize,
    alignment: Alignment,
    watermarks: WatermarkMerge,
    /// How fast what came was taken.
    drain: Drain,
    /// What every queue is bounded by now.
    limit_bytes: usize,
    /// When the first barrier of the epoch that aligns came.
    aligning_since: Duration,
    arrival: Arc<Signal>,
}

/// What waits at the gate.
#[derive(Debug)]
pub(crate) enum Arrived {
    /// A batch for an input.
    Batch(InputId, RecordBatch),
    /// No earlier event time follows on any inlet.
    Watermark(EventTime),
    /// Every live inlet has delivered this barrier, the first of them at this time.
    Barrier(Barrier, Duration),
    /// Nothing now.
    Nothing,
    /// Nothing any more.
    End,
    /// Something that no sender sends.
    Unexpected(String),
}

impl Gate {
    pub(crate) fn new(inlets: Vec<Inlet>, arrival: Arc<Signal>) -> Self {
        let open = (0..inlets.len()).collect();
        let alignment = Alignment::new(inlets.len());
        let watermarks = WatermarkMerge::new(inlets.len());
        let mut gate = Self {
            inlets,
            open,
            next: 0,
            alignment,
            watermarks,
            drain: Drain::default(),
            limit_bytes: 0,
            aligning_since: Duration::ZERO,
            arrival,
        };
        gate.bound_queues();
        gate
    }

    pub(crate) fn bind(&self) {
        self.arrival.bind();
    }

    /// Takes the next element of any queue that is not held; never waits.
    pub(crate) fn take(&mut self, context: &Context) -> Flow<Arrived> {
        if self.is_aborted(context) {
            let aborted = self.alignment.aligning().unwrap_or_default();
            let released = self.alignment.abort(aborted);
            self.reopen(released);
        }
        let mut asked = 0;
        while asked < self.open.len() {
            let turn = self.next % self.open.len();
            let Some((at, inlet)) = self.open.get(turn).and_then(|&at| Some((at, self.inlets.get(at)?))) else { break };
            match inlet.receiver.receive() {
                Received::Element(StreamElement::Batch(batch)) => {
                    let input = inlet.input;
                    self.next = turn + 1;
                    return Ok(Arrived::Batch(input, batch));
                }
                Received::Element(StreamElement::EndOfInput) => {
                    self.open.remove(turn);
                    self.next = turn;
                    asked = 0;
                    let step = self.alignment.end(at);
                    if let Some(arrived) = self.follow(step) {
                        return Ok(arrived);
                    }
                }
                Received::Element(StreamElement::Barrier(barrier)) => {
                    if self.alignment.aligning() != Some(barrier.epoch) {
                        self.aligning_since = context.elapsed();
                    }
                    let step = self.alignment.barrier(at, barrier);
                    if self.alignment.is_held(at) {
                        self.open.remove(turn);
                    }
                    self.next = turn;
                    asked = 0;
                    if let Some(arrived) = self.follow(step) {
                        return Ok(arrived);
                    }
                }
                Received::Element(StreamElement::Watermark(watermark)) => {
                    self.next = turn + 1;
                    asked = 0;
                    if let Some(raised) = self.watermarks.note(at, watermark) {
                        return Ok(Arrived::Watermark(raised));
                    }
                }
                Received::Empty => {
                    self.next = turn + 1;
                    asked += 1;
                }
                // The sender left without a word: it has failed, and says so itself.
                Received::Closed => return Err(Stop::Quiet),
            }
        }
        Ok(if self.alignment.is_over() { Arrived::End } else { Arrived::Nothing })
    }

    /// Waits until something is there, an alignment is aborted, the job stops, or `timeout` is over.
    pub(crate) fn wait(&self, timeout: Option<Duration>, context: &Context) {
        let is_ready = |at: &usize| self.inlets.get(*at).is_some_and(|inlet| inlet.receiver.is_ready());
        let ready = || self.open.iter().any(is_ready) || self.is_aborted(context);
        self.arrival.wait(&context.control, timeout, ready);
    }

    /// Notes how long it took to handle a batch, and bounds the queues by that.
    pub(crate) fn note(&mut self, bytes: usize, took: Duration) {
        self.drain.note(bytes, took);
        self.bound_queues();
    }

    fn bound_queues(&mut self) {
        let most = self.inlets.iter().map(|inlet| inlet.receiver.most_bytes()).max().unwrap_or_default();
        let limit = self.drain.limit(self.inlets.len(), most);
        // A change that nobody would notice is not worth telling every sender.
        let is_worth_telling = limit == most || limit.abs_diff(self.limit_bytes) > self.limit_bytes / WORTH_TELLING;
        if is_worth_telling && limit != self.limit_bytes {
            self.limit_bytes = limit;
            self.inlets.iter().for_each(|inlet| inlet.receiver.bound(limit));
        }
    }

    fn is_aborted(&self, context: &Context) -> bool {
        match (self.alignment.aligning(), &context.epochs) {
            (Some(aligning), Some(epochs)) => epochs.aborted() >= aligning,
            _ => false,
        }
    }

    /// Does what the alignment says. `Some`: something to hand out.
    fn follow(&mut self, step: Result<Step, Error>) -> Option<Arrived> {
        match step {
            Err(error) => Some(Arrived::Unexpected(error.to_string())),
            Ok(Step { released, aligned }) => {
                self.reopen(released);
                aligned.map(|barrier| Arrived::Barrier(barrier, self.aligning_since))
            }
        }
    }

    fn reopen(&mut self, released: Vec<usize>) {
        let ended = |at: &usize| self.alignment.has_ended(*at);
        let released: Vec<usize> = released.into_iter().filter(|at| !ended(at)).collect();
        for at in released {
            if let Err(place) = self.open.binary_search(&at) {
                self.open.insert(place, at);
            }
        }
    }
}

#[cfg(test)]
mod tests;
