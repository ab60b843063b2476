//! The seams: what the engine asks of sources, sinks, state, functions and clocks, with the promises
//! written down, an in-memory double and a compliance suite for each.
//!
//! # Invariants
//! 1. A data-plane call is made by one thread at a time and may block only as its doc says.
//! 2. Every error answers whose fault and what now: [`Error::blame`], [`Error::retry`].
//! 3. Calls are per batch; nothing here is called per record.
//!
//! # Absent on purpose
//! No implementation but the doubles: rooms that implement a seam do not know each other.

mod checkpoint;
mod clock;
pub mod compliance;
pub mod doubles;
mod error;
mod function;
mod object;
mod random;
mod sink;
mod source;
mod state;

pub use checkpoint::{CheckpointStore, Creation, Nonce, ObjectNumber, StoredObject};
pub use clock::Clock;
pub use error::Error;
pub use function::{
    Emit, Failure, FailureKind, FunctionFactory, InputBatch, LogLevel, LogLine, OutputRecords, ProcessError, RowKind,
    Staged, StateWrites, Task, TimerRequest, Turn, UserFunction,
};
pub use object::{
    ListedObject, MAX_OBJECT_NAME_BYTES, MAX_OBJECT_SEGMENT_BYTES, OBJECT_BYTES, ObjectHandle, SnapshotStore,
    check_object_name, gather_objects,
};
pub use random::Randomness;
pub use sink::{Delivery, Publisher, Sink, SinkWriter, StagedOutput, Staging, WriterTask};
pub use source::{Polled, Rejected, Source, SourceReader, Split, SplitAssignment};
pub use state::{
    KeyedState, LookTimes, SlotKeys, StateBackend, StateDelta, StateEntry, StateImage, StatePart, StateScope,
    StateStats,
};
