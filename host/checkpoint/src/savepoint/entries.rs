//! A file of entries.
//!
//! ```text
//! magic "TGSE" │ version u16 │ blocks │ length u32 = 0 │ count of all entries u64 │ xxh3-64 of all before
//! block: length u32 │ that many bytes of entries │ xxh3-64 of those
//! entry: state u16 │ hash u64 │ written i64 │ key │ tag u8 (1: an entry key follows) │ [entry key] │ value
//! ```
//! Key, entry key and value are a length u32 and their bytes. Numbers are little-endian. Entries stand by rising key
//! group of their hash.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::PathBuf;

use xxhash_rust::xxh3::xxh3_64;

use contract::StateEntry;
use model::StateId;

use super::Error;

/// The version written. Every older one is read.
pub(super) const VERSION: u16 = 1;

pub(super) const MAGIC: [u8; 4] = *b"TGSE";

/// A block is closed when it is this long: large enough that its checksum costs nothing, small enough for any memory.
pub(super) const BLOCK_BYTES: usize = 256 * 1024;

/// The head of a file.
pub(super) fn head() -> [u8; 6] {
    let [a, b, c, d] = MAGIC;
    let [e, f] = VERSION.to_le_bytes();
    [a, b, c, d, e, f]
}

/// Appends an entry to a block.
pub(super) fn append(entry: &StateEntry<'_>, block: &mut Vec<u8>) -> Result<(), Error> {
    block.extend_from_slice(&entry.state.0.to_le_bytes());
    block.extend_from_slice(&entry.hash.to_le_bytes());
    block.extend_from_slice(&entry.written_millis.to_le_bytes());
    append_bytes(entry.key, block)?;
    block.push(u8::from(entry.entry_key.is_some()));
    if let Some(entry_key) = entry.entry_key {
        append_bytes(entry_key, block)?;
    }
    append_bytes(entry.value, block)
}

fn append_bytes(bytes: &[u8], block: &mut Vec<u8>) -> Result<(), Error> {
    let length = u32::try_from(bytes.len()).map_err(|_| Error::Caller {
        reason: format!("a key or value has {} bytes, at most 4 GiB fit", bytes.len()),
    })?;
    block.extend_from_slice(&length.to_le_bytes());
    block.extend_from_slice(bytes);
    Ok(())
}

/// The entries of one operator, one after another.
#[derive(Debug)]
pub struct Entries {
    savepoint: PathBuf,
    file: String,
    reader: BufReader<File>,
    /// How many bytes of the file are left, by the metadata.
    left: u64,
    expected: u64,
    block: Vec<u8>,
    at: usize,
    read: u64,
    is_done: bool,
}

impl Entries {
    /// The entries of a file whose whole was checked, from after its head.
    pub(super) fn new(savepoint: PathBuf, file: String, reader: BufReader<File>, left: u64, expected: u64) -> Self {
        Self { savepoint, file, reader, left, expected, block: Vec::new(), at: 0, read: 0, is_done: false }
    }

    /// The next entry; `None` after the last.
    ///
    /// # Errors
    /// When the file cannot be read, or is no longer what was checked.
    pub fn next_entry(&mut self) -> Result<Option<StateEntry<'_>>, Error> {
        if self.at == self.block.len() && !self.next_block()? {
            return Ok(None);
        }
        let rest = self.block.get(self.at..).unwrap_or_default();
        let (entry, after) = parse(rest).ok_or_else(|| Error::Damaged {
            path: self.savepoint.clone(),
            file: self.file.clone(),
            reason: format!("entry {} is cut off", self.read),
        })?;
        self.at = self.block.len() - after.len();
        self.read += 1;
        Ok(Some(entry))
    }

    /// Reads the next block; `false` at the end.
    fn next_block(&mut self) -> Result<bool, Error> {
        if self.is_done {
            return Ok(false);
        }
        let length = u32::from_le_bytes(self.take()?);
        if length == 0 {
            let count = u64::from_le_bytes(self.take()?);
            self.is_done = true;
            return if count == self.read && count == self.expected {
                Ok(false)
            } else {
                Err(self.damaged(format!("{} entries, expected {}", self.read, self.expected)))
            };
        }
        if u64::from(length) > self.left {
            return Err(self.damaged(format!("a block of {length} bytes, {} are left", self.left)));
        }
        self.block.resize(usize::try_from(length).expect("a block fits into memory"), 0);
        self.at = 0;
        self.left -= u64::from(length);
        let read = self.reader.read_exact(&mut self.block);
        read.map_err(|error| self.unreadable(error))?;
        let (expected, found) = (u64::from_le_bytes(self.take()?), xxh3_64(&self.block));
        if expected != found {
            return Err(self.damaged(format!("a block has the checksum {found:016x}, expected {expected:016x}")));
        }
        Ok(true)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let mut bytes = [0; N];
        self.left = self.left.checked_sub(N as u64).ok_or_else(|| self.damaged("it is cut off".to_owned()))?;
        let read = self.reader.read_exact(&mut bytes);
        read.map_err(|error| self.unreadable(error))?;
        Ok(bytes)
    }

    fn damaged(&self, reason: String) -> Error {
        Error::Damaged { path: self.savepoint.clone(), file: self.file.clone(), reason }
    }

    fn unreadable(&self, source: io::Error) -> Error {
        if source.kind() == io::ErrorKind::UnexpectedEof {
            return self.damaged("it is cut off".to_owned());
        }
        Error::io("read", &self.savepoint.join(&self.file))(source)
    }
}

/// The first entry of `bytes`, and what follows it.
fn parse(bytes: &[u8]) -> Option<(StateEntry<'_>, &[u8])> {
    let (state, rest) = bytes.split_first_chunk()?;
    let (hash, rest) = rest.split_first_chunk()?;
    let (written, rest) = rest.split_first_chunk()?;
    let (key, rest) = parse_bytes(rest)?;
    let (tag, rest) = rest.split_first()?;
    let (entry_key, rest) = match tag {
        0 => (None, rest),
        1 => parse_bytes(rest).map(|(entry_key, rest)| (Some(entry_key), rest))?,
        _ => return None,
    };
    let (value, rest) = parse_bytes(rest)?;
    let entry = StateEntry {
        state: StateId(u16::from_le_bytes(*state)),
        hash: u64::from_le_bytes(*hash),
        key,
        entry_key,
        value,
        written_millis: i64::from_le_bytes(*written),
    };
    Some((entry, rest))
}

fn parse_bytes(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)
}
