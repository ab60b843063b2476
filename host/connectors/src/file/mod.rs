//! Files of lines, as a source and as a sink.
//!
//! A source reads one file, or every regular file of a directory in the order of their names: each is a
//! split, a position is a byte of its unpacked stream. Hidden files (`.name`) and sub-directories are
//! left out. gzip (of many members) and zstd (of many frames) are told by their first bytes.
//!
//! # What a line is
//! - It ends at `\n` or `\r\n`; the last one may have no end. In CSV, line breaks between quotes belong
//!   to the record.
//! - JSON and CSV: empty lines and a byte-order mark at the start of a file are passed over and counted.
//!   Raw: an empty line is an empty record, a byte-order mark is part of the first.
//! - One longer than `max_record` is rejected: `record-too-long`. One with a CSV quote that is not
//!   closed: `quote-not-closed`. Reading goes on with the next line.
//!
//! # Where reading goes on
//! - A file is known by its name and its first bytes; one of that name that is another, or shorter than it
//!   was read, is an error.
//! - What was appended is read; new files are found when the source is made, or asked for its splits.
//! - A last line without an end is a record when the file ends there. If it is ended later, reading goes on
//!   behind its end; if it goes on otherwise, that is an error: the record was half a line.
//! - Packed files are unpacked up to the position again.
//!
//! # Absent on purpose
//! No waiting for files to grow or to appear: the source ends.

mod append;
mod error;
mod gathered;
mod gzip;
mod lines;
mod listing;
mod options;
mod parts;
mod resume;
mod rows;
mod sink;
mod source;
mod split;
mod staged;
#[cfg(test)]
mod tests;
mod unpack;

pub use error::Error;
pub use options::{FileSinkOptions, FileSourceOptions};
pub use sink::FileSink;
pub(crate) use sink::LineStyle;
pub use source::FileSource;
pub use staged::{
    CommittedFile, CommittedFiles, Condition, DEFAULT_ROLL_BYTES, Error as StagedError, FileLayout, ListedAs,
    PublishedFile, StagedFileSink, StagedFileSinkOptions, committed_files, files_not_listed, published_files,
    published_layout,
};
