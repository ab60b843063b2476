//! What flows on a channel.

use crate::{Epoch, EventTime, RecordBatch};

/// What flows between subtasks.
#[derive(Clone, Debug)]
pub enum StreamElement {
    /// Records.
    Batch(RecordBatch),
    /// No earlier event time follows.
    Watermark(EventTime),
    /// The end of an epoch.
    Barrier(Epoch),
    /// Nothing follows.
    EndOfInput,
}
