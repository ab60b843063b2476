//! The job file: from text to a checked [`JobSpec`].

mod places;
mod problem;
mod spec;

pub use problem::{JobFileErrors, Problem};
pub use spec::{
    BatchSpec, CsvSpec, EventTimeSpec, FileSinkSpec, FileSourceSpec, FormatSpec, FunctionSpec, GeneratorShape,
    GeneratorSpec, InputRef, InputSpec, JobSpec, KeySpec, LimitsSpec, OnError, SinkCompression, SinkConnector,
    SinkSpec, SourceCompression, SourceConnector, SourceSpec, StateBackendKind, StateSpec, TimeUnit,
};
