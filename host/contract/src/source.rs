//! Where records come from.

use std::time::Duration;

use model::{Position, RecordBatch, SourceId, SplitIndex};

use crate::Error;

/// A part of a source that is read in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Its number within the source.
    pub index: SplitIndex,
    /// What a person would call it: a file's path, a topic and partition.
    pub name: String,
}

/// A split given to a reader, and where to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitAssignment {
    /// The split.
    pub split: Split,
    /// Where reading resumes; `None` for the source's own beginning.
    pub position: Option<Position>,
    /// What [`SourceReader::identity`] said when the position was noted; empty where nothing is known.
    pub identity: Vec<u8>,
}

/// A source of a job. Shared by the subtasks that read it.
pub trait Source: Send + Sync {
    /// The splits there are now, in a stable order.
    ///
    /// # Errors
    /// When the system behind it cannot be asked, or holds nothing that matches.
    fn splits(&self) -> Result<Vec<Split>, Error>;

    /// A reader for some of the splits. Called once per subtask, on the thread that will poll it.
    ///
    /// # Errors
    /// When a split cannot be opened, a position no longer exists, or the split is another than the one whose
    /// identity was noted.
    fn open(&self, id: SourceId, splits: Vec<SplitAssignment>) -> Result<Box<dyn SourceReader>, Error>;
}

/// Something in a split that cannot be handed on as a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// The split.
    pub split: SplitIndex,
    /// Where it stands.
    pub position: Position,
    /// A short kebab-case name for counters: `record-too-long`.
    pub reason: &'static str,
    /// What was found and expected, for a person.
    pub message: String,
    /// Its bytes, or the first of them where it is too long to keep.
    pub bytes: Vec<u8>,
    /// Its whole length in bytes.
    pub length_bytes: u64,
}

/// What a poll brought.
#[derive(Debug)]
pub enum Polled {
    /// Records, at least one: values, origins, and what the source itself knows (record keys, timestamps,
    /// headers).
    /// At most the rows and bytes asked for, except that a single record above the bytes comes alone.
    Batch(RecordBatch),
    /// Something that is not a record; it meets the `on_error` of the source. Reading goes on after it.
    Rejected(Rejected),
    /// Nothing now; ask again after this long.
    Idle(Duration),
    /// Nothing any more.
    End,
}

/// Reads splits, in order within each. Owned by one thread.
///
/// # Promises
/// 1. Within a split positions rise, and every record between two positions is delivered once.
/// 2. [`SourceReader::positions`] names, for every split, where to resume after the records already
///    delivered: a reader opened there delivers exactly the rest.
/// 3. A reader that said [`Polled::End`] may be polled again and says it again, or delivers what has come since.
/// 4. Nothing is skipped silently: what cannot be a record is an error, or a counted and named loss.
pub trait SourceReader: Send {
    /// The next records, at most `max_rows` and `max_bytes` of values, see [`Polled::Batch`]. Does not wait for records that are
    /// not there yet; may block for as long as one read of the medium takes.
    ///
    /// # Errors
    /// When the medium fails or is damaged; the message names split and position.
    fn poll(&mut self, max_rows: usize, max_bytes: usize) -> Result<Polled, Error>;

    /// Where each split resumes after what was delivered.
    fn positions(&self) -> Vec<(SplitIndex, Position)>;

    /// What tells the split from another of the same name, in the source's own encoding: noted with the
    /// position and checked by [`Source::open`]. Empty where names are enough.
    ///
    /// # Errors
    /// When the medium fails.
    fn identity(&self, _split: SplitIndex) -> Result<Vec<u8>, Error> {
        Ok(Vec::new())
    }

    /// Whether everything there was of a split has been delivered, so that it may vanish without loss. `false`
    /// where that is not known.
    fn has_ended(&self, _split: SplitIndex) -> bool {
        false
    }

    /// What was passed over on purpose since the reader was opened, by a kebab-case name:
    /// `empty-lines`. Each never falls.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}
