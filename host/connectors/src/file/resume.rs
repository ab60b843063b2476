//! Whether a file is the one that was read before, and where reading may go on in it.
//!
//! # Invariants
//! 1. An identity is that of the bytes at the start of a file, as they lie there: the name, the inode and what
//!    is appended do not change it.
//! 2. An identity covers as much of the start as there was when reading began, so that a short file that
//!    grows stays the one it was.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use xxhash_rust::xxh3::xxh3_64;

use super::error::Error;

/// How much of the start of a file tells it from others: the first page, which opening a file reads anyway.
const PREFIX_BYTES: u16 = 4096;
/// The version of the encoding, its first byte.
const VERSION: u8 = 1;
/// Version, length of the prefix, hash of the prefix; numbers are little-endian.
const IDENTITY_BYTES: usize = 1 + 2 + 8;

/// Checks that a file is the one that was noted, if one was; returns its identity of now.
pub(super) fn identify(split: &str, noted: &[u8]) -> Result<Vec<u8>, Error> {
    let prefix = read_prefix(split).map_err(|source| Error::Open { path: PathBuf::from(split), source })?;
    if !noted.is_empty() {
        let other = |what| Error::AnotherFile { split: split.to_owned(), what };
        let (bytes, hash) = decode(noted).map_err(other)?;
        let Some(start) = prefix.get(..usize::from(bytes)) else {
            return Err(other(format!("it has {} bytes, expected the {bytes} that were there", prefix.len())));
        };
        if xxh3_64(start) != hash {
            return Err(other(format!("its first {bytes} bytes are not those that were there")));
        }
    }
    Ok(encode(&prefix))
}

fn read_prefix(split: &str) -> io::Result<Vec<u8>> {
    let mut prefix = Vec::with_capacity(usize::from(PREFIX_BYTES));
    File::open(split)?.take(u64::from(PREFIX_BYTES)).read_to_end(&mut prefix)?;
    Ok(prefix)
}

fn encode(prefix: &[u8]) -> Vec<u8> {
    let bytes = u16::try_from(prefix.len()).unwrap_or(PREFIX_BYTES);
    let mut identity = vec![VERSION];
    identity.extend(bytes.to_le_bytes());
    identity.extend(xxh3_64(prefix).to_le_bytes());
    identity
}

/// The length and the hash of the prefix, or why there are none.
fn decode(noted: &[u8]) -> Result<(u16, u64), String> {
    match noted {
        [VERSION, a, b, hash @ ..] if noted.len() == IDENTITY_BYTES => {
            let hash = hash.try_into().map_or(0, u64::from_le_bytes);
            Ok((u16::from_le_bytes([*a, *b]), hash))
        }
        [version, ..] if *version != VERSION => {
            Err(format!("what was noted of it has the format version {version}, expected {VERSION}"))
        }
        _ => Err(format!("what was noted of it has {} bytes, expected {IDENTITY_BYTES}", noted.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_of_version_1_is_read_for_ever() {
        let sample = include_bytes!("tests/samples/identity-1.bin");
        assert_eq!(encode(b"one\n"), sample);
        assert_eq!(decode(sample), Ok((4, xxh3_64(b"one\n"))));
        assert!(decode(&[2, 0, 0]).is_err_and(|why| why.contains("version 2")));
        assert!(decode(&[1, 0, 0]).is_err_and(|why| why.contains("3 bytes")));
    }
}
