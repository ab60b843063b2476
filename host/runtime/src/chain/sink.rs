//! An operator that writes.
//!
//! A target that takes nothing now ([`Retry::Backoff`]: its disk is full) is asked again until it does, or the job stops.
//! Meanwhile the thread takes nothing more, so that the queues before it fill up to the source, and the coordinator
//! knows.

use std::time::Duration;

use contract::{Error, SinkWriter};
use model::{Barrier, RecordBatch, Retry};

use super::barriers::Arrival;
use super::context::{Context, Flow, Responsible, Stop};
use crate::backoff::Backoff;
use crate::epochs::handed::HandedPart;
use crate::epochs::link::{Message, SinkWaits};

/// See the module.
pub(crate) struct SinkOperator {
    pub(crate) responsible: Responsible,
    writer: Box<dyn SinkWriter>,
    flush_age: Duration,
    /// When the oldest batch that was not flushed came.
    unflushed_since: Option<Duration>,
    /// Whether what is written is staged.
    stages: bool,
    /// Bytes written since the last barrier, if they are staged.
    unstaged_bytes: u64,
}

impl SinkOperator {
    pub(crate) fn new(
        responsible: Responsible,
        writer: Box<dyn SinkWriter>,
        flush_age: Duration,
        stages: bool,
    ) -> Self {
        Self { responsible, writer, flush_age, unflushed_since: None, stages, unstaged_bytes: 0 }
    }

    pub(crate) fn process(&mut self, batch: &RecordBatch, context: &mut Context) -> Flow {
        let bytes = batch.values.total_bytes();
        self.responsible.metrics.records_in.add_len(batch.len());
        self.responsible.metrics.bytes_in.add_len(bytes);
        self.insist(context, |writer| writer.write(batch))?;
        let metrics = &self.responsible.metrics;
        metrics.records_out.add_len(batch.len());
        metrics.bytes_out.add_len(bytes);
        self.unflushed_since.get_or_insert_with(|| context.elapsed());
        if let Some(epochs) = context.epochs.as_ref().filter(|_| self.stages) {
            self.unstaged_bytes += bytes as u64;
            epochs.add_to_backlog(bytes as u64);
        }
        Ok(())
    }

    /// Ends the epoch of what was written, and hands over what makes it durable.
    pub(crate) fn barrier(&mut self, barrier: Barrier, arrival: Arrival, context: &mut Context) -> Flow {
        self.unflushed_since = None;
        let started = context.elapsed();
        let staging = self.insist(context, |writer| writer.stage(barrier.epoch))?;
        let bytes = std::mem::take(&mut self.unstaged_bytes);
        let what = HandedPart::Sink { staging, bytes };
        self.responsible.hand_over(barrier, arrival, started, what, context);
        Ok(())
    }

    /// Flushes what has waited long enough.
    pub(crate) fn tick(&mut self, now: Duration) -> Flow {
        match self.due() {
            Some(due) if now >= due => {
                // What waits for room is flushed by the next write or barrier, or in a while.
                self.unflushed_since = None;
                match self.writer.flush() {
                    Err(error) if error.retry() == Retry::Backoff => self.unflushed_since = Some(now),
                    flushed => flushed.map_err(|error| self.responsible.seam(&error))?,
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// When it wants to be asked again.
    pub(crate) fn due(&self) -> Option<Duration> {
        self.unflushed_since.map(|since| since + self.flush_age)
    }

    pub(crate) fn close(&mut self, context: &mut Context) -> Flow {
        self.insist(context, |writer| writer.close())
    }

    /// Makes a call of the writer, again and again while its target takes nothing.
    #[inline]
    fn insist<T>(
        &mut self,
        context: &mut Context,
        call: impl FnMut(&mut dyn SinkWriter) -> Result<T, Error>,
    ) -> Flow<T> {
        let mut call = call;
        match call(self.writer.as_mut()) {
            Ok(done) => Ok(done),
            Err(error) if error.retry() == Retry::Backoff => self.wait_for_target(error, context, call),
            Err(error) => Err(self.responsible.seam(&error)),
        }
    }

    #[cold]
    fn wait_for_target<T>(
        &mut self,
        first: Error,
        context: &mut Context,
        mut call: impl FnMut(&mut dyn SinkWriter) -> Result<T, Error>,
    ) -> Flow<T> {
        let began = context.elapsed();
        let (operator, subtask) = (self.responsible.operator.clone(), self.responsible.subtask);
        tracing::warn!(operator = operator.as_str(), subtask = subtask.0, "waits for its target: {first}");
        let tell = |error: Option<Error>| {
            if let Some(epochs) = &context.epochs {
                epochs.tell(Message::SinkWaits(Box::new(SinkWaits { operator: operator.clone(), subtask, error })));
            }
        };
        tell(Some(first));
        let mut backoff = Backoff::new();
        let outcome = loop {
            if !backoff.pause(&context.control) {
                break Err(Stop::Quiet);
            }
            match call(self.writer.as_mut()) {
                Ok(done) => break Ok(done),
                Err(error) if error.retry() == Retry::Backoff => tell(Some(error)),
                Err(error) => break Err(self.responsible.seam(&error)),
            }
        };
        tell(None);
        let waited = context.elapsed().saturating_sub(began);
        context.blocked += waited;
        tracing::info!(operator = operator.as_str(), subtask = subtask.0, "waited {waited:?} for its target");
        outcome
    }
}
