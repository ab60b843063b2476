//! What a directory of commits says is in it, compared with what is.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use model::{Epoch, LineageId};

use super::commits::COMMITS;
use super::error::Error;
use super::formats::FileLayout;
use super::owner;
use super::published::{self, ListedAs, PublishedFile};

/// How a listed file is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// As it was published.
    Whole,
    /// It is not there.
    Missing,
    /// It has another length.
    OtherLength {
        /// The length found, in bytes.
        bytes: u64,
    },
    /// It has the length, and other bytes.
    OtherBytes,
}

/// A file that a commit lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedFile {
    /// The file.
    pub path: PathBuf,
    /// The history that published it.
    pub lineage: LineageId,
    /// The epoch that published it.
    pub epoch: Epoch,
    /// Its records.
    pub records: u64,
    /// Its length as it was published.
    pub bytes: u64,
    /// `xxh3-64:` and 16 hexadecimal digits.
    pub checksum: String,
    /// How it is found.
    pub condition: Condition,
}

/// What is in a directory of commits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommittedFiles {
    /// The listed files, in the order of lineages, epochs, and within an epoch as listed.
    pub files: Vec<CommittedFile>,
    /// Files beside them that no commit lists: staged and not yet published, given up, or not the sink's. A
    /// reader leaves them alone.
    pub not_listed: Vec<PathBuf>,
}

impl CommittedFiles {
    /// Whether every listed file is as it was published.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.files.iter().all(|file| file.condition == Condition::Whole)
    }
}

/// Lists what is committed in `directory`, and checks that it is there, as long as it was, and byte for byte.
///
/// # Errors
/// When the directory is none of commits, cannot be read, or a commit file is damaged or of a newer format.
pub fn committed_files(directory: &Path) -> Result<CommittedFiles, contract::Error> {
    Ok(list(directory)?)
}

fn list(directory: &Path) -> Result<CommittedFiles, Error> {
    let has_commits = directory.join(COMMITS).is_dir();
    match owner::read(directory)? {
        Some(owner) if owner.layout == FileLayout::Commits => {}
        None if has_commits => {}
        Some(owner) => {
            let (expected, found) = (FileLayout::Commits, owner.layout);
            return Err(Error::OtherLayout { path: directory.to_owned(), expected, found });
        }
        None => {
            let why = "is no directory of committed files: it has no `_commits`".to_owned();
            return Err(Error::Unreadable { path: directory.to_owned(), why });
        }
    }
    let mut published = Vec::new();
    let _runs_through = published::visit_commits(directory, &mut |file| {
        published.push(file);
        ControlFlow::Continue(())
    })?;
    let mut files = Vec::new();
    for file in published {
        let Some(condition) = file.found()? else { continue };
        let PublishedFile { path, lineage, epoch, listed: Some(listed) } = file else { continue };
        let ListedAs { records, bytes, checksum } = listed;
        files.push(CommittedFile { path, lineage, epoch, records, bytes, checksum, condition });
    }
    Ok(CommittedFiles { files, not_listed: published::not_listed(directory)? })
}
