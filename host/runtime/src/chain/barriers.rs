//! A barrier on its way through a chain.

use std::time::Duration;

use model::{Barrier, Epoch};

use super::context::{Flow, Stop};
use super::{Chain, Head, Operator};

/// When a barrier came to a chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// When the first input delivered it.
    pub(crate) arrived: Duration,
    /// From then until the last one did.
    pub(crate) alignment: Duration,
}

impl Chain {
    /// Begins the barrier of `epoch` at a source.
    pub(super) fn inject(&mut self, epoch: Epoch) -> Flow {
        self.drain()?;
        let arrived = self.context.elapsed();
        let Head::Source(source) = &mut self.head else { return Err(Stop::Quiet) };
        let barrier = source.barrier(epoch, Arrival { arrived, alignment: Duration::ZERO }, &mut self.context)?;
        self.pass_on(barrier, Arrival { arrived, alignment: Duration::ZERO })
    }

    /// Passes a barrier that all inputs have delivered, the first of them at `since`.
    pub(super) fn pass(&mut self, barrier: Barrier, since: Duration) -> Flow {
        let alignment = self.context.elapsed().saturating_sub(since);
        self.pass_on(barrier, Arrival { arrived: since, alignment })
    }

    fn pass_on(&mut self, barrier: Barrier, arrival: Arrival) -> Flow {
        self.drain()?;
        for at in 0..self.operators.len() {
            if let Some(operator) = self.operators.get_mut(at) {
                match operator {
                    Operator::Function(function) => function.barrier(barrier, arrival, &mut self.context)?,
                    Operator::Sink(sink) => sink.barrier(barrier, arrival, &mut self.context)?,
                }
            }
            self.drain()?;
        }
        self.context.barrier(barrier)
    }
}
