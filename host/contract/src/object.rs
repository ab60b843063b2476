//! Immutable objects: what the manifests of a job list.

use std::sync::Arc;

pub use model::{ListedObject, ObjectHandle};

use crate::Error;

/// Holds immutable objects: parts of snapshots and staged output.
///
/// # Promises
/// 1. After `put` returned, the object is durable and whole; before, nobody reads a part of it.
/// 2. `get` returns the pieces that were put, or an error: length and checksum of the handle are checked
///    before a byte is handed out.
/// 3. A name is given to one content: names carry the generation that wrote them, so a second `put` of a
///    name comes from a caller that lost the answer, with the same pieces.
/// 4. `list` names every object whose `put` returned before it began.
///
/// Calls may block for as long as the medium takes; data threads never make them.
pub trait SnapshotStore: Send + Sync {
    /// Stores `pieces`, whose boundaries are kept.
    ///
    /// # Errors
    /// When the medium does not answer or has no room.
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
