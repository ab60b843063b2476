//! What can go wrong with the store.

use std::error::Error as StdError;
use std::io;
use std::path::PathBuf;

use model::{Blame, Retry};

/// Why an object cannot be created, listed, read or removed, or a store cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The object is not what was written. Not retryable: the medium lost or changed bytes.
    #[error("{object} is damaged: {reason}")]
    Damaged {
        /// The object.
        object: String,
        /// What does not fit.
        reason: String,
    },
    /// The object was written by a newer tidegate. Not retryable.
    #[error("{object} has format version {found}, expected at most {most}")]
    NewerFormat {
        /// The object.
        object: String,
        /// Its version.
        found: u16,
        /// The newest version that is read.
        most: u16,
    },
    /// The medium does not answer, or refuses. Whether the call took effect is unknown.
    #[error("{action} in the checkpoint store: {source}")]
    Medium {
        /// What was tried, as a verb phrase.
        action: String,
        /// What the medium said.
        source: object_store::Error,
    },
    /// A manifest lists an object that is not there. Not retryable: somebody removed it.
    #[error("object `{name}` of the checkpoint store is not there")]
    Missing {
        /// Its name.
        name: String,
    },
    /// The medium refused a write for another one at the same time, of which nothing is there.
    #[error("create {object} in the checkpoint store: another write is under way")]
    Conflict {
        /// The object.
        object: String,
    },
    /// The store creates a second object where there is one: two owners of a job would not notice each other.
    /// Not retryable.
    #[error("the store at `{place}` cannot be used: {evidence}")]
    NotExclusive {
        /// The store.
        place: String,
        /// What it did when it was tried out.
        evidence: String,
    },
    /// The name of a store is none. Not retryable.
    #[error("`{url}` names no store: {reason}")]
    BadUrl {
        /// What was given.
        url: String,
        /// The rule it breaks.
        reason: String,
    },
    /// The medium has no room. The same call succeeds when there is some.
    #[error("{action} in the checkpoint store: there is no room: {source}")]
    Full {
        /// What was tried, as a verb phrase.
        action: String,
        /// What the medium said.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The medium does not let us. The same call succeeds when it does.
    #[error("{action} in the checkpoint store: not allowed: {source}")]
    NotAllowed {
        /// What was tried, as a verb phrase.
        action: String,
        /// What the medium said.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// There is no storage root where it was said to be.
    #[error("storage root `{}` does not exist", root.display())]
    RootMissing {
        /// Where it was looked for.
        root: PathBuf,
    },
    /// The storage root is something else.
    #[error("storage root `{}` is not a folder", root.display())]
    RootNotFolder {
        /// What was named.
        root: PathBuf,
    },
    /// Something else is wrong with the storage root.
    #[error("try out storage root `{}`: {source}", root.display())]
    RootUnusable {
        /// The root.
        root: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The store cannot run its input and output.
    #[error("open the checkpoint store: {source}")]
    CannotStart {
        /// Why.
        source: io::Error,
    },
    /// The same nonce was used for two bodies: a bug of the caller.
    #[error("create {object}: its nonce was used before with another body")]
    NonceReused {
        /// The object.
        object: String,
    },
    /// A name was given to two contents: a bug of the caller.
    #[error("put object `{name}`: it is there with another content")]
    ContentDiffers {
        /// The name.
        name: String,
    },
    /// The newest object of the log was to be removed: a bug of the caller.
    #[error("remove {object}: it is the newest")]
    NewestRemoved {
        /// The object.
        object: String,
    },
    /// A name that belongs to the log: a bug of the caller.
    #[error("`{name}` is no name of an object: `log` belongs to the log")]
    Reserved {
        /// The name.
        name: String,
    },
}

impl Error {
    /// The error of a call that the medium answered with `source`.
    pub(crate) fn medium(action: &str, source: object_store::Error) -> Self {
        let action = action.to_owned();
        match io_kind(&source) {
            Some(kind) if is_full(kind) => Self::Full { action, source: Box::new(source) },
            Some(kind) if is_forbidden(kind) => Self::NotAllowed { action, source: Box::new(source) },
            _ if is_unauthorised(&source) => Self::NotAllowed { action, source: Box::new(source) },
            _ => Self::Medium { action, source },
        }
    }

    /// The error of a root that the system answered with `source` when it was tried out.
    pub(crate) fn root(root: &std::path::Path, source: io::Error) -> Self {
        let action = format!("try out storage root `{}`", root.display());
        let root = root.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => Self::RootMissing { root },
            io::ErrorKind::NotADirectory => Self::RootNotFolder { root },
            kind if is_full(kind) => Self::Full { action, source: Box::new(source) },
            kind if is_forbidden(kind) => Self::NotAllowed { action, source: Box::new(source) },
            _ => Self::RootUnusable { root, source },
        }
    }

    /// The code of its page; `None` for what no user can meet.
    #[must_use]
    pub fn code(&self) -> Option<&'static str> {
        match self {
            Self::Damaged { .. } => Some("E0401"),
            Self::NewerFormat { .. } => Some("E0402"),
            Self::Medium { .. } | Self::Conflict { .. } | Self::CannotStart { .. } | Self::RootUnusable { .. } => {
                Some("E0403")
            }
            Self::Missing { .. } => Some("E0404"),
            Self::RootMissing { .. } => Some("E0405"),
            Self::RootNotFolder { .. } => Some("E0406"),
            Self::NotAllowed { .. } => Some("E0407"),
            Self::Full { .. } => Some("E0408"),
            Self::BadUrl { .. } => Some("E0409"),
            Self::NotExclusive { .. } => Some("E0410"),
            Self::NonceReused { .. }
            | Self::ContentDiffers { .. }
            | Self::NewestRemoved { .. }
            | Self::Reserved { .. } => None,
        }
    }

    fn blame_and_retry(&self) -> (Blame, Retry) {
        match self {
            Self::Damaged { .. } | Self::Missing { .. } => (Blame::External, Retry::No),
            Self::Medium { .. } | Self::Conflict { .. } | Self::Full { .. } => (Blame::External, Retry::Backoff),
            Self::NotAllowed { .. } => (Blame::Config, Retry::Backoff),
            Self::NewerFormat { .. }
            | Self::BadUrl { .. }
            | Self::NotExclusive { .. }
            | Self::RootMissing { .. }
            | Self::RootNotFolder { .. } => (Blame::Config, Retry::No),
            Self::RootUnusable { .. } => (Blame::External, Retry::No),
            Self::CannotStart { .. }
            | Self::NonceReused { .. }
            | Self::ContentDiffers { .. }
            | Self::NewestRemoved { .. }
            | Self::Reserved { .. } => (Blame::Host, Retry::No),
        }
    }
}

impl From<Error> for contract::Error {
    fn from(error: Error) -> Self {
        let (blame, retry) = error.blame_and_retry();
        let is_full = matches!(error, Error::Full { .. });
        let mut seam = Self::new(blame, retry, error.to_string()).out_of_room(is_full);
        if let Some(code) = error.code() {
            seam = seam.with_code(code);
        }
        seam.with_source(error)
    }
}

fn is_full(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn is_forbidden(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

fn is_unauthorised(error: &object_store::Error) -> bool {
    matches!(error, object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. })
}

/// The kind of the system's error at the bottom of `error`, where there is one.
fn io_kind(error: &object_store::Error) -> Option<io::ErrorKind> {
    let mut cause: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(it) = cause {
        if let Some(io) = it.downcast_ref::<io::Error>() {
            return Some(io.kind());
        }
        cause = it.source();
    }
    None
}
