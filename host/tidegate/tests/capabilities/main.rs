//! What can be started from what: the table of `docs/checkpoints.md`, a file a row, a test a cell.
//!
//! Every test runs the binary over functions made with the SDK, in several versions of one function.

#![expect(clippy::indexing_slicing, reason = "a test that finds another document than it expects is to fail")]

mod checkpoint;
mod kit;
mod savepoint;
