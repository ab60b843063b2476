//! An operator that writes.

use std::time::Duration;

use contract::SinkWriter;
use model::{Barrier, RecordBatch};

use super::barriers::Arrival;
use super::context::{Context, Flow, Responsible};
use crate::epochs::handed::HandedPart;

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
        let metrics = &self.responsible.metrics;
        metrics.records_in.add_len(batch.len());
        metrics.bytes_in.add_len(bytes);
        self.writer.write(batch).map_err(|error| self.responsible.seam(&error))?;
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
        let staging = self.writer.stage(barrier.epoch).map_err(|error| self.responsible.seam(&error))?;
        let bytes = std::mem::take(&mut self.unstaged_bytes);
        let what = HandedPart::Sink { staging, bytes };
        self.responsible.hand_over(barrier, arrival, started, what, context);
        Ok(())
    }

    /// Flushes what has waited long enough.
    pub(crate) fn tick(&mut self, now: Duration) -> Flow {
        match self.due() {
            Some(due) if now >= due => {
                self.unflushed_since = None;
                self.writer.flush().map_err(|error| self.responsible.seam(&error))
            }
            _ => Ok(()),
        }
    }

    /// When it wants to be asked again.
    pub(crate) fn due(&self) -> Option<Duration> {
        self.unflushed_since.map(|since| since + self.flush_age)
    }

    pub(crate) fn close(&mut self) -> Flow {
        self.writer.close().map_err(|error| self.responsible.seam(&error))
    }
}
