//! Where records go.

pub use model::{Delivery, StagedOutput};
use model::{Epoch, Generation, LineageId, Parallelism, RecordBatch, SubtaskIndex};

use crate::Error;

/// Who writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriterTask {
    /// The subtask.
    pub subtask: SubtaskIndex,
    /// How many write.
    pub parallelism: Parallelism,
    /// The history that the output belongs to.
    pub lineage: LineageId,
    /// The incarnation that writes: what it stages is never mistaken for what another one staged.
    pub generation: Generation,
}

impl WriterTask {
    /// The writer of a job without checkpoints.
    #[must_use]
    pub fn plain(subtask: SubtaskIndex, parallelism: Parallelism) -> Self {
        Self { subtask, parallelism, lineage: LineageId(0), generation: Generation(0) }
    }
}

/// The slow half of staging: makes what was written durable. Runs on another thread than the writer's,
/// while the writer goes on with the next epoch. Nothing staged: no output.
///
/// After an error that is [`model::Retry::Backoff`] it may be called again: nothing of what was written is lost, and the
/// effect is that of one call. After any other it never succeeds. After it succeeded it is called no more.
pub type Staging = Box<dyn FnMut() -> Result<Vec<StagedOutput>, Error> + Send>;

/// A sink of a job. Shared by the subtasks that write it.
pub trait Sink: Send + Sync {
    /// What it promises in a job with checkpoints.
    fn delivery(&self) -> Delivery {
        Delivery::AtLeastOnce
    }

    /// A writer for one subtask. Called on the thread that will write.
    ///
    /// # Errors
    /// When the target cannot be opened, or holds what would be overwritten.
    fn open(&self, task: &WriterTask) -> Result<Box<dyn SinkWriter>, Error>;

    /// What publishes staged output; `None` for a sink that stages nothing.
    ///
    /// # Errors
    /// When the target cannot be opened.
    fn publisher(&self, _lineage: LineageId) -> Result<Option<Box<dyn Publisher>>, Error> {
        Ok(None)
    }
}

/// Writes batches, in order. Owned by one thread.
///
/// # Promises
/// 1. Records leave, or are staged, in the order of the calls.
/// 2. After [`SinkWriter::flush`] returned ok, everything written before is with the target, if the sink is
///    not [`Delivery::ExactlyOnce`].
/// 3. Dropping a writer without [`SinkWriter::close`] loses at most what was not flushed; it never
///    leaves half a record.
/// 4. After an error that is [`model::Retry::Backoff`] nothing of the call was taken, nothing taken before is lost, and
///    the same call may be made again: a disk was full. After any other error every later
///    call gives that error: nobody takes for written what is missing.
/// 5. What it keeps in memory, of calls that were taken, is bounded: it takes no more while its target takes nothing.
/// 6. Of a sink that is [`Delivery::ExactlyOnce`] nothing is visible before a [`Publisher`] made it so.
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

    /// Ends an epoch: everything written since the last call belongs to it. Quick: what is slow is left to
    /// the [`Staging`] that is returned.
    ///
    /// # Errors
    /// When the target refuses it.
    fn stage(&mut self, _epoch: Epoch) -> Result<Staging, Error> {
        self.flush()?;
        Ok(Box::new(|| Ok(Vec::new())))
    }

    /// Flushes and ends. Nothing is written afterwards. What an exactly-once sink did not stage is dropped.
    ///
    /// # Errors
    /// When the target refuses it.
    fn close(&mut self) -> Result<(), Error>;
}

/// Makes staged output visible. Owned by one thread.
///
/// # Promises
/// 1. `publish` returns ok only when the whole epoch is known to be visible; it may be called again, after any
///    error and after any crash, by this or a later publisher of the lineage, and the effect is that of one call.
/// 2. Epochs come in rising order; a call for an epoch at or below the last one published changes nothing.
/// 3. An error leaves the epoch to be published again; nothing of a later epoch is visible meanwhile.
///
/// Calls may block while the target takes its time; data threads never make them. They return within a bound that the
/// connector knows: a job that fails or is abandoned ends only after the call in progress, and none is broken off. What
/// is not known by then is an error that says to try again.
pub trait Publisher: Send {
    /// Publishes what was staged for `epoch`, in the order given.
    ///
    /// # Errors
    /// When the target does not answer or refuses; [`model::Retry::No`] where no repetition can help.
    fn publish(&mut self, epoch: Epoch, staged: &[StagedOutput]) -> Result<(), Error>;

    /// The last epoch published in the lineage, as the target itself knows it; `None`: none yet.
    ///
    /// # Errors
    /// When the target does not answer.
    fn last_published(&mut self) -> Result<Option<Epoch>, Error>;

    /// Removes what generations before `generation` staged and no manifest lists. `listed` is everything that they
    /// listed. What `generation` and later ones staged stays: who asks may have been overtaken and not know it.
    /// Returns how much was removed.
    ///
    /// # Errors
    /// When the target does not answer.
    fn discard_orphans(&mut self, listed: &[StagedOutput], generation: Generation) -> Result<u64, Error>;
}
