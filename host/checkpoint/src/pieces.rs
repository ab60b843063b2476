//! The bytes of an object of pieces.
//!
//! ```text
//! magic "TGSO" │ version u16 │ count u32 │ length u64 of each piece │ the pieces │ xxh3-64 of all before
//! ```
//! Numbers are little-endian.

use std::sync::Arc;

use bytes::Bytes;
use contract::ObjectHandle;
use object_store::PutPayload;
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use crate::Error;

/// The version written. Every older one is read.
pub(crate) const VERSION: u16 = 1;

const MAGIC: [u8; 4] = *b"TGSO";
const CHECKSUM_BYTES: usize = 8;

/// An object, ready to be written: the pieces themselves are not copied.
pub(crate) struct Encoded {
    /// Its bytes.
    pub(crate) payload: PutPayload,
    /// Its name, length and checksum.
    pub(crate) handle: ObjectHandle,
}

/// A piece, as the owner of its bytes.
struct Owned(Arc<Vec<u8>>);

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// The bytes of `pieces` under `name`.
pub(crate) fn encode(name: &str, pieces: &[Arc<Vec<u8>>]) -> Encoded {
    let count = u32::try_from(pieces.len()).expect("an object has fewer than four billion pieces");
    let mut head = MAGIC.to_vec();
    head.extend_from_slice(&VERSION.to_le_bytes());
    head.extend_from_slice(&count.to_le_bytes());
    for piece in pieces {
        head.extend_from_slice(&(piece.len() as u64).to_le_bytes());
    }
    let mut hash = Xxh3Default::new();
    hash.update(&head);
    pieces.iter().for_each(|piece| hash.update(piece));
    let tail = hash.digest().to_le_bytes();
    hash.update(&tail);
    let body: usize = pieces.iter().map(|it| it.len()).sum();
    let length_bytes = (head.len() + body + tail.len()) as u64;
    let owned = pieces.iter().map(|piece| Bytes::from_owner(Owned(Arc::clone(piece))));
    let chunks = [Bytes::from(head)].into_iter().chain(owned).chain([Bytes::copy_from_slice(&tail)]);
    let handle = ObjectHandle { name: name.to_owned(), length_bytes, checksum: hash.digest() };
    Encoded { payload: chunks.collect(), handle }
}

/// The pieces of the object that `handle` names, checked as a whole before any is made.
pub(crate) fn decode(handle: &ObjectHandle, bytes: &[u8]) -> Result<Vec<Arc<Vec<u8>>>, Error> {
    let damaged = |reason: String| Error::Damaged { object: name_of(handle), reason };
    // The version comes before the checksum only where the whole is as the handle says: a damaged one says nothing.
    if bytes.len() as u64 != handle.length_bytes {
        return Err(other_length(handle, bytes.len() as u64));
    }
    let found = xxh3_64(bytes);
    if found != handle.checksum {
        return Err(damaged(format!("checksum {found:016x}, expected {:016x}", handle.checksum)));
    }
    let short = || damaged(format!("{} bytes are too few for an object", bytes.len()));
    let (magic, rest) = bytes.split_first_chunk::<4>().ok_or_else(short)?;
    if *magic != MAGIC {
        return Err(damaged("it does not begin as an object of pieces does".to_owned()));
    }
    let (version, rest) = rest.split_first_chunk::<2>().ok_or_else(short)?;
    let version = u16::from_le_bytes(*version);
    if version > VERSION {
        return Err(Error::NewerFormat { object: name_of(handle), found: version, most: VERSION });
    }
    if !is_whole(bytes) {
        return Err(damaged("its own checksum does not fit".to_owned()));
    }
    let rest = rest.get(..rest.len().saturating_sub(CHECKSUM_BYTES)).ok_or_else(short)?;
    split(rest).ok_or_else(|| damaged("its pieces do not fill it".to_owned()))
}

/// The error of an object that has another length than `handle` says.
pub(crate) fn other_length(handle: &ObjectHandle, length_bytes: u64) -> Error {
    let reason = format!("{length_bytes} bytes, expected {}", handle.length_bytes);
    Error::Damaged { object: name_of(handle), reason }
}

fn name_of(handle: &ObjectHandle) -> String {
    format!("object `{}` of the checkpoint store", handle.name)
}

/// Whether the bytes of an object fit the checksum they end with.
pub(crate) fn is_whole(bytes: &[u8]) -> bool {
    bytes
        .split_last_chunk::<CHECKSUM_BYTES>()
        .is_some_and(|(checked, checksum)| u64::from_le_bytes(*checksum) == xxh3_64(checked))
}

fn split(rest: &[u8]) -> Option<Vec<Arc<Vec<u8>>>> {
    let (count, rest) = rest.split_first_chunk::<4>()?;
    let count = usize::try_from(u32::from_le_bytes(*count)).ok()?;
    let (table, mut rest) = rest.split_at_checked(count.checked_mul(8)?)?;
    let mut pieces = Vec::with_capacity(count);
    for length in table.as_chunks::<8>().0 {
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (piece, after) = rest.split_at_checked(length)?;
        pieces.push(Arc::new(piece.to_vec()));
        rest = after;
    }
    rest.is_empty().then_some(pieces)
}
