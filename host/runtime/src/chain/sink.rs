//! An operator that writes.

use std::time::Duration;

use contract::SinkWriter;
use model::RecordBatch;

use super::context::{Context, Flow, Responsible};

/// See the module.
pub(crate) struct SinkOperator {
    pub(crate) responsible: Responsible,
    writer: Box<dyn SinkWriter>,
    flush_age: Duration,
    /// When the oldest batch that was not flushed came.
    unflushed_since: Option<Duration>,
}

impl SinkOperator {
    pub(crate) fn new(responsible: Responsible, writer: Box<dyn SinkWriter>, flush_age: Duration) -> Self {
        Self { responsible, writer, flush_age, unflushed_since: None }
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
