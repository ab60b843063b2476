//! The checkpoint store: numbered objects that are created once, on object_store.
//!
//! # Words
//! - *object*: what [`CheckpointStore::create`] makes; *frame*: its bytes in the medium, which carry a
//!   version, the nonce of the writer, the length and a checksum of the whole
//! - *taken*: the number holds an object of somebody else
//!
//! # Invariants
//! 1. An object is visible only whole: the local store links a finished, synced file into place.
//! 2. `AlreadyExists` is not an answer: the object is read back, and it is ours only if it carries our nonce.
//! 3. No byte of an object is handed out before length and checksum are checked.
//! 4. A frame has a version; an older one is read for ever, an unknown newer one is refused.
//!
//! # Absent on purpose
//! No knowledge of what the bodies say: manifests, claims and their rules are decided in `protocol`.
//! No clock and no randomness: the caller brings the nonce.
//!
//! [`CheckpointStore::create`]: contract::CheckpointStore::create

mod error;
mod frame;
mod local;

pub use error::Error;
pub use local::LocalCheckpoints;

#[cfg(test)]
mod tests;
