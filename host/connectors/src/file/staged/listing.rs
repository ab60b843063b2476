//! What a directory of commits says is in it, compared with what is.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use model::{Epoch, LineageId};
use xxhash_rust::xxh3::Xxh3;

use super::commits::{self, COMMITS};
use super::disk;
use super::error::Error;
use super::formats::{self, Checksum, Commit, CommitEntry, FileLayout};
use super::owner;
use super::publisher::DATA;

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
    let mut found = CommittedFiles::default();
    for lineage in disk::names(&directory.join(COMMITS))?.iter().filter_map(|name| LineageId::parse(name)) {
        list_lineage(directory, lineage, &mut found)?;
    }
    let listed: BTreeSet<&Path> = found.files.iter().map(|file| file.path.as_path()).collect();
    let mut not_listed = Vec::new();
    for lineage in disk::names(&directory.join(DATA))? {
        let data = directory.join(DATA).join(lineage);
        if !data.is_dir() {
            not_listed.push(data);
            continue;
        }
        let files = disk::names(&data)?.into_iter().map(|name| data.join(name));
        not_listed.extend(files.filter(|path| !listed.contains(path.as_path())));
    }
    found.not_listed = not_listed;
    Ok(found)
}

fn list_lineage(directory: &Path, lineage: LineageId, found: &mut CommittedFiles) -> Result<(), Error> {
    let commits = commits::directory(directory, lineage);
    for name in disk::names(&commits)? {
        let Some(epoch) = Commit::epoch_of(&name) else { continue };
        let path = commits.join(&name);
        let bytes = disk::read(&path)?.unwrap_or_default();
        let commit: Commit = formats::parse_file(&bytes, &path)?;
        if (commit.lineage.0, commit.epoch) != (lineage, epoch.0) {
            let why = format!("is the commit of epoch {} of lineage {}", commit.epoch, commit.lineage.0);
            return Err(Error::Unreadable { path, why });
        }
        for entry in commit.files {
            // What a sink commits lies in the place of its lineage: another name would have us read any file.
            let Some(name) = name_in(lineage, &entry.name) else {
                let why = format!("lists `{}`, which is no data file of its lineage", entry.name);
                return Err(Error::Unreadable { path, why });
            };
            let path = directory.join(name);
            let condition = condition(&path, &entry)?;
            let CommitEntry { bytes, records, checksum: Checksum(checksum), .. } = entry;
            found.files.push(CommittedFile { path, lineage, epoch, records, bytes, checksum, condition });
        }
    }
    Ok(())
}

/// The name of a data file of `lineage`.
fn name_in(lineage: LineageId, name: &str) -> Option<&str> {
    let file = name.strip_prefix(DATA)?.strip_prefix('/')?.strip_prefix(&lineage.to_string())?.strip_prefix('/')?;
    (!file.is_empty() && !file.starts_with('.') && !file.contains('/')).then_some(name)
}

fn condition(path: &Path, entry: &CommitEntry) -> Result<Condition, Error> {
    let Some(bytes) = disk::length_bytes(path)? else { return Ok(Condition::Missing) };
    if bytes != entry.bytes {
        return Ok(Condition::OtherLength { bytes });
    }
    let checksum = checksum(path).map_err(|source| Error::Io { doing: "read", path: path.to_owned(), source })?;
    Ok(if checksum == entry.checksum { Condition::Whole } else { Condition::OtherBytes })
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
