//! What flows on a channel.

use crate::{Epoch, EventTime, RecordBatch};

/// The in-band mark that ends an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Barrier {
    /// The epoch it ends.
    pub epoch: Epoch,
    /// No earlier event time is expected after it: the least of all that flowed together;
    /// [`EventTime::UNKNOWN`] where nothing is known. Once the checkpoint is complete, entries that
    /// expired before it may be purged.
    pub watermark: EventTime,
}

/// What flows between subtasks.
#[derive(Clone, Debug)]
pub enum StreamElement {
    /// Records.
    Batch(RecordBatch),
    /// No earlier event time follows.
    Watermark(EventTime),
    /// The end of an epoch.
    Barrier(Barrier),
    /// Nothing follows.
    EndOfInput,
}
