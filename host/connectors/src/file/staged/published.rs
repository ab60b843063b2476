//! What an exactly-once sink has published, visited file by file: a directory of any size needs no more memory than the
//! names of its epochs.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use model::{Epoch, LineageId};
use xxhash_rust::xxh3::Xxh3;

use super::commits::{self, COMMITS};
use super::disk;
use super::error::Error;
use super::formats::{self, Checksum, Commit, CommitEntry, FileLayout};
use super::listing::Condition;
use super::owner;
use super::plain;
use super::publisher::DATA;

/// A published file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedFile {
    /// The file.
    pub path: PathBuf,
    /// The history that published it.
    pub lineage: LineageId,
    /// The epoch that published it.
    pub epoch: Epoch,
    /// What it was when it was published. `None`: the layout keeps that of the newest epoch alone, and this is of an
    /// older one.
    pub listed: Option<ListedAs>,
}

/// What is written down of a published file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedAs {
    /// Its records.
    pub records: u64,
    /// Its length.
    pub bytes: u64,
    /// `xxh3-64:` and 16 hexadecimal digits.
    pub checksum: String,
}

impl PublishedFile {
    fn of(directory: &Path, lineage: LineageId, epoch: Epoch, entry: CommitEntry) -> Self {
        let CommitEntry { name, bytes, records, checksum: Checksum(checksum) } = entry;
        let listed = Some(ListedAs { records, bytes, checksum });
        Self { path: directory.join(name), lineage, epoch, listed }
    }

    /// How it is found; `None` where nothing is written down of it. The file is read.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn condition(&self) -> Result<Option<Condition>, contract::Error> {
        Ok(self.found()?)
    }

    pub(super) fn found(&self) -> Result<Option<Condition>, Error> {
        self.listed.as_ref().map(|listed| condition(&self.path, listed)).transpose()
    }
}

/// The layout of `directory`, where it is that of an exactly-once sink.
///
/// # Errors
/// When it cannot be read, or is none.
pub fn published_layout(directory: &Path) -> Result<FileLayout, contract::Error> {
    Ok(layout(directory)?)
}

/// Visits the published files of `directory`: by lineage and epoch, and within an epoch as listed in the layout of
/// commits; by name in the plain one, where those of the newest epoch are visited also if they are not there.
///
/// # Errors
/// When the directory is none of an exactly-once sink, cannot be read, or what is written down there is damaged or of a
/// newer format.
pub fn published_files(
    directory: &Path,
    each: &mut dyn FnMut(PublishedFile) -> ControlFlow<()>,
) -> Result<(), contract::Error> {
    let _stopped = match layout(directory)? {
        FileLayout::Commits => visit_commits(directory, each)?,
        FileLayout::Plain => visit_plain(directory, each)?,
    };
    Ok(())
}

/// The files beside the published ones of a directory of commits: staged and not yet published, given up, or not the
/// sink's. A reader leaves them alone. By name, lineage for lineage.
///
/// # Errors
/// As [`published_files`].
pub fn files_not_listed(directory: &Path) -> Result<Vec<PathBuf>, contract::Error> {
    Ok(not_listed(directory)?)
}

fn layout(directory: &Path) -> Result<FileLayout, Error> {
    match owner::read(directory)? {
        Some(owner) => Ok(owner.layout),
        None if directory.join(COMMITS).is_dir() => Ok(FileLayout::Commits),
        None => {
            let why = "is no directory of an exactly-once file sink: it has neither `_commits` nor an owner".to_owned();
            Err(Error::Unreadable { path: directory.to_owned(), why })
        }
    }
}

/// Visits what commits list; a commit that cannot be trusted is an error.
pub(super) fn visit_commits(
    directory: &Path,
    each: &mut dyn FnMut(PublishedFile) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, Error> {
    for lineage in disk::names(&directory.join(COMMITS))?.iter().filter_map(|name| LineageId::parse(name)) {
        let commits = commits::directory(directory, lineage);
        for name in disk::names(&commits)? {
            let Some(epoch) = Commit::epoch_of(&name) else { continue };
            for entry in read_commit(&commits.join(&name), lineage, epoch)?.files {
                // What a sink commits lies in the place of its lineage: another name would have us read any file.
                if name_in(lineage, &entry.name).is_none() {
                    let why = format!("lists `{}`, which is no data file of its lineage", entry.name);
                    return Err(Error::Unreadable { path: commits.join(&name), why });
                }
                if each(PublishedFile::of(directory, lineage, epoch, entry)).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
    }
    Ok(ControlFlow::Continue(()))
}

fn read_commit(path: &Path, lineage: LineageId, epoch: Epoch) -> Result<Commit, Error> {
    let bytes = disk::read(path)?.unwrap_or_default();
    let commit: Commit = formats::parse_file(&bytes, path)?;
    if (commit.lineage.0, commit.epoch) != (lineage, epoch.0) {
        let why = format!("is the commit of epoch {} of lineage {}", commit.epoch, commit.lineage.0);
        return Err(Error::Unreadable { path: path.to_owned(), why });
    }
    Ok(commit)
}

fn visit_plain(
    directory: &Path,
    each: &mut dyn FnMut(PublishedFile) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, Error> {
    let mut newest = newest_of_plain(directory)?;
    for name in disk::names(directory)? {
        let Some((epoch, lineage)) = plain::parse_name(&name) else { continue };
        let at = newest.iter().position(|file| file.path.ends_with(&name));
        let unknown = PublishedFile { path: directory.join(&name), lineage, epoch, listed: None };
        if each(at.map_or(unknown, |at| newest.swap_remove(at))).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    newest.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(newest.into_iter().try_for_each(each))
}

/// What the ledgers of a plain directory say of the newest epoch of each lineage.
fn newest_of_plain(directory: &Path) -> Result<Vec<PublishedFile>, Error> {
    let mut newest = Vec::new();
    for lineage in disk::names(&owner::hidden(directory))?.iter().filter_map(|name| LineageId::parse(name)) {
        let Some((epoch, ledger)) = plain::newest_ledger(&plain::directory(directory, lineage))? else { continue };
        for entry in read_commit(&ledger, lineage, epoch)?.files {
            if plain::parse_name(&entry.name).is_none() {
                let why = format!("lists `{}`, which is no published file", entry.name);
                return Err(Error::Unreadable { path: ledger, why });
            }
            newest.push(PublishedFile::of(directory, lineage, epoch, entry));
        }
    }
    Ok(newest)
}

pub(super) fn not_listed(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut not_listed = Vec::new();
    for lineage in disk::names(&directory.join(DATA))? {
        let data = directory.join(DATA).join(&lineage);
        if !data.is_dir() {
            not_listed.push(data);
            continue;
        }
        let listed = LineageId::parse(&lineage).map(|lineage| commits::listed(directory, lineage)).transpose()?;
        let listed: BTreeSet<PathBuf> = listed.unwrap_or_default().into_iter().collect();
        let files = disk::names(&data)?.into_iter().map(|name| data.join(name));
        not_listed.extend(files.filter(|path| !listed.contains(path)));
    }
    Ok(not_listed)
}

/// The name of a data file of `lineage`.
fn name_in(lineage: LineageId, name: &str) -> Option<&str> {
    let file = name.strip_prefix(DATA)?.strip_prefix('/')?.strip_prefix(&lineage.to_string())?.strip_prefix('/')?;
    (!file.is_empty() && !file.starts_with('.') && !file.contains('/')).then_some(name)
}

fn condition(path: &Path, listed: &ListedAs) -> Result<Condition, Error> {
    let Some(bytes) = disk::length_bytes(path)? else { return Ok(Condition::Missing) };
    if bytes != listed.bytes {
        return Ok(Condition::OtherLength { bytes });
    }
    let checksum = checksum(path).map_err(|source| Error::Io { doing: "read", path: path.to_owned(), source })?;
    Ok(if checksum.0 == listed.checksum { Condition::Whole } else { Condition::OtherBytes })
}

fn checksum(path: &Path) -> io::Result<Checksum> {
    let mut file = File::open(path)?;
    let mut hasher = Xxh3::new();
    let mut buffer = vec![0; 256 * 1024];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(Checksum::of_hasher(&hasher)),
            Ok(bytes) => hasher.update(buffer.get(..bytes).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
