//! Where records go.

use model::{Parallelism, RecordBatch, SubtaskIndex};

use crate::Error;

/// A sink of a job. Shared by the subtasks that write it.
pub trait Sink: Send + Sync {
    /// A writer for one subtask. Called on the thread that will write.
    ///
    /// # Errors
    /// When the target cannot be opened, or holds what would be overwritten.
    fn open(&self, subtask: SubtaskIndex, parallelism: Parallelism) -> Result<Box<dyn SinkWriter>, Error>;
}

/// Writes batches, in order. Owned by one thread.
///
/// # Promises
/// 1. Records leave in the order of the calls.
/// 2. After [`SinkWriter::flush`] returned ok, everything written before is with the target.
/// 3. Dropping a writer without [`SinkWriter::close`] loses at most what was not flushed; it never
///    leaves half a record.
/// 4. After an error every later call gives that error: nobody takes for written what is missing.
pub trait SinkWriter: Send {
    /// Takes a batch; may buffer.
    ///
    /// # Errors
    /// When the target refuses it.
    fn write(&mut self, batch: &RecordBatch) -> Result<(), Error>;

    /// Hands everything buffered to the target.
    ///
    /// # Errors
    /// When the target refuses it.
    fn flush(&mut self) -> Result<(), Error>;

    /// Flushes and ends. Nothing is written afterwards.
    ///
    /// # Errors
    /// When the target refuses it.
    fn close(&mut self) -> Result<(), Error>;
}
