//! What goes wrong with the base.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use model::{Blame, OperatorUid, Retry};
use rocksdb::ErrorKind;

/// Why the base on disk cannot go on. All of it can be made again from a checkpoint.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum Error {
    /// The disk is full, a file cannot be opened, reading or writing is refused.
    #[error("{verb} the state of `{operator}` in `{}`: {reason}", folder.display())]
    Storage {
        /// What was done.
        verb: &'static str,
        /// Whose state.
        operator: OperatorUid,
        /// Where.
        folder: PathBuf,
        /// What the disk, or RocksDB, says.
        reason: String,
    },
    /// What is read is not what was written.
    #[error("{verb} the state of `{operator}` in `{}`: what lies there is damaged: {reason}", folder.display())]
    Damaged {
        /// What was done.
        verb: &'static str,
        /// Whose state.
        operator: OperatorUid,
        /// Where.
        folder: PathBuf,
        /// What RocksDB says.
        reason: String,
    },
    /// The folder for all bases cannot be made, locked or emptied.
    #[error("{verb} the folder `{}` for state on disk: {reason}", folder.display())]
    Folder {
        /// What was done.
        verb: &'static str,
        /// Which one.
        folder: PathBuf,
        /// What the system says.
        reason: Arc<io::Error>,
    },
    /// The thread that writes to the base ended.
    #[error("the thread that writes the state of `{operator}` to disk is gone")]
    HelperGone {
        /// Whose state.
        operator: OperatorUid,
    },
}

impl From<Error> for contract::Error {
    fn from(error: Error) -> Self {
        let (blame, retry, code) = match &error {
            Error::Storage { .. } => (Blame::External, Retry::RestoreFirst, Some("E0605")),
            Error::Damaged { .. } => (Blame::External, Retry::RestoreFirst, Some("E0606")),
            Error::Folder { .. } => (Blame::Config, Retry::RestoreFirst, Some("E0607")),
            Error::HelperGone { .. } => (Blame::Host, Retry::RestoreFirst, None),
        };
        let seam = Self::new(blame, retry, error.to_string()).with_source(error);
        match code {
            Some(code) => seam.with_code(code),
            None => seam,
        }
    }
}

/// Whose base it is, for the errors it gives.
#[derive(Clone, Debug)]
pub(super) struct Whose {
    pub(super) operator: OperatorUid,
    pub(super) folder: PathBuf,
}

impl Whose {
    /// The error of a call to RocksDB.
    pub(super) fn error(&self, verb: &'static str, error: &rocksdb::Error) -> Error {
        let Self { operator, folder } = self.clone();
        let reason = error.to_string();
        match error.kind() {
            ErrorKind::Corruption => Error::Damaged { verb, operator, folder, reason },
            _ => Error::Storage { verb, operator, folder, reason },
        }
    }

    /// What lies in the base is no entry.
    pub(super) fn damaged(&self, verb: &'static str) -> Error {
        let Self { operator, folder } = self.clone();
        Error::Damaged { verb, operator, folder, reason: "an entry is not one".to_owned() }
    }

    /// RocksDB says that something in the background did not work, and takes no more.
    pub(super) fn stopped(&self, verb: &'static str, reason: String) -> Error {
        let Self { operator, folder } = self.clone();
        Error::Storage { verb, operator, folder, reason }
    }
}
