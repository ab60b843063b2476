//! The layout of commits: an epoch is visible once its commit file has its name.
//!
//! The commit files are the ledger too: they are created once, in one step, and list what they publish.

use std::path::{Path, PathBuf};

use model::{Epoch, LineageId};

use super::disk;
use super::error::Error;
use super::formats::{self, Commit, CommitEntry};
use super::publisher::{DATA, FilePublisher, ToPublish, check_staged};

/// The directory of the commit files of all lineages.
pub(super) const COMMITS: &str = "_commits";

/// Where a lineage commits.
pub(super) fn directory(directory: &Path, lineage: LineageId) -> PathBuf {
    directory.join(COMMITS).join(lineage.to_string())
}

/// The last epoch committed.
pub(super) fn last(commits: &Path) -> Result<Option<Epoch>, Error> {
    Ok(disk::names(commits)?.iter().filter_map(|name| Commit::epoch_of(name)).max())
}

/// Every file that a commit of the lineage lists.
pub(super) fn listed(root: &Path, lineage: LineageId) -> Result<Vec<PathBuf>, Error> {
    let commits = directory(root, lineage);
    let mut listed = Vec::new();
    for name in disk::names(&commits)?.iter().filter(|name| Commit::epoch_of(name).is_some()) {
        let path = commits.join(name);
        let Some(bytes) = disk::read(&path)? else { continue };
        let commit: Commit = formats::parse_file(&bytes, &path)?;
        listed.extend(commit.files.iter().map(|file| root.join(&file.name)));
    }
    Ok(listed)
}

pub(super) fn publish(publisher: &FilePublisher, epoch: Epoch, files: &[ToPublish<'_>]) -> Result<(), Error> {
    let commits = publisher.ledger();
    let name = Commit::file_name(epoch);
    let entries = files.iter().map(|file| CommitEntry {
        name: format!("{DATA}/{}/{}", file.file.lineage.0, file.file.name),
        bytes: file.output.bytes,
        records: file.output.records,
        checksum: file.file.checksum.clone(),
    });
    let commit = Commit::new(publisher.lineage, epoch, entries.collect());
    let path = commits.join(&name);
    if is_committed(&path, epoch, &commit)? {
        // Whoever created it may have ended before it was durable.
        return publisher.disk.sync_dir(&commits);
    }
    if last(&commits)?.is_some_and(|last| epoch <= last) {
        return Ok(());
    }
    files.iter().try_for_each(|file| check_staged(epoch, file))?;
    if !publisher.disk.create_whole(&commits, &name, &formats::encode(&commit))? {
        is_committed(&path, epoch, &commit)?;
    }
    Ok(())
}

/// Whether the epoch is committed, which must be with these files.
fn is_committed(path: &Path, epoch: Epoch, commit: &Commit) -> Result<bool, Error> {
    let Some(bytes) = disk::read(path)? else { return Ok(false) };
    let there: Commit = formats::parse_file(&bytes, path)?;
    if there != *commit {
        return Err(Error::Foreign { epoch, path: path.to_owned(), what: "lists other files" });
    }
    Ok(true)
}
