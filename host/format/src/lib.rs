//! Wire formats: one decoding pass cuts key, time and fields out of a value; one encoder puts fields back.
//!
//! # Words
//! - *cut*: one thing wanted of every value; *cell*: what a cut brings for one row
//! - *fault*: what is wrong with one row, or with one cut of it
//!
//! # Invariants
//! 1. Every column has one cell per row, whatever is wrong with the row.
//! 2. A JSON value is accepted exactly when `serde_json` accepts it, and cells have the same values.
//! 3. Integers, keys and texts are exact or a fault, never rounded, cut short or replaced. Floats are those
//!    `serde_json` reads; times are rounded down to milliseconds.
//! 4. Nothing allocates per record, except to describe a fault.
//!
//! # Absent on purpose
//! No I/O, no policy: what becomes of a row at fault is decided by the runtime. No schema registry.

mod csv;
mod decoder;
mod encode;
mod fault;
mod json;
mod pointer;
mod raw;
mod spec;
mod time;
mod utf8;

pub use decoder::{Decoded, Decoder};
pub use encode::{EncodeError, Encoder};
pub use fault::{Fault, FaultKind};
pub use json::validate_json;
pub use spec::{CsvFormat, Cut, CutError, CutKind, Format, TimeUnit, WHOLE_VALUE};
