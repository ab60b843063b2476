//! The decisions, as pure synchronous functions: facts in, verdict out.
//!
//! # Invariants
//! 1. Nothing here waits, reads a clock, draws a random number or does I/O.
//! 2. Every law a module states has a property test beside it.
//!
//! # Absent on purpose
//! Who gathers the facts and who acts on the verdict: that is `runtime`.

pub mod alignment;
pub mod assignment_of_parts;
pub mod batching;
pub mod coordinator;
pub mod event_clock;
pub mod host_clock;
pub mod isolation;
pub mod key_group;
pub mod manifest;
pub mod on_error;
pub mod ownership;
pub mod queue_bound;
pub mod recovery;
pub mod restart;
pub mod retention;
pub mod schema;
pub mod timers;
pub mod watermark;
