//! What can go wrong with a savepoint.

use std::io;
use std::path::{Path, PathBuf};

use model::{Blame, OperatorUid, Retry, StateId};

/// Why a savepoint cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is nothing where the savepoint was said to be.
    #[error("savepoint `{}` does not exist", path.display())]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// Something is there, and it is no savepoint.
    #[error("`{}` is no savepoint: {reason}", path.display())]
    NotASavepoint {
        /// What was named.
        path: PathBuf,
        /// What it lacks.
        reason: String,
    },
    /// A file of it is not what was written.
    #[error("savepoint `{}` is damaged: `{file}`: {reason}", path.display())]
    Damaged {
        /// The savepoint.
        path: PathBuf,
        /// The file.
        file: String,
        /// What does not fit.
        reason: String,
    },
    /// It was written by a newer tidegate.
    #[error("savepoint `{}` is of a newer format: `{file}` has version {found}, expected at most {most}", path.display())]
    NewerFormat {
        /// The savepoint.
        path: PathBuf,
        /// The file.
        file: String,
        /// Its version.
        found: u64,
        /// The newest version that is read.
        most: u64,
    },
    /// The folder that a savepoint is to be written to is in use.
    #[error("a savepoint cannot be written to `{}`: it is there and not an empty folder", path.display())]
    TargetInUse {
        /// The folder.
        path: PathBuf,
    },
    /// The file system does not let us, has no room, or fails.
    #[error("{action} `{}`: {source}", path.display())]
    Io {
        /// What was tried, as a verb phrase.
        action: &'static str,
        /// Of which file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What was to be written is not one savepoint: a bug of the caller.
    #[error("write a savepoint: {reason}")]
    Caller {
        /// The rule that was broken.
        reason: String,
    },
    /// The savepoint has no such operator: a bug of the caller.
    #[error("the savepoint has no operator `{operator}`")]
    NoOperator {
        /// What was asked for.
        operator: OperatorUid,
    },
}

impl Error {
    /// The error of a call of the file system.
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    /// An entry of a state that the metadata does not have.
    pub(super) fn undeclared(operator: &OperatorUid, state: StateId) -> Self {
        Self::Caller {
            reason: format!("operator `{operator}` has entries of state {state}, which it does not declare"),
        }
    }

    /// The code of its page; `None` for what no user can meet.
    #[must_use]
    pub fn code(&self) -> Option<&'static str> {
        match self {
            Self::Missing { .. } => Some("E0420"),
            Self::NotASavepoint { .. } => Some("E0421"),
            Self::Damaged { .. } => Some("E0422"),
            Self::NewerFormat { .. } => Some("E0423"),
            Self::TargetInUse { .. } => Some("E0424"),
            Self::Io { .. } => Some("E0425"),
            Self::Caller { .. } | Self::NoOperator { .. } => None,
        }
    }
}

impl From<Error> for contract::Error {
    fn from(error: Error) -> Self {
        let blame = match error {
            Error::Damaged { .. } | Error::Io { .. } => Blame::External,
            Error::Caller { .. } | Error::NoOperator { .. } => Blame::Host,
            _ => Blame::Config,
        };
        let mut seam = Self::new(blame, Retry::No, error.to_string());
        if let Some(code) = error.code() {
            seam = seam.with_code(code);
        }
        seam.with_source(error)
    }
}
