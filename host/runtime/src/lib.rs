//! Motion: a job's records from its sources through its functions to its sinks.
//!
//! A [`JobGraph`] names nodes and edges and holds the objects that do the work behind the seams of
//! `contract`. [`start`] checks it, cuts it into chains, gives each chain a thread, and returns a
//! [`JobHandle`].
//!
//! # Words
//! - *chain*: operators without an exchange between them, run by one thread
//! - *lane*: what leaves an output in one encoding, decoded once for all who read it
//! - *edge*: from an output to one consumer
//!
//! # Flow
//! source or queue → chain → for each operator: turn → emits → lanes → edges → queue, or the next
//! operator of the chain
//!
//! # Invariants
//! 1. A subtask is one thread and owns its instances, tables, readers and writers; it shares nothing
//!    but queues, counters and one control.
//! 2. A value is parsed at most once at one output.
//! 3. Every record that enters an operator leaves it, is counted as not wanted by its function, or
//!    meets its `on_error`.
//! 4. The first failure stops the job and is the one reported.
//!
//! # Absent on purpose
//! Wasm, storage, wire protocols: behind `contract`. The job file: whoever starts a job reads it.

mod backoff;
mod batches;
mod chain;
mod clock;
mod control;
mod cuts;
mod dead_letter;
mod epochs;
mod failure;
mod graph;
mod handle;
mod metrics;
mod plan;
mod queue;
mod registry;
mod start;

pub use clock::SystemClock;
pub use epochs::{
    CheckpointCounts, CheckpointSummary, Condition, ConditionKind, Durability, Entries, Fitted, OnRewrite,
    RewriteProgress, SubtaskCheckpoint, TakeUp, adopt, judge, start_durable,
};
pub use failure::{Coordinates, JobFailure};
pub use graph::{
    Error as GraphError, EventTimeCut, FunctionInput, FunctionNode, JobGraph, Settings, SinkNode, SourceNode,
    Watermarks,
};
pub use handle::{Canceller, JobHandle, JobIdentity, Outcome, SplitPosition, Summary};
pub use metrics::{JobSnapshot, OperatorKind, OperatorSnapshot, TimerCounts};
pub use start::start;
