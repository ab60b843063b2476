//! Immutable objects: what the manifests of a job list.

use std::sync::Arc;

use model::{Blame, Retry};
pub use model::{ListedObject, ObjectHandle};

use crate::Error;

/// Longest name of an object, in bytes: below what file systems and object stores take, a root included.
pub const MAX_OBJECT_NAME_BYTES: usize = 512;
/// Longest segment of a name, in bytes: a file's name has 255, and an unfinished one carries a number besides.
pub const MAX_OBJECT_SEGMENT_BYTES: usize = 200;

/// Checks the rule for names of objects: segments of `a-z`, `0-9`, `-` and `.`, joined by `/`. None begins with
/// `.`, so that no name leads elsewhere.
///
/// # Errors
/// The rule that is broken; ours to blame, since nobody outside gives such names.
pub fn check_object_name(name: &str) -> Result<(), Error> {
    let broken = |why: &str| {
        let shown: String = name.chars().take(MAX_OBJECT_NAME_BYTES).collect();
        Err(Error::new(Blame::Host, Retry::No, format!("`{shown}` is no name of an object: {why}")))
    };
    if name.len() > MAX_OBJECT_NAME_BYTES {
        return broken("it has more than 512 bytes");
    }
    for segment in name.split('/') {
        if segment.is_empty() || segment.starts_with('.') {
            return broken("a segment is empty or begins with a dot");
        }
        if segment.len() > MAX_OBJECT_SEGMENT_BYTES {
            return broken("a segment has more than 200 bytes");
        }
        if !segment.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-' || it == b'.') {
            return broken("expected a-z, 0-9, `-` and `.` in segments joined by `/`");
        }
    }
    Ok(())
}

/// Holds immutable objects: parts of snapshots and staged output.
///
/// # Promises
/// 1. After `put` returned, the object is durable and whole; before, nobody reads a part of it.
/// 2. `get` returns the pieces that were put, or an error: length and checksum of the handle are checked
///    before a byte is handed out.
/// 3. A name is given to one content: names carry the generation that wrote them, so a second `put` of a
///    name comes from a caller that lost the answer, with the same pieces; other pieces are an error, and what is
///    there stays.
/// 4. `list` names every object whose `put` returned before it began.
/// 5. An error says by [`Error::retry`] whether the same call may succeed later; then its outcome is unknown.
///
/// Calls may block for as long as the medium takes; data threads never make them.
pub trait SnapshotStore: Send + Sync {
    /// Stores `pieces`, whose boundaries are kept.
    ///
    /// # Errors
    /// When the medium does not answer or has no room; when the name is none ([`check_object_name`]) or has
    /// another content.
    fn put(&self, name: &str, pieces: &[Arc<Vec<u8>>]) -> Result<ObjectHandle, Error>;

    /// The pieces of an object.
    ///
    /// # Errors
    /// When the medium does not answer, or the object is missing, damaged, or of a newer format.
    fn get(&self, handle: &ObjectHandle) -> Result<Vec<Arc<Vec<u8>>>, Error>;

    /// Removes an object; nothing happens where there is none.
    ///
    /// # Errors
    /// When the medium does not answer.
    fn delete(&self, name: &str) -> Result<(), Error>;

    /// The objects whose names begin with `prefix`, a whole number of segments.
    ///
    /// # Errors
    /// When the medium does not answer.
    fn list(&self, prefix: &str) -> Result<Vec<ListedObject>, Error>;
}

/// Bytes after which an object of state is full: large enough that a request costs nothing beside its bytes, small enough
/// to hold one in memory for each thread that uploads.
pub const OBJECT_BYTES: usize = 32 << 20;

/// Gathers the segments of an image or a delta to the pieces of objects, each full but the last.
pub fn gather_objects(
    mut segments: impl Iterator<Item = Result<Arc<Vec<u8>>, Error>>,
) -> impl Iterator<Item = Result<Vec<Arc<Vec<u8>>>, Error>> {
    std::iter::from_fn(move || {
        let (mut pieces, mut bytes) = (Vec::new(), 0);
        while bytes < OBJECT_BYTES {
            match segments.next() {
                Some(Ok(segment)) => {
                    bytes += segment.len();
                    pieces.push(segment);
                }
                Some(Err(error)) => return Some(Err(error)),
                None => break,
            }
        }
        (!pieces.is_empty()).then_some(Ok(pieces))
    })
}

#[cfg(test)]
mod tests;
