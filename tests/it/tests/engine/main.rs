//! The engine over the doubles: whole jobs in memory, no Wasm, no disk.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "all of this crate is tests")]

mod assign;
mod backpressure;
mod cancel;
mod decode;
mod epochs;
mod exchange;
mod failures;
mod flow;
mod graph;
mod poison;
mod renew;
mod support;
mod timers;
