//! Sources and sinks, one folder per external system.
//!
//! # Flow
//! Every folder has a [`contract::Source`] or a [`contract::Sink`], its reader or writer, and its tests;
//! options where a job file has more to say than a format, and an `Error` with codes where the outside
//! can fail.
//!
//! # Invariants
//! 1. Nothing is lost silently: what a source passes over is counted by name, what a sink cannot write
//!    is an error.
//! 2. A reader's memory is bounded by its options, whatever the file holds.
//!
//! # Absent on purpose
//! Connectors do not know each other, nor the engine, nor how values are decoded.

mod arena;
pub mod blackhole;
mod failure;
pub mod file;
pub mod generator;
pub mod stdout;
