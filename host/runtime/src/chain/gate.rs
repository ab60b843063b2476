//! The head of a chain that receives: the queues of all its senders, served in turn.
//!
//! # Invariants
//! 1. Batches of one queue are handled in their order.
//! 2. No queue waits for ever while another is busy.

use std::sync::Arc;
use std::time::Duration;

use model::{InputId, RecordBatch, StreamElement};

use super::context::{Context, Flow, Stop};
use crate::queue::{Received, Receiver, Signal};

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
    /// The inlet that is asked next.
    next: usize,
    arrival: Arc<Signal>,
}

/// What waits at the gate.
#[derive(Debug)]
pub(crate) enum Arrived {
    /// A batch for an input.
    Batch(InputId, RecordBatch),
    /// Nothing now.
    Nothing,
    /// Nothing any more.
    End,
    /// Something that no sender sends.
    Unexpected(StreamElement),
}

impl Gate {
    pub(crate) fn new(inlets: Vec<Inlet>, arrival: Arc<Signal>) -> Self {
        Self { inlets, next: 0, arrival }
    }

    pub(crate) fn bind(&self) {
        self.arrival.bind();
    }

    /// Takes the next element of any queue; never waits.
    pub(crate) fn take(&mut self) -> Flow<Arrived> {
        let mut asked = 0;
        while asked < self.inlets.len() {
            let turn = self.next % self.inlets.len();
            let Some(inlet) = self.inlets.get(turn) else { break };
            match inlet.receiver.receive() {
                Received::Element(StreamElement::Batch(batch)) => {
                    let input = inlet.input;
                    self.next = turn + 1;
                    return Ok(Arrived::Batch(input, batch));
                }
                Received::Element(StreamElement::EndOfInput) => {
                    self.inlets.remove(turn);
                    self.next = turn;
                    asked = 0;
                }
                Received::Element(other) => return Ok(Arrived::Unexpected(other)),
                Received::Empty => {
                    self.next = turn + 1;
                    asked += 1;
                }
                // The sender left without a word: it has failed, and says so itself.
                Received::Closed => return Err(Stop::Quiet),
            }
        }
        Ok(if self.inlets.is_empty() { Arrived::End } else { Arrived::Nothing })
    }

    /// Waits until something is there, the job stops, or `timeout` is over.
    pub(crate) fn wait(&self, timeout: Option<Duration>, context: &Context) {
        self.arrival.wait(&context.control, timeout, || self.inlets.iter().any(|inlet| inlet.receiver.is_ready()));
    }
}
