//! The real binary is killed, overtaken, starved and lied to, and its committed output compared with a model.
//!
//! # Words
//! - *point*: a place between two steps at which the binary under test ends itself, as a signal from outside would;
//!   see `failpoints.rs` of the binary
//! - *world*: a folder with a job, its input, storage and output, which outlives the processes in it
//! - *run*: one process over a world
//!
//! # Invariants
//! 1. What is committed is read here, by code that shares nothing with the sink.
//! 2. After every kill: nothing is visible of an epoch that no manifest has. After the last run: the output is the
//!    model's, nothing is staged, and nothing unfinished is left.
//! 3. Every seed is printed where a test fails.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "all of this crate is tests, and what they print tells how to see a failure again"
)]

#[cfg(feature = "s3")]
mod bucket;
mod damage;
mod disks;
mod input;
mod kit;
#[cfg(feature = "rocksdb")]
mod on_disk;
mod oracle;
mod owners;
mod points;
mod random;
#[cfg(feature = "s3")]
#[path = "../../../checkpoint/tests/s3/server.rs"]
mod server;
