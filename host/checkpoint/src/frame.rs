//! The bytes of an object.
//!
//! ```text
//! magic "TGCO" │ version u16 │ nonce u128 │ body length u64 │ body │ xxh3-64 of all before
//! ```
//! Numbers are little-endian.

use contract::{Nonce, ObjectNumber, StoredObject};
use xxhash_rust::xxh3::xxh3_64;

use crate::Error;

/// The version written. Every older one is read.
pub(crate) const VERSION: u16 = 1;

const MAGIC: [u8; 4] = *b"TGCO";
const CHECKSUM_BYTES: usize = 8;

/// What an object of the log is called in messages.
pub(crate) fn of_log(number: ObjectNumber) -> String {
    format!("object {number} of the manifest log")
}

/// The frame of an object.
pub(crate) fn encode(nonce: Nonce, body: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(MAGIC.len() + 2 + 16 + 8 + body.len() + CHECKSUM_BYTES);
    frame.extend_from_slice(&MAGIC);
    frame.extend_from_slice(&VERSION.to_le_bytes());
    frame.extend_from_slice(&nonce.0.to_le_bytes());
    frame.extend_from_slice(&(body.len() as u64).to_le_bytes());
    frame.extend_from_slice(body);
    let checksum = xxh3_64(&frame);
    frame.extend_from_slice(&checksum.to_le_bytes());
    frame
}

/// The object of a frame, checked.
pub(crate) fn decode(number: ObjectNumber, frame: &[u8]) -> Result<StoredObject, Error> {
    let damaged = |reason: String| Error::Damaged { object: of_log(number), reason };
    let short = || damaged(format!("{} bytes are too few for a frame", frame.len()));
    let (magic, rest) = frame.split_first_chunk::<4>().ok_or_else(short)?;
    if *magic != MAGIC {
        return Err(damaged("it does not begin as an object does".to_owned()));
    }
    // The version comes before the checksum: a newer frame may be checked in another way.
    let (version, rest) = rest.split_first_chunk::<2>().ok_or_else(short)?;
    let version = u16::from_le_bytes(*version);
    if version > VERSION {
        return Err(Error::NewerFormat { object: of_log(number), found: version, most: VERSION });
    }
    let (checked, checksum) = frame.split_last_chunk::<CHECKSUM_BYTES>().ok_or_else(short)?;
    let (expected, found) = (u64::from_le_bytes(*checksum), xxh3_64(checked));
    if expected != found {
        return Err(damaged(format!("checksum {found:016x}, expected {expected:016x}")));
    }
    let (nonce, rest) = rest.split_first_chunk::<16>().ok_or_else(short)?;
    let (length, rest) = rest.split_first_chunk::<8>().ok_or_else(short)?;
    let length = u64::from_le_bytes(*length);
    let body = rest.len().checked_sub(CHECKSUM_BYTES).and_then(|end| rest.get(..end)).ok_or_else(short)?;
    if body.len() as u64 != length {
        return Err(damaged(format!("{} bytes of body, expected {length}", body.len())));
    }
    Ok(StoredObject { nonce: Nonce(u128::from_le_bytes(*nonce)), body: body.to_vec() })
}
