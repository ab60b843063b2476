//! The checkpoint store on `object_store`: a log of numbered objects, and objects of pieces.
//!
//! # Words
//! - *log*: what [`CheckpointStore::create`] adds to; *frame*: the bytes of one of its objects, which carry a
//!   version, the nonce of the writer, the length and a checksum of the whole
//! - *taken*: the number holds an object of somebody else, or a higher one exists
//! - *object of pieces*: what [`SnapshotStore::put`] makes; its bytes carry a version, the lengths of the pieces and
//!   a checksum of the whole
//! - *place*: the folder of one job below the storage root: `jobs/<job>/log/<20 digits>` and, beside it, objects
//!   by their names
//!
//! # Invariants
//! 1. An object is visible only whole: the local store links a finished, synced file into place.
//! 2. `AlreadyExists` is not an answer: the object is read back, and it is ours only if it carries our nonce, or
//!    the very bytes.
//! 3. No byte of an object is handed out before length and checksum are checked.
//! 4. Bytes have a version; an older one is read for ever, an unknown newer one is refused.
//! 5. A number below the newest is taken, even where its object was removed.
//! 6. What an interrupted write left on a local disk is no object, and goes when the place is opened and it is old.
//! 7. Whoever only looks (`inspect`) writes nothing: a disk that is read-only, or keys that only read, are enough.
//! 8. No message of a store behind a network holds what we prove to it who we are with.
//!
//! # Absent on purpose
//! No knowledge of what the bodies say: manifests, claims and their rules are decided in `protocol`, and so is what may
//! be removed.
//! No clock and no randomness: the caller brings the nonce.
//! No upload in parts. An object is gathered to [`contract::OBJECT_BYTES`] and at most one segment more, which a store
//! on S3 takes in one request a hundred times over; parts would need an owner for what an interrupted upload leaves.
//!
//! [`CheckpointStore::create`]: contract::CheckpointStore::create
//! [`SnapshotStore::put`]: contract::SnapshotStore::put

use std::fmt;
use std::sync::Arc;

use object_store::path::Path as ObjectPath;

use contract::{CheckpointStore, SnapshotStore};
use model::JobName;

use crate::log::Log;
use crate::medium::Medium;
use crate::objects::Objects;

mod error;
mod frame;
mod local;
mod log;
mod medium;
mod objects;
mod pieces;
#[cfg(feature = "s3")]
mod s3;
pub mod savepoint;
mod shown;

pub use error::Error;
pub use local::LocalStore;
#[cfg(feature = "s3")]
pub use s3::{S3Credentials, S3Store};
pub use shown::shown_url;

/// The folder of all jobs, below the root.
const JOBS_FOLDER: &str = "jobs";
/// The folder of a job's log, below its place.
const LOG_FOLDER: &str = "log";

/// The place of `job` in `medium`, below `root`.
fn place_of(medium: Medium, root: &ObjectPath, job: &JobName) -> JobStore {
    let medium = Arc::new(medium);
    let place = root.clone().join(JOBS_FOLDER).join(job.as_str());
    let log = Log::new(Arc::clone(&medium), place.clone().join(LOG_FOLDER));
    JobStore { log: Arc::new(log), objects: Arc::new(Objects::new(medium, place)) }
}

/// The place of one job.
#[derive(Clone)]
pub struct JobStore {
    /// Which epochs exist.
    pub log: Arc<dyn CheckpointStore>,
    /// What the manifests list.
    pub objects: Arc<dyn SnapshotStore>,
}

impl fmt::Debug for JobStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobStore").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
