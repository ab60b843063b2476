//! Reads a savepoint.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3Default;

use model::OperatorUid;

use super::entries::{self, Entries, MAGIC};
use super::metadata::{self, EntriesFile, Metadata};
use super::{Error, METADATA_FILE, entries_file};

/// Most bytes of metadata that are read: some thousand operators with large schemas.
const MAX_METADATA_BYTES: u64 = 256 * 1024 * 1024;

/// How much of a file is checked at once.
const CHECK_BYTES: usize = 256 * 1024;

/// What the savepoint in `folder` says of itself; its files of entries are not looked at.
///
/// # Errors
/// When there is none, or its metadata is damaged or of a newer format.
pub fn inspect(folder: &Path) -> Result<Metadata, Error> {
    let is_folder = fs::metadata(folder).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Error::Missing { path: folder.to_owned() },
        _ => Error::io("look at", folder)(source),
    })?;
    let foreign = |reason: &str| Error::NotASavepoint { path: folder.to_owned(), reason: reason.to_owned() };
    if !is_folder.is_dir() {
        return Err(foreign("it is a file, expected a folder"));
    }
    let path = folder.join(METADATA_FILE);
    let file = File::open(&path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => foreign("it has no `savepoint.json`, so none was finished there"),
        _ => Error::io("open", &path)(source),
    })?;
    let mut text = Vec::new();
    file.take(MAX_METADATA_BYTES).read_to_end(&mut text).map_err(Error::io("read", &path))?;
    metadata::decode(folder, &text)
}

/// A savepoint, every file of which was checked.
#[derive(Debug)]
pub struct Reader {
    folder: PathBuf,
    metadata: Metadata,
}

impl Reader {
    /// Opens the savepoint in `folder` and checks all of it.
    ///
    /// # Errors
    /// When there is none; when a file is missing, damaged, or of a newer format.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let reader = Self { folder: folder.to_owned(), metadata: inspect(folder)? };
        for (operator, described) in &reader.metadata.operators {
            reader.check(&entries_file(operator), &described.entries)?;
        }
        Ok(reader)
    }

    /// What it is of.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The entries of `operator`, by rising key group.
    ///
    /// # Errors
    /// When the savepoint has no such operator, or its file cannot be opened.
    pub fn entries(&self, operator: &OperatorUid) -> Result<Entries, Error> {
        let described = self.metadata.operators.get(operator);
        let described = &described.ok_or_else(|| Error::NoOperator { operator: operator.clone() })?.entries;
        let name = entries_file(operator);
        let mut reader = BufReader::with_capacity(CHECK_BYTES, self.open_file(&name)?);
        let head = entries::head().len() as u64;
        reader.seek_relative(head.cast_signed()).map_err(Error::io("read", &self.folder.join(&name)))?;
        let left = described.length_bytes.saturating_sub(head);
        Ok(Entries::new(self.folder.clone(), name, reader, left, described.entries))
    }

    /// Checks a file against the metadata.
    fn check(&self, name: &str, expected: &EntriesFile) -> Result<(), Error> {
        // No more than shows that it is too long: what lies there may have no end.
        let mut file = self.open_file(name)?.take(expected.length_bytes.saturating_add(1));
        let path = self.folder.join(name);
        let (mut hash, mut length_bytes, mut buffer) = (Xxh3Default::new(), 0, vec![0; CHECK_BYTES]);
        loop {
            let read = file.read(&mut buffer).map_err(Error::io("read", &path))?;
            let Some(bytes) = buffer.get(..read).filter(|it| !it.is_empty()) else { break };
            if length_bytes == 0 {
                self.check_head(name, bytes)?;
            }
            hash.update(bytes);
            length_bytes += bytes.len() as u64;
        }
        if length_bytes > expected.length_bytes {
            return Err(self.damaged(name, format!("more bytes than the {} expected", expected.length_bytes)));
        }
        if length_bytes != expected.length_bytes {
            return Err(self.damaged(name, format!("{length_bytes} bytes, expected {}", expected.length_bytes)));
        }
        let found = hash.digest();
        if found != expected.checksum {
            return Err(self.damaged(name, format!("checksum {found:016x}, expected {:016x}", expected.checksum)));
        }
        Ok(())
    }

    fn check_head(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let Some((magic, rest)) = bytes.split_first_chunk::<4>() else { return Ok(()) };
        let Some((version, _)) = rest.split_first_chunk::<2>() else { return Ok(()) };
        if *magic != MAGIC {
            return Err(self.damaged(name, "it does not begin as a file of entries does".to_owned()));
        }
        let version = u16::from_le_bytes(*version);
        if version > entries::VERSION {
            return Err(Error::NewerFormat {
                path: self.folder.clone(),
                file: name.to_owned(),
                found: u64::from(version),
                most: u64::from(entries::VERSION),
            });
        }
        Ok(())
    }

    fn open_file(&self, name: &str) -> Result<File, Error> {
        let path = self.folder.join(name);
        File::open(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => self.damaged(name, "it is missing".to_owned()),
            _ => Error::io("open", &path)(source),
        })
    }

    fn damaged(&self, file: &str, reason: String) -> Error {
        Error::Damaged { path: self.folder.clone(), file: file.to_owned(), reason }
    }
}
