//! A seeded simulation of the checkpoint protocol.
//!
//! The decisions are those of `protocol`, the stores and tables are the doubles of `contract`; what is simulated is
//! everything around them: threads, queues, time, crashes, hosts that do not know they were replaced, a medium and a
//! target that lose answers. One seed decides all of it, so a failure is found again by its seed.
//!
//! # Words
//! - *host*: one process that runs the job; *zombie*: one that was replaced and does not know it yet
//! - *target*: what the sink publishes to, with its own ledger
//! - *oracle*: what compares the target with what must have come out
//! - *planted bug*: a mistake that a host makes on purpose, so that the oracle can show that it sees it
//!
//! # Flow
//! The job counts: records of two splits go by key to counting subtasks; each leaves with the number its key has
//! reached, and a key that reached the last number is forgotten. Some records are poison: the function writes state and then traps. So what must come out is known
//! exactly, and a record lost, doubled, or applied half shows in every later count of its key.
//!
//! # Invariants
//! 1. The same seed and options give the same run, step by step.
//! 2. After [`Options::calm_after`] steps nothing goes wrong any more, and the job must come to its end.
//!
//! # Absent on purpose
//! The engine's own threads and queues: `tests/it` and the tests that kill the binary run those.

mod bugs;
mod host;
mod input;
mod oracle;
mod restore;
mod rng;
mod target;
mod tasks;
mod world;

pub use bugs::Bug;
pub use oracle::Violation;
pub use world::{Options, Report, run};
