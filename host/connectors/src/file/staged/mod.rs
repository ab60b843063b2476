//! The exactly-once file sink: what is written is staged, and visible once its epoch is published.
//!
//! # Layouts
//! - [`FileLayout::Commits`], for programs: data files lie under `data/<lineage>/`, and an epoch is published
//!   by creating `_commits/<lineage>/<epoch>.json`, which lists them with lengths and checksums. Only what
//!   is listed counts.
//! - [`FileLayout::Plain`], for people: what is staged lies under the hidden `.tidegate/<lineage>/staged/`, and
//!   an epoch is published by moving its files into the directory as `part-<epoch>-<slot>-<number>-<lineage>`.
//!
//! # Words
//! - *owner*: whom a directory belongs to, in `.tidegate/owner.json`: one lineage of one sink of a job
//! - *intent*: the note that an epoch is being published, made before the first file is moved
//!
//! # Invariants
//! 1. A file that is staged is whole, synced, and has its name in a synced directory before it is reported.
//! 2. Nothing is ever replaced: not a part, not a commit, not the output of another owner.
//! 3. An epoch takes effect once, whatever step a publisher was stopped at, and whatever became of files
//!    after they were published: a file that is no longer staged was published.
//! 4. What was not staged is removed when its writer ends; what a kill leaves is found by its generation.
//! 5. Nothing of a lineage becomes visible after another took the directory over (`owner`).
//! 6. The writer's thread neither syncs nor waits at a barrier: it hands over the open file.
//!
//! # Absent on purpose
//! No reading back of what was published: a directory may be emptied while the job runs.

mod commits;
mod disk;
mod error;
mod formats;
mod header;
mod listing;
mod owner;
mod plain;
mod published;
mod publisher;
#[cfg(test)]
mod tests;
mod writer;

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use contract::{Delivery, Publisher, Sink, SinkWriter, WriterTask};
use model::LineageId;
use model::job::{FileSinkSpec, FormatSpec, SinkCompression};

pub use error::Error;
pub use formats::FileLayout;
pub use listing::{CommittedFile, CommittedFiles, Condition, committed_files};
pub(super) use owner::HIDDEN;
pub use published::{ListedAs, PublishedFile, files_not_listed, published_files, published_layout};

use self::disk::Disk;
use self::publisher::FilePublisher;
use self::writer::StagedWriter;

/// A file is closed and another begun at this length: large enough for readers that plan by files, small
/// enough that one can be looked at.
pub const DEFAULT_ROLL_BYTES: u64 = 128 * 1024 * 1024;

/// Options of an exactly-once file sink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedFileSinkOptions {
    /// A directory; it is made if it is not there.
    pub path: PathBuf,
    /// How published files are told from others.
    pub layout: FileLayout,
    /// How the files are packed.
    pub compression: SinkCompression,
    /// What the values are: it decides about the files' ending, line breaks and tombstones.
    pub format: FormatSpec,
    /// A file that has reached this length is followed by another; see [`DEFAULT_ROLL_BYTES`].
    pub roll_bytes: u64,
    /// Who writes, for messages and to tell the sinks of a job apart: "job `orders`, sink `clean`".
    pub owner: String,
    /// The lineage whose place this one takes, in a rewind. `None`: a directory of another is refused.
    pub takes_over: Option<LineageId>,
}

/// Lines in files that appear once.
pub struct StagedFileSink {
    options: StagedFileSinkOptions,
    disk: Disk,
    /// The lineage whose directories are there.
    prepared: Mutex<Option<LineageId>>,
}

impl std::fmt::Debug for StagedFileSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StagedFileSink").field("options", &self.options).finish_non_exhaustive()
    }
}

impl StagedFileSink {
    /// A sink; nothing is touched before it is opened.
    #[must_use]
    pub fn new(options: StagedFileSinkOptions) -> Self {
        Self { options, disk: Disk::default(), prepared: Mutex::default() }
    }

    fn claim(&self, lineage: LineageId) -> Result<(), Error> {
        let path = &self.options.path;
        if FileSinkSpec::is_one_file(path) {
            return Err(Error::OneFile { path: path.clone() });
        }
        self.disk.ensure_dir(path)?;
        owner::claim(&self.options, &self.disk, lineage)?;
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if *prepared != Some(lineage) {
            let layout = self.options.layout;
            self.disk.ensure_durable_dir(path, &publisher::staged_directory(path, layout, lineage))?;
            self.disk.ensure_durable_dir(path, &publisher::ledger_directory(path, layout, lineage))?;
            *prepared = Some(lineage);
        }
        Ok(())
    }
}

impl Sink for StagedFileSink {
    fn delivery(&self) -> Delivery {
        Delivery::ExactlyOnce
    }

    fn open(&self, task: &WriterTask) -> Result<Box<dyn SinkWriter>, contract::Error> {
        self.claim(task.lineage)?;
        Ok(Box::new(StagedWriter::new(&self.options, &self.disk, *task)))
    }

    fn publisher(&self, lineage: LineageId) -> Result<Option<Box<dyn Publisher>>, contract::Error> {
        self.claim(lineage)?;
        let (options, disk) = (self.options.clone(), self.disk.clone());
        Ok(Some(Box::new(FilePublisher { options, disk, lineage })))
    }
}
