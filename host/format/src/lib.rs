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
//! 4. Nothing allocates per record, except to describe a fault and to read a time written with escapes.
//!
//! ```
//! use format::{Cut, CutKind, Decoder, FaultKind, Format};
//! use model::{Cells, Column, FieldKind, Values};
//!
//! let cut = |path: &str, kind| Cut { path: path.to_owned(), kind, required: true };
//! let cuts = [cut("/id", CutKind::Key), cut("/order/amount", CutKind::Field(FieldKind::Float))];
//! let mut decoder = Decoder::new(&Format::Json, &cuts)?;
//!
//! let lines = [r#"{"id":7,"order":{"amount":1.5}}"#, r#"{"id":8,"order":{}}"#];
//! let decoded = decoder.decode(&Values::from(lines.iter().collect::<Column>()));
//! assert_eq!(decoded.columns[0].cells, Cells::Texts(["7", "8"].iter().collect()));
//! assert_eq!(decoded.columns[1].cells, Cells::Floats(vec![1.5, 0.0]));
//! assert_eq!((decoded.faults[0].row, decoded.faults[0].kind), (1, FaultKind::MissingField));
//! # Ok::<(), format::CutError>(())
//! ```
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
pub use model::TimeUnit;
pub use spec::{CsvFormat, Cut, CutError, CutKind, Format, WHOLE_VALUE};
