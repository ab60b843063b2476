//! What the sink writes about its files: JSON texts, each with its version.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use contract::StagedOutput;
use model::{Epoch, LineageId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use super::error::Error;

/// The version of every text here.
const VERSION: u32 = 1;

/// What is read of a file at once.
const PIECE_BYTES: usize = 256 * 1024;

/// How published files are told from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileLayout {
    /// A list of files for every epoch; only what is listed counts.
    Commits,
    /// Files in the directory itself; every one counts.
    Plain,
}

impl fmt::Display for FileLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Commits => "commits",
            Self::Plain => "plain",
        })
    }
}

/// xxh3-64 of a file's bytes, as it is written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Checksum(pub(super) String);

impl Checksum {
    /// Of a file, which may be longer than memory.
    pub(super) fn of_file(path: &Path) -> io::Result<Self> {
        let mut hasher = Xxh3::new();
        let mut file = File::open(path)?;
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            match file.read(&mut piece) {
                Ok(0) => return Ok(Self::of_hasher(&hasher)),
                Ok(bytes) => hasher.update(piece.get(..bytes).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn of_hasher(hasher: &Xxh3) -> Self {
        Self(format!("xxh3-64:{:016x}", hasher.digest()))
    }
}

/// A lineage in a text: its 16 hexadecimal digits, since a JSON number holds no 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct LineageText(pub(super) LineageId);

impl TryFrom<String> for LineageText {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        LineageId::parse(&text).map(Self).ok_or_else(|| format!("`{text}` is not a lineage"))
    }
}

impl From<LineageText> for String {
    fn from(lineage: LineageText) -> Self {
        lineage.0.to_string()
    }
}

/// Whom a directory belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owner {
    version: u32,
    pub(super) lineage: LineageText,
    pub(super) owner: String,
    pub(super) layout: FileLayout,
}

impl Owner {
    pub(super) fn new(lineage: LineageId, owner: &str, layout: FileLayout) -> Self {
        Self { version: VERSION, lineage: LineageText(lineage), owner: owner.to_owned(), layout }
    }
}

/// One staged file: the body of a [`StagedOutput`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StagedFile {
    version: u32,
    pub(super) layout: FileLayout,
    pub(super) lineage: LineageText,
    pub(super) name: String,
    pub(super) checksum: Checksum,
}

impl StagedFile {
    pub(super) fn new(layout: FileLayout, lineage: LineageId, name: String, checksum: Checksum) -> Self {
        Self { version: VERSION, layout, lineage: LineageText(lineage), name, checksum }
    }

    /// Reads what a manifest lists for the sink at `directory`.
    pub(super) fn of(output: &StagedOutput, directory: &Path) -> Result<Self, Error> {
        let unreadable = |why| Error::StagedUnreadable { path: directory.to_owned(), why };
        let file: Self = parse(&output.body).map_err(unreadable)?;
        if file.name.contains('/') || file.name.starts_with('.') {
            return Err(unreadable(format!("`{}` is not the name of a staged file", file.name)));
        }
        Ok(file)
    }
}

/// The files of a published epoch: a commit file, and the ledger of the plain layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Commit {
    version: u32,
    pub(super) lineage: LineageText,
    pub(super) epoch: u64,
    pub(super) files: Vec<CommitEntry>,
}

/// A published file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CommitEntry {
    /// Relative to the sink's directory.
    pub(super) name: String,
    pub(super) bytes: u64,
    pub(super) records: u64,
    pub(super) checksum: Checksum,
}

impl Commit {
    pub(super) fn new(lineage: LineageId, epoch: Epoch, files: Vec<CommitEntry>) -> Self {
        Self { version: VERSION, lineage: LineageText(lineage), epoch: epoch.0, files }
    }

    /// The name of its file.
    pub(super) fn file_name(epoch: Epoch) -> String {
        format!("{:020}.json", epoch.0)
    }

    /// The epoch that a name stands for.
    pub(super) fn epoch_of(name: &str) -> Option<Epoch> {
        let digits = name.strip_suffix(".json")?;
        let is_number = digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| digits.parse().ok().map(Epoch)).flatten()
    }
}

/// A text, readable by people, that ends its line.
pub(super) fn encode(value: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).expect("strings and numbers are always JSON");
    text.push(b'\n');
    text
}

/// Reads a text of this version; says what is wrong with any other.
pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    #[derive(Deserialize)]
    struct Version {
        version: u32,
    }
    let damaged = |error: serde_json::Error| format!("is damaged: {error}");
    let Version { version } = serde_json::from_slice(bytes).map_err(damaged)?;
    if version != VERSION {
        return Err(format!("has the format version {version}, expected {VERSION}"));
    }
    serde_json::from_slice(bytes).map_err(damaged)
}

/// As [`parse`], of a file.
pub(super) fn parse_file<T: DeserializeOwned>(bytes: &[u8], path: &Path) -> Result<T, Error> {
    parse(bytes).map_err(|why| Error::Unreadable { path: path.to_owned(), why })
}
