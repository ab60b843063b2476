//! What can go wrong with files.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use model::{Blame, Retry};

/// Why files cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing is there, or it may not be read.
    #[error("open `{}`", path.display())]
    Open {
        /// What was to be opened.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A directory holds no file that is to be read.
    #[error("directory `{}` holds no file to read: {found}", path.display())]
    NothingToRead {
        /// The directory.
        path: PathBuf,
        /// What it holds instead.
        found: String,
    },
    /// A path is neither a file nor a directory.
    #[error("`{}` is neither a file nor a directory", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The name of a file is not UTF-8, so that messages and positions could not name it.
    #[error("the name of the file `{name}` in `{}` is not UTF-8", path.display())]
    NameNotUtf8 {
        /// The directory.
        path: PathBuf,
        /// The name with what is not UTF-8 replaced.
        name: String,
    },
    /// Reading failed.
    #[error("read `{split}` at position {position}")]
    Read {
        /// The file.
        split: String,
        /// Bytes of the unpacked stream before it.
        position: u64,
        /// What the system says.
        source: io::Error,
    },
    /// A packed file ends early, or is not what it was.
    #[error(
        "`{split}`: {damage} at byte {packed_position} of the file, position {position} unpacked; every complete line before it was read"
    )]
    Damaged {
        /// The file.
        split: String,
        /// What is wrong.
        damage: String,
        /// Bytes of the file before it.
        packed_position: u64,
        /// Bytes of the unpacked stream before it.
        position: u64,
    },
    /// The bytes are not packed as the name or the options say.
    #[error("`{split}`: expected {expected} because of its {reason}, found {found}")]
    NotPackedSo {
        /// The file.
        split: String,
        /// "gzip" or "zstd".
        expected: &'static str,
        /// "name" or "`compression`".
        reason: &'static str,
        /// The first bytes.
        found: String,
    },
    /// The file was changed while it was read.
    #[error("`{split}` was {what} while it was read, at position {position}")]
    Changed {
        /// The file.
        split: String,
        /// "cut from 10 to 5 bytes", "replaced by another file".
        what: String,
        /// Bytes of the unpacked stream before it.
        position: u64,
    },
    /// A position to resume at is not in the file.
    #[error("`{split}` ends at {end}: position {position} does not exist")]
    PositionGone {
        /// The file.
        split: String,
        /// The position asked for.
        position: u64,
        /// Where the unpacked stream ends.
        end: u64,
    },
    /// A file of the name is there, and is not the one that was read.
    #[error("`{split}` is not the file that was read: {what}")]
    AnotherFile {
        /// The file.
        split: String,
        /// How it differs.
        what: String,
    },
    /// The last line had no end when it was delivered, and goes on now.
    #[error(
        "`{split}` at position {position}: the line before was delivered without its end, expected its line break, found `{found}`"
    )]
    LineContinued {
        /// The file.
        split: String,
        /// Bytes of the unpacked stream before it.
        position: u64,
        /// What stands there.
        found: String,
    },
    /// A split that the source does not have.
    #[error("split `{split}` is not one of the files of `{}`", path.display())]
    UnknownSplit {
        /// The split.
        split: String,
        /// The path of the source.
        path: PathBuf,
    },
    /// The header line of a CSV file is missing, or another than expected.
    #[error("`{split}`: expected the header line `{expected}`, found `{found}`")]
    Header {
        /// The file.
        split: String,
        /// The columns of the options, or of the first file.
        expected: String,
        /// The columns it has.
        found: String,
    },
    /// A CSV file has no header line where one is needed.
    #[error("`{split}`: {why}")]
    NoHeader {
        /// The file.
        split: String,
        /// What is wrong with it.
        why: String,
    },
    /// A part is there already.
    #[error("`{}` is there already and holds {bytes} bytes", path.display())]
    WouldOverwrite {
        /// The part.
        path: PathBuf,
        /// Its length.
        bytes: u64,
    },
    /// Another writer, of this job or another, has the file.
    #[error("`{}` is being written by another sink", path.display())]
    InUse {
        /// The part.
        path: PathBuf,
    },
    /// The directory is that of a sink whose records appear once.
    #[error("`{}` belongs to a sink with exactly-once delivery", path.display())]
    ExactlyOnceThere {
        /// The directory.
        path: PathBuf,
    },
    /// Several subtasks would write one file.
    #[error("`{}` names one file and the sink has a parallelism of {parallelism}", path.display())]
    OneFileManyWriters {
        /// The file.
        path: PathBuf,
        /// How many would write it.
        parallelism: u32,
    },
    /// Writing failed.
    #[error("write `{}`", path.display())]
    Write {
        /// The part.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// There is no room, or the system has no handle left; nothing is lost by that.
    #[error("write `{}`", path.display())]
    NoRoom {
        /// The part.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A value cannot be a line.
    #[error("a value with a line break cannot be a line of `{}`: `{sample}`", path.display())]
    LineBreak {
        /// The part.
        path: PathBuf,
        /// The start of the value.
        sample: String,
    },
}

impl Error {
    /// Nothing was lost when writing to `path` failed: where room or handles were missing, the same may be tried again.
    pub(super) fn unwritten(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        if is_out_of_room(&source) || is_out_of_handles(&source) {
            Self::NoRoom { path, source }
        } else {
            Self::Write { path, source }
        }
    }

    /// A value that cannot be a line of the file at `path`.
    pub(super) fn line_break(path: &Path, value: &[u8]) -> Self {
        let sample = String::from_utf8_lossy(value.get(..60).unwrap_or(value)).escape_debug().to_string();
        Self::LineBreak { path: path.to_owned(), sample }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Open { .. } | Self::NotAFile { .. } => "E0301",
            Self::NothingToRead { .. } | Self::NameNotUtf8 { .. } => "E0302",
            Self::Read { .. } => "E0303",
            Self::Damaged { .. } => "E0304",
            Self::NotPackedSo { .. } => "E0305",
            Self::Changed { .. } => "E0306",
            Self::PositionGone { .. } | Self::UnknownSplit { .. } => "E0307",
            Self::AnotherFile { .. } => "E0309",
            Self::LineContinued { .. } => "E0312",
            Self::Header { .. } | Self::NoHeader { .. } => "E0308",
            Self::WouldOverwrite { .. } => "E0320",
            Self::OneFileManyWriters { .. } => "E0321",
            Self::Write { .. } | Self::NoRoom { .. } => "E0322",
            Self::LineBreak { .. } => "E0323",
            Self::InUse { .. } => "E0324",
            Self::ExactlyOnceThere { .. } => "E0325",
        }
    }

    fn blame(&self) -> Blame {
        match self {
            Self::Read { .. }
            | Self::Damaged { .. }
            | Self::Changed { .. }
            | Self::AnotherFile { .. }
            | Self::LineContinued { .. }
            | Self::Write { .. }
            | Self::NoRoom { .. } => Blame::External,
            _ => Blame::Config,
        }
    }

    fn retry(&self) -> Retry {
        match self {
            Self::Read { .. } | Self::Write { .. } => Retry::RestoreFirst,
            Self::NoRoom { .. } => Retry::Backoff,
            _ => Retry::No,
        }
    }

    fn cause(&self) -> Option<&io::Error> {
        match self {
            Self::Open { source, .. }
            | Self::Read { source, .. }
            | Self::Write { source, .. }
            | Self::NoRoom { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<Error> for contract::Error {
    fn from(error: Error) -> Self {
        let message = match error.cause() {
            Some(cause) => format!("{error}: {}", lower_case(&cause.to_string())),
            None => error.to_string(),
        };
        let is_full = error.cause().is_some_and(is_out_of_room);
        Self::new(error.blame(), error.retry(), message).out_of_room(is_full).with_code(error.code()).with_source(error)
    }
}

/// Whether a disk or a quota is used up.
pub(super) fn is_out_of_room(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Whether the system may open no more files: others will close some. What a process has used up itself no waiting brings
/// back, and a restart does.
pub(super) fn is_out_of_handles(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::NFILE.raw_os_error())
}

/// The system's messages begin with a capital.
pub(super) fn lower_case(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}
