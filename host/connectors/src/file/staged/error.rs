//! What can go wrong with files that are staged and published.

use std::io;
use std::path::PathBuf;

use model::{Blame, Epoch, LineageId, Retry};

use super::FileLayout;
use crate::file::error::{is_out_of_room, lower_case};

/// Why files cannot be staged or published.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The directory is another sink's, or another history's of the same sink.
    #[error(
        "`{}` belongs to lineage {lineage} of {owner}: lineage {our_lineage} of {ours} must not write there",
        path.display()
    )]
    OwnedByAnother {
        /// The directory.
        path: PathBuf,
        /// Who has it.
        owner: String,
        /// The history that has it.
        lineage: LineageId,
        /// Who wants it.
        ours: String,
        /// The history that wants it.
        our_lineage: LineageId,
    },
    /// A newer history took the directory over.
    #[error("lineage {closed} of `{}` is closed: it belongs to lineage {lineage} of {owner} now", path.display())]
    Closed {
        /// The directory.
        path: PathBuf,
        /// The history that may publish nothing more.
        closed: LineageId,
        /// Who has it now.
        owner: String,
        /// The history that has it now.
        lineage: LineageId,
    },
    /// The directory cannot be taken over while the history that has it publishes.
    #[error("the history that has `{}` is publishing to it", path.display())]
    BeingPublished {
        /// The directory.
        path: PathBuf,
    },
    /// Publish cannot be repeated: what the epoch staged is not there. The records of the epoch reach the
    /// directory only through a restore from before it.
    #[error("publish epoch {epoch}: staged file `{}` {found}, expected {expected_bytes} bytes", path.display())]
    StagedGone {
        /// The epoch.
        epoch: Epoch,
        /// The file.
        path: PathBuf,
        /// "is gone", "has 12 bytes".
        found: String,
        /// Its length as it was staged.
        expected_bytes: u64,
    },
    /// Something else has the name of what is to be published.
    #[error("publish epoch {epoch}: `{}` is there already and {what}", path.display())]
    Foreign {
        /// The epoch.
        epoch: Epoch,
        /// The file.
        path: PathBuf,
        /// How it differs.
        what: &'static str,
    },
    /// A file of the sink's own cannot be read.
    #[error("`{}` {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// What a manifest says was staged cannot be read.
    #[error("staged output of `{}`: {why}", path.display())]
    StagedUnreadable {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The directory has another layout than the sink.
    #[error("`{}` has the layout `{found}`, expected `{expected}`", path.display())]
    OtherLayout {
        /// The directory.
        path: PathBuf,
        /// That of the sink.
        expected: FileLayout,
        /// That of the directory.
        found: FileLayout,
    },
    /// The path names a file.
    #[error("`{}` names one file: exactly-once delivery needs a directory", path.display())]
    OneFile {
        /// The path.
        path: PathBuf,
    },
    /// Parts of a sink that does not stage are there.
    #[error("`{}` is there already, of a sink that did not stage it", path.display())]
    OtherParts {
        /// The first of them.
        path: PathBuf,
    },
    /// The system fails.
    #[error("{doing} `{}`", path.display())]
    Io {
        /// A verb: "sync".
        doing: &'static str,
        /// Of what.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl Error {
    fn code(&self) -> &'static str {
        match self {
            Self::OtherParts { .. } => "E0320",
            Self::Io { .. } => "E0322",
            Self::BeingPublished { .. } => "E0324",
            Self::OwnedByAnother { .. } => "E0325",
            Self::Closed { .. } => "E0326",
            Self::StagedGone { .. } => "E0327",
            Self::Foreign { .. } => "E0328",
            Self::Unreadable { .. } | Self::StagedUnreadable { .. } => "E0329",
            Self::OneFile { .. } => "E0332",
            Self::OtherLayout { .. } => "E0333",
        }
    }

    fn blame(&self) -> Blame {
        match self {
            Self::OwnedByAnother { .. }
            | Self::BeingPublished { .. }
            | Self::Closed { .. }
            | Self::OtherLayout { .. }
            | Self::OneFile { .. }
            | Self::OtherParts { .. } => Blame::Config,
            _ => Blame::External,
        }
    }
}

impl From<Error> for contract::Error {
    fn from(error: Error) -> Self {
        let (retry, message) = match &error {
            Error::Io { source, .. } => (Retry::Backoff, format!("{error}: {}", lower_case(&source.to_string()))),
            Error::BeingPublished { .. } => (Retry::Backoff, error.to_string()),
            _ => (Retry::No, error.to_string()),
        };
        let is_full = matches!(&error, Error::Io { source, .. } if is_out_of_room(source));
        Self::new(error.blame(), retry, message).out_of_room(is_full).with_code(error.code()).with_source(error)
    }
}
