//! Nowhere: records are counted and forgotten.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use contract::{Sink, SinkWriter, WriterTask};
use model::RecordBatch;

/// What a black hole has swallowed so far, over all subtasks.
#[derive(Debug, Default)]
pub struct Swallowed {
    records: AtomicU64,
    bytes: AtomicU64,
}

impl Swallowed {
    /// Records.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records.load(Ordering::Relaxed)
    }

    /// Bytes of their values.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// A sink that keeps nothing.
#[derive(Debug, Default)]
pub struct BlackholeSink {
    swallowed: Arc<Swallowed>,
}

impl BlackholeSink {
    /// A sink that has swallowed nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What it has swallowed; goes on counting.
    #[must_use]
    pub fn swallowed(&self) -> Arc<Swallowed> {
        Arc::clone(&self.swallowed)
    }
}

impl Sink for BlackholeSink {
    fn open(&self, _task: &WriterTask) -> Result<Box<dyn SinkWriter>, contract::Error> {
        Ok(Box::new(BlackholeWriter { swallowed: self.swallowed() }))
    }
}

struct BlackholeWriter {
    swallowed: Arc<Swallowed>,
}

impl SinkWriter for BlackholeWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), contract::Error> {
        self.swallowed.records.fetch_add(batch.len() as u64, Ordering::Relaxed);
        self.swallowed.bytes.fetch_add(batch.values.total_bytes() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), contract::Error> {
        Ok(())
    }

    fn close(&mut self) -> Result<(), contract::Error> {
        Ok(())
    }
}
