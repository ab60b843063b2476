//! The plain layout: an epoch is published by moving its files into the directory.
//!
//! # Flow
//! 1. `publishing-<epoch>.json`, the intent, is created, when every file has been found staged.
//! 2. Each file is moved to its name, which nothing may have.
//! 3. The directory is synced; then the intent becomes `published-<epoch>.json`, the ledger, in one step.
//! 4. Older ledger files are removed: the newest says all.
//!
//! # Why a kill at any point is harmless
//! - Before the intent nothing was moved: a name that is taken is somebody else's, a file that is not staged
//!   is lost, and both are errors.
//! - After it, a file that is no longer staged was moved by us. Whether it still lies where it was moved to
//!   does not matter: a reader may have taken it away.
//! - After the ledger, nothing is looked at any more.

use std::path::{Path, PathBuf};

use fail::fail_point;
use model::{Epoch, LineageId};

use super::disk;
use super::error::Error;
use super::formats::{self, Checksum, Commit, CommitEntry};
use super::owner::hidden;
use super::publisher::{FilePublisher, ToPublish, check_staged, staged_directory};

/// How the names of published files begin.
pub(super) const PART: &str = "part-";
const PUBLISHING: &str = "publishing-";
const PUBLISHED: &str = "published-";

/// Where a lineage keeps its ledger.
pub(super) fn directory(directory: &Path, lineage: LineageId) -> PathBuf {
    hidden(directory).join(lineage.to_string())
}

fn ledgers(directory: &Path) -> Result<Vec<(Epoch, String)>, Error> {
    let epoch_of = |name: &String| Some((Commit::epoch_of(name.strip_prefix(PUBLISHED)?)?, name.clone()));
    Ok(disk::names(directory)?.iter().filter_map(epoch_of).collect())
}

/// The newest ledger of a lineage: its epoch, and where it lies.
pub(super) fn newest_ledger(directory: &Path) -> Result<Option<(Epoch, PathBuf)>, Error> {
    Ok(ledgers(directory)?.into_iter().max().map(|(epoch, name)| (epoch, directory.join(name))))
}

/// Epoch and lineage of a published file, by its name.
pub(super) fn parse_name(name: &str) -> Option<(Epoch, LineageId)> {
    let stem = name.strip_prefix(PART)?;
    let stem = stem.split_once('.').map_or(stem, |(stem, _)| stem);
    let mut parts = stem.split('-');
    let (epoch, slot, number, lineage) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let are_numbers = [slot, number].iter().all(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit()));
    let is_whole = are_numbers && parts.next().is_none() && !name.contains('/');
    Some((Epoch(epoch.parse().ok()?), LineageId::parse(lineage)?)).filter(|_| is_whole)
}

/// The last epoch published.
pub(super) fn last(directory: &Path) -> Result<Option<Epoch>, Error> {
    Ok(ledgers(directory)?.into_iter().map(|(epoch, _)| epoch).max())
}

pub(super) fn publish(publisher: &FilePublisher, epoch: Epoch, files: &[ToPublish<'_>]) -> Result<(), Error> {
    let (disk, ledger) = (&publisher.disk, publisher.ledger());
    if last(&ledger)?.is_some_and(|last| epoch <= last) {
        // Whoever renamed it may have ended before that was durable.
        disk.sync_dir(&ledger)?;
        return remove_older(publisher, &ledger);
    }
    let moves = moves(publisher, epoch, files);
    let entries = moves.iter().map(|(file, name)| CommitEntry {
        name: name.clone(),
        bytes: file.output.bytes,
        records: file.output.records,
        checksum: file.file.checksum.clone(),
    });
    let commit = Commit::new(publisher.lineage, epoch, entries.collect());
    let intent = intend(publisher, epoch, &commit, files)?;
    fail_point!("after-intent");
    for (file, name) in &moves {
        place(publisher, epoch, file, name)?;
        fail_point!("mid-publish");
    }
    disk.sync_dir(&publisher.options.path)?;
    disk.sync_dir(&staged_directory(&publisher.options.path, publisher.options.layout, publisher.lineage))?;
    fail_point!("before-ledger");
    disk.rename_new(&intent, &ledger.join(format!("{PUBLISHED}{}", Commit::file_name(epoch))))?;
    disk.sync_dir(&ledger)?;
    remove_older(publisher, &ledger)
}

/// The name of each file: by epoch, slot, and order within the slot.
fn moves<'f>(publisher: &FilePublisher, epoch: Epoch, files: &'f [ToPublish<'f>]) -> Vec<(&'f ToPublish<'f>, String)> {
    let mut moves: Vec<(&ToPublish<'_>, String)> = Vec::new();
    for (index, file) in files.iter().enumerate() {
        let slot = file.output.slot;
        let number = files.iter().take(index).filter(|before| before.output.slot == slot).count();
        let ending = file.file.name.split_once('.').map(|(_, ending)| ending).unwrap_or_default();
        let (epoch, lineage) = (epoch.0, publisher.lineage);
        moves.push((file, format!("{PART}{epoch:010}-{slot:05}-{number:05}-{lineage}.{ending}")));
    }
    moves
}

/// Notes that the epoch is being published, unless that was noted before.
fn intend(publisher: &FilePublisher, epoch: Epoch, commit: &Commit, files: &[ToPublish<'_>]) -> Result<PathBuf, Error> {
    let (disk, ledger) = (&publisher.disk, publisher.ledger());
    let name = format!("{PUBLISHING}{}", Commit::file_name(epoch));
    let path = ledger.join(&name);
    let Some(bytes) = disk::read(&path)? else {
        files.iter().try_for_each(|file| check_staged(epoch, file))?;
        for entry in &commit.files {
            let part = publisher.options.path.join(&entry.name);
            if disk::length_bytes(&part)?.is_some() {
                return Err(Error::Foreign { epoch, path: part, what: "was not published by this sink" });
            }
        }
        disk.create_whole(&ledger, &name, &formats::encode(commit))?;
        return Ok(path);
    };
    if formats::parse_file::<Commit>(&bytes, &path)? != *commit {
        return Err(Error::Foreign { epoch, path, what: "lists other files" });
    }
    // Whoever created it may have ended before it was durable.
    disk.sync_dir(&ledger)?;
    Ok(path)
}

/// Moves one file to its name, unless it was moved before.
fn place(publisher: &FilePublisher, epoch: Epoch, file: &ToPublish<'_>, name: &str) -> Result<(), Error> {
    let part = publisher.options.path.join(name);
    if disk::length_bytes(&file.path)?.is_none() || publisher.disk.rename_new(&file.path, &part)? {
        return Ok(());
    }
    // After a loss of power a file may have both names.
    let found = Checksum::of_file(&part).map_err(|source| Error::Io { doing: "read", path: part.clone(), source })?;
    if found != file.file.checksum {
        return Err(Error::Foreign { epoch, path: part, what: "holds other bytes" });
    }
    publisher.disk.remove(&file.path).map(|_| ())
}

fn remove_older(publisher: &FilePublisher, ledger: &Path) -> Result<(), Error> {
    let mut all = ledgers(ledger)?;
    all.sort_unstable();
    all.pop();
    for (_, name) in all {
        publisher.disk.remove(&ledger.join(name))?;
    }
    Ok(())
}
