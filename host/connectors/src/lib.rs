//! Sources and sinks, one folder per external system.
//!
//! # Flow
//! Every folder has the same parts: options, a [`contract::Source`] or [`contract::Sink`] made of them,
//! its reader or writer, an `Error` with codes, and `tests.rs`.
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
pub mod file;
pub mod generator;
pub mod stdout;
