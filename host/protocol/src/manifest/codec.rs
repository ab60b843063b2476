//! The bytes of a record.

use rmp_serde::config::BytesMode;
use serde::{Deserialize, Serialize};

use crate::manifest::LogRecord;

/// The version that is written. Every version up to it is read.
pub const FORMAT_VERSION: u16 = 1;

/// Why bytes are not a record.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A newer program wrote them.
    #[error("the record has format version {found}: this program reads up to {FORMAT_VERSION}")]
    Newer {
        /// The version they carry.
        found: u16,
    },
    /// They are too few to carry a version, or carry one that was never given.
    #[error("the record begins with {start:02x?}: expected two bytes of a format version from 1 to {FORMAT_VERSION}")]
    NoVersion {
        /// At most two bytes.
        start: Vec<u8>,
    },
    /// What follows the version is no record.
    #[error("the record of {length_bytes} bytes cannot be read: {source}")]
    Malformed {
        /// How many bytes there are.
        length_bytes: usize,
        /// What is wrong.
        source: rmp_serde::decode::Error,
    },
    /// Something follows the record.
    #[error("{trailing_bytes} bytes follow the record of {length_bytes} bytes: expected none")]
    Trailing {
        /// How many bytes the record has.
        length_bytes: usize,
        /// How many follow.
        trailing_bytes: usize,
    },
}

/// The bytes of `record`.
#[must_use]
pub fn encode(record: &LogRecord) -> Vec<u8> {
    let mut bytes = FORMAT_VERSION.to_be_bytes().to_vec();
    let mut writer = rmp_serde::Serializer::new(&mut bytes).with_struct_map().with_bytes(BytesMode::ForceIterables);
    record.serialize(&mut writer).expect("names, numbers, lists and maps of known length can be written to memory");
    bytes
}

/// The record that `bytes` are.
///
/// # Errors
/// When they are no record, or one of a newer format.
pub fn decode(bytes: &[u8]) -> Result<LogRecord, Error> {
    let no_version = || Error::NoVersion { start: bytes.iter().take(2).copied().collect() };
    let (version, body) = bytes.split_first_chunk::<2>().ok_or_else(no_version)?;
    match u16::from_be_bytes(*version) {
        0 => return Err(no_version()),
        1..=FORMAT_VERSION => {}
        found => return Err(Error::Newer { found }),
    }
    let mut reader = rmp_serde::Deserializer::new(body);
    let record =
        LogRecord::deserialize(&mut reader).map_err(|source| Error::Malformed { length_bytes: bytes.len(), source })?;
    let trailing_bytes = reader.get_ref().len();
    if trailing_bytes > 0 {
        return Err(Error::Trailing { length_bytes: bytes.len() - trailing_bytes, trailing_bytes });
    }
    Ok(record)
}
