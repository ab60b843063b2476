//! A sink that keeps records in memory, for comparing.

use std::sync::{Arc, Mutex, PoisonError};

use contract::{Error, Sink, SinkWriter, WriterTask};
use model::RecordBatch;

/// Records in the order in which they came; `None` for a tombstone.
pub(super) type Records = Vec<Option<Vec<u8>>>;

/// Keeps what it is given. Clones share the records.
#[derive(Clone, Default)]
pub(super) struct Collect(Arc<Mutex<Records>>);

impl Collect {
    /// What has come so far.
    pub(super) fn take(&self) -> Records {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Sink for Collect {
    fn open(&self, _task: &WriterTask) -> Result<Box<dyn SinkWriter>, Error> {
        Ok(Box::new(self.clone()))
    }
}

impl SinkWriter for Collect {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        let mut records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        records.extend(batch.values.iter().map(|value| value.map(<[u8]>::to_vec)));
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn close(&mut self) -> Result<(), Error> {
        Ok(())
    }
}
