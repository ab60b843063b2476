//! Savepoints: a job's state in a folder that belongs to the user.
//!
//! ```text
//! savepoint.json      what it is, where each source stands, what each operator keeps, checksums of the files
//! <uid>.entries       the entries of one operator, by rising key group (see `entries`)
//! ```
//! A savepoint is complete in itself: it can be copied, read without user code, and restored on another parallelism
//! or another state backend.
//!
//! # Invariants
//! 1. `savepoint.json` is written last, after every file it names is synced: a folder without it is no savepoint.
//! 2. A reader hands out entries only after the metadata and every file fit their checksums.
//! 3. What is read and written is streamed: memory is bounded by a block, or by the largest entry.
//! 4. Both formats have a version; an older one is read for ever, an unknown newer one is refused.
//! 5. No name of a file is taken from the metadata.
//!
//! # Absent on purpose
//! Removing and listing savepoints: they are the user's. Staged output: it is published from the manifest that the
//! savepoint was made of, or not at all.

mod entries;
mod error;
mod metadata;
mod reader;
mod unfinished;
mod writer;

pub use entries::Entries;
pub use error::Error;
pub use metadata::{EntriesFile, Metadata, Operator, Sink, Source, Split};
pub use reader::{Reader, inspect};
pub use unfinished::unfinished;
pub use writer::{OperatorWriter, Writer};

/// The file that makes a folder a savepoint.
const METADATA_FILE: &str = "savepoint.json";

/// What a file is called until it is whole.
const PART_SUFFIX: &str = ".part";

/// The file of an operator's entries.
fn entries_file(operator: &model::OperatorUid) -> String {
    format!("{operator}.entries")
}

#[cfg(test)]
mod tests;
