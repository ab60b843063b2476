//! What a file source and a file sink are told.

use std::path::PathBuf;

use model::job::{CsvSpec, FileSinkSpec, FileSourceSpec, FormatSpec, SinkCompression, SourceCompression};

/// Options of a file source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSourceOptions {
    /// A file, or a directory all of whose files are read.
    pub path: PathBuf,
    /// Of a directory only files whose name ends in one of these; empty: all.
    pub include: Vec<String>,
    /// How the files are packed.
    pub compression: SourceCompression,
    /// The longest record; a longer line is rejected, and never in memory whole.
    pub max_record_bytes: u64,
    /// What the lines are: it decides about empty lines, byte-order marks, quotes and headers.
    pub format: FormatSpec,
}

impl FileSourceOptions {
    /// The options of a job's source; `path` is that of the spec, resolved.
    #[must_use]
    pub fn from_spec(spec: &FileSourceSpec, format: &FormatSpec, path: PathBuf) -> Self {
        Self {
            path,
            include: spec.include.clone(),
            compression: spec.compression,
            max_record_bytes: spec.max_record_bytes,
            format: format.clone(),
        }
    }

    /// The CSV options, where the lines are CSV.
    pub(super) fn csv(&self) -> Option<&CsvSpec> {
        match &self.format {
            FormatSpec::Csv(csv) => Some(csv),
            FormatSpec::Json | FormatSpec::Raw => None,
        }
    }
}

/// Options of a file sink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSinkOptions {
    /// A directory, or one file (see [`FileSinkSpec::is_one_file`]).
    pub path: PathBuf,
    /// How the files are packed.
    pub compression: SinkCompression,
    /// Whether a file that is there already is replaced.
    pub overwrite: bool,
    /// What the values are: it decides about the file's ending, line breaks and tombstones.
    pub format: FormatSpec,
}

impl FileSinkOptions {
    /// The options of a job's sink; `path` is that of the spec, resolved.
    #[must_use]
    pub fn from_spec(spec: &FileSinkSpec, format: &FormatSpec, path: PathBuf) -> Self {
        Self { path, compression: spec.compression, overwrite: spec.overwrite, format: format.clone() }
    }
}
