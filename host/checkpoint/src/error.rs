//! What can go wrong with the store.

use contract::ObjectNumber;
use model::{Blame, Retry};

/// Why an object cannot be created, listed or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The object is not what was written. Not retryable: the medium lost or changed bytes.
    #[error("object {number} of the checkpoint store is damaged: {reason}")]
    Damaged {
        /// The object.
        number: ObjectNumber,
        /// What does not fit.
        reason: String,
    },
    /// The object was written by a newer tidegate. Not retryable.
    #[error(
        "object {number} of the checkpoint store has format version {found}, expected at most {}",
        crate::frame::VERSION
    )]
    NewerFormat {
        /// The object.
        number: ObjectNumber,
        /// Its version.
        found: u16,
    },
    /// The medium does not answer, or refuses. Whether the call took effect is unknown.
    #[error("{action} in the checkpoint store: {source}")]
    Medium {
        /// What was tried, as a verb phrase.
        action: String,
        /// What the medium said.
        source: object_store::Error,
    },
    /// The same nonce was used for two bodies: a bug of the caller.
    #[error("create object {number}: its nonce was used before with another body")]
    NonceReused {
        /// The object.
        number: ObjectNumber,
    },
    /// The newest object was to be removed: a bug of the caller.
    #[error("remove object {number}: it is the newest")]
    NewestRemoved {
        /// The object.
        number: ObjectNumber,
    },
    /// The store cannot run its input and output.
    #[error("open the checkpoint store: {source}")]
    CannotStart {
        /// Why.
        source: std::io::Error,
    },
}

impl Error {
    /// The code of its page; `None` for what no user can meet.
    #[must_use]
    pub fn code(&self) -> Option<&'static str> {
        match self {
            Self::Damaged { .. } => Some("E0401"),
            Self::NewerFormat { .. } => Some("E0402"),
            Self::Medium { .. } | Self::CannotStart { .. } => Some("E0403"),
            Self::NonceReused { .. } | Self::NewestRemoved { .. } => None,
        }
    }
}

impl From<Error> for contract::Error {
    fn from(error: Error) -> Self {
        let (blame, retry) = match error {
            Error::Damaged { .. } => (Blame::External, Retry::No),
            Error::NewerFormat { .. } => (Blame::Config, Retry::No),
            Error::Medium { .. } => (Blame::External, Retry::Backoff),
            Error::NonceReused { .. } | Error::NewestRemoved { .. } | Error::CannotStart { .. } => {
                (Blame::Host, Retry::No)
            }
        };
        let mut seam = Self::new(blame, retry, error.to_string());
        if let Some(code) = error.code() {
            seam = seam.with_code(code);
        }
        seam.with_source(error)
    }
}
