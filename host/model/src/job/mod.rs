//! The job file: from text, YAML or JSON, to a checked [`JobSpec`].
//!
//! # Flow
//! `tree` reads the text into values that know where they stand; `file`, `durability`, `sources`,
//! `functions` and `sinks` take the keys they know out of it and refuse the rest; `graph` checks how the
//! operators hang together; `outputs` and `formats` check, later, that the functions are what the job takes
//! them for.
//!
//! # Invariants
//! 1. Every problem of a file is reported at once, each with its place.
//! 2. Nothing is ignored: a key is used, or refused as unknown, or refused as not available yet.
//! 3. The readers and `schema` name the same keys: a test compares them.
//! 4. What a file can make grow is bounded: its size, its depth, what its aliases expand to, the number
//!    of problems kept.
//!
//! # Absent on purpose
//! No file is opened: whether a path exists is known to whoever opens it.

mod check;
mod codes;
mod config;
mod durability;
mod file;
mod formats;
mod functions;
mod graph;
mod outputs;
mod paths;
mod places;
mod problem;
mod schema;
mod sinks;
mod sources;
mod spec;
#[cfg(test)]
mod tests;
mod tree;

pub use functions::DEFAULT_LIMITS;
pub use problem::{JobFileErrors, Problem};
pub use sources::DEFAULT_MAX_RECORD_BYTES;
pub use spec::{
    CheckpointSpec, CsvSpec, EventTimeSpec, FileLayout, FileSinkSpec, FileSourceSpec, FormatSpec, FunctionSpec,
    GeneratorShape, GeneratorSpec, InputRef, InputSpec, JobSpec, KeySpec, LimitsSpec, OnError, RestartSpec,
    SinkCompression, SinkConnector, SinkSpec, SourceCompression, SourceConnector, SourceSpec, StateBackendKind,
    StateSpec, WatermarkSpec,
};
pub use tree::{MAX_DEPTH, MAX_EXPANDED_BYTES, MAX_FILE_BYTES};
