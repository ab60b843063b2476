//! Epochs: barriers into the sources, snapshots out of the subtasks, manifests, and what follows from them.
//!
//! # Words
//! - *hand over*: a subtask gives what it has at a barrier to the coordinator, and goes on
//! - *owed*: handed over, and not yet listed by a manifest
//! - *backlog*: bytes of output and state that are owed, or staged and not published
//!
//! # Flow
//! coordinator: trigger → source heads: barrier in band → every operator: snapshot, handed over → upload threads:
//! durable → coordinator: manifest → publisher threads, and the tables learn that they may purge
//!
//! # Invariants
//! 1. Data threads never wait for the coordinator, an upload or a publisher; they see it in a few atomics.
//! 2. What is handed over is listed, in order, by the next manifest, or the job fails: an abort loses nothing.
//! 3. Nothing is published that no manifest of this owner or one it restored lists.
//! 4. A job without checkpoints has no [`link::EpochLink`], and its chains do what they did.
//!
//! # Absent on purpose
//! Decisions: when to trigger, what completes, what is aborted. They are in `protocol`.

mod accept;
mod adopt;
mod begin;
pub(crate) mod driver;
mod failures;
mod fit;
pub(crate) mod handed;
pub(crate) mod link;
mod own;
mod parting;
mod publish;
mod rewrite;
mod shape;
pub(crate) mod status;
mod stock;
mod sweep;
mod words;
mod work;

pub use accept::{Entries, TakeUp};
pub use adopt::adopt;
pub use begin::{Durability, start_durable};
pub use fit::{Fitted, judge};
pub use rewrite::{OnRewrite, RewriteProgress};
pub use status::{CheckpointCounts, CheckpointSummary, Condition, ConditionKind, SubtaskCheckpoint};
