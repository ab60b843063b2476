//! The nouns every room shares: ids, times, columns, record batches, stream elements, what a function
//! declares of itself, and the job spec with its validation.
//!
//! # Invariants
//! 1. Nothing here does I/O, reads a clock, or decides anything about the protocol.
//! 2. A bare integer never names a thing: ids, indexes and times are newtypes or carry their unit.
//!
//! # Absent on purpose
//! No async, no other room.

mod batch;
mod blame;
mod column;
mod descriptor;
mod durable;
mod element;
mod field;
mod ids;
pub mod job;
mod limits;
mod pointer;
mod timer;
mod values;

pub use batch::{Headers, OriginRun, Origins, RecordBatch, Routing};
pub use blame::{Blame, Retry};
pub use column::{Column, ColumnError, OptionalColumn};
pub use descriptor::{
    Descriptor, DescriptorError, MetricDescriptor, MetricKind, PortDescriptor, Refresh, StateDescriptor, StateKind,
    Ttl, TtlClock,
};
pub use durable::{Creation, Delivery, ListedObject, ObjectHandle, ObjectNumber, StagedOutput};
pub use element::{Barrier, StreamElement};
pub use field::{Cells, FieldColumn, FieldKind, FieldSpec, TimeUnit, is_csv_delimiter};
pub use ids::{
    Epoch, EventTime, Generation, HostTime, InputId, InvalidName, JobName, KeyGroup, KeyGroupRange, LineageId,
    MetricId, ModuleDigest, OperatorUid, OutputId, Parallelism, Position, SlotIndex, SourceId, SplitIndex, StateId,
    SubtaskIndex,
};
pub use limits::{BatchLimits, DEFAULT_KEY_GROUPS, DEFAULT_QUEUE_BYTES, MAX_KEY_GROUPS, MAX_PARALLELISM};
pub use pointer::{MAX_JSON_DEPTH, PointerError, pointer_steps};
pub use timer::{TIMER_VALUE, TimerClock, timer_entry_key, timer_of_origin, timer_time};
pub use values::{Span, Values};

#[cfg(test)]
mod tests;
