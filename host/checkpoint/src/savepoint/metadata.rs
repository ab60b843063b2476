//! What `savepoint.json` says.
//!
//! ```json
//! { "format": "tidegate-savepoint", "version": 1, "checksum": "<xxh3-64 of the text of `savepoint`>",
//!   "savepoint": { … } }
//! ```

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use xxhash_rust::xxh3::xxh3_64;

use model::{
    Delivery, Epoch, EventTime, Generation, HostTime, JobName, LineageId, ModuleDigest, OperatorUid, Position,
    StateDescriptor,
};

use super::{Error, METADATA_FILE};

/// The version written. Every older one is read.
pub(super) const VERSION: u64 = 1;

const FORMAT: &str = "tidegate-savepoint";

/// What a savepoint is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    /// The job.
    pub job: JobName,
    /// The history it is a point of.
    #[serde(with = "text::lineage")]
    pub lineage: LineageId,
    /// The incarnation that made the checkpoint it was made of.
    pub generation: Generation,
    /// That checkpoint's epoch.
    pub epoch: Epoch,
    /// How many key groups the job has, for ever.
    pub key_groups: u16,
    /// Names the way from a key to its group.
    pub key_hash: String,
    /// The host's clock at the barrier.
    pub host_clock: HostTime,
    /// No earlier event time was expected after the barrier.
    pub watermark: EventTime,
    /// Where reading goes on.
    pub sources: BTreeMap<OperatorUid, Source>,
    /// What functions keep.
    pub operators: BTreeMap<OperatorUid, Operator>,
    /// How far output had come.
    pub sinks: BTreeMap<OperatorUid, Sink>,
}

/// Where a source stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The splits, by rising name.
    pub splits: Vec<Split>,
}

/// Where a split stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// What it is called.
    pub name: String,
    /// Where reading resumes.
    pub position: Position,
    /// What tells it from another split of the same name, in the source's encoding; hexadecimal.
    #[serde(with = "text::bytes")]
    pub identity: Vec<u8>,
    /// The greatest event time that counted for the watermark.
    pub greatest_event_time: EventTime,
    /// Whether its end was reached.
    pub ended: bool,
}

/// What an operator keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operator {
    /// The component that wrote it; `None` for what is part of the host.
    #[serde(with = "text::digest")]
    pub module: Option<ModuleDigest>,
    /// What its records were partitioned by, as the job file writes it; `None` where the function says so itself, and
    /// where it was not noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What its state is, with schema and time to live.
    pub states: Vec<StateDescriptor>,
    /// Where its entries are: filled in by the writer.
    pub entries: EntriesFile,
}

/// A file of entries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntriesFile {
    /// Its name, for people.
    pub file: String,
    /// How many entries it holds.
    pub entries: u64,
    /// How long it is.
    pub length_bytes: u64,
    /// xxh3-64 of the whole file; hexadecimal.
    #[serde(with = "text::checksum")]
    pub checksum: u64,
}

/// How far a sink had come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sink {
    /// What it promised.
    pub delivery: Delivery,
    /// The last epoch known to be published when the savepoint was made.
    pub published: Option<Epoch>,
    /// Epochs whose output was staged, and not known to be published.
    pub pending: Vec<Epoch>,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    format: Option<String>,
    version: Option<u64>,
    checksum: Option<String>,
    #[serde(borrow)]
    savepoint: Option<&'a RawValue>,
}

/// The text of `savepoint.json`.
pub(super) fn encode(metadata: &Metadata) -> String {
    let body = serde_json::to_string_pretty(metadata).expect("names, numbers and lists can be written as JSON");
    let checksum = xxh3_64(body.as_bytes());
    format!(
        "{{\n\"format\": \"{FORMAT}\",\n\"version\": {VERSION},\n\"checksum\": \"{checksum:016x}\",\n\"savepoint\": {body}\n}}\n"
    )
}

/// What the text of `savepoint.json` in `folder` says, checked.
pub(super) fn decode(folder: &Path, text: &[u8]) -> Result<Metadata, Error> {
    let damaged = |reason: String| Error::Damaged { path: folder.to_owned(), file: METADATA_FILE.to_owned(), reason };
    let foreign = |reason: &str| Error::NotASavepoint { path: folder.to_owned(), reason: reason.to_owned() };
    let envelope: Envelope<'_> = serde_json::from_slice(text).map_err(|error| damaged(error.to_string()))?;
    if envelope.format.as_deref() != Some(FORMAT) {
        return Err(foreign("its `savepoint.json` is of another program"));
    }
    let version = envelope.version.filter(|it| *it > 0);
    let version = version.ok_or_else(|| damaged("it has no version".to_owned()))?;
    if version > VERSION {
        return Err(Error::NewerFormat {
            path: folder.to_owned(),
            file: METADATA_FILE.to_owned(),
            found: version,
            most: VERSION,
        });
    }
    let body = envelope.savepoint.ok_or_else(|| damaged("it says nothing of the savepoint".to_owned()))?.get();
    let (expected, found) = (envelope.checksum.unwrap_or_default(), format!("{:016x}", xxh3_64(body.as_bytes())));
    if expected != found {
        return Err(damaged(format!("checksum {found}, expected {expected}")));
    }
    let metadata: Metadata = serde_json::from_str(body).map_err(|error| damaged(error.to_string()))?;
    if metadata.key_groups == 0 {
        return Err(damaged("it has no key groups".to_owned()));
    }
    Ok(metadata)
}

/// Ids and bytes as text that people can compare.
mod text {
    use std::fmt::Write;

    use serde::{Deserialize, Deserializer, Serializer};

    fn to_hex(bytes: &[u8]) -> String {
        bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            write!(text, "{byte:02x}").expect("writing to memory does not fail");
            text
        })
    }

    fn from_hex(text: &str) -> Option<Vec<u8>> {
        let digits: Option<Vec<u8>> =
            text.chars().map(|it| it.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
        let (pairs, rest) = digits.as_ref()?.as_chunks::<2>();
        rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
    }

    pub(super) mod bytes {
        use super::{Deserialize, Deserializer, Serializer, from_hex, to_hex};
        use serde::de::Error as _;

        pub(crate) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
            to.serialize_str(&to_hex(bytes))
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
            let text = String::deserialize(from)?;
            from_hex(&text).ok_or_else(|| D::Error::custom(format!("`{text}` is not hexadecimal")))
        }
    }

    pub(super) mod checksum {
        use super::{Deserialize, Deserializer, Serializer};
        use serde::de::Error as _;

        pub(crate) fn serialize<S: Serializer>(checksum: &u64, to: S) -> Result<S::Ok, S::Error> {
            to.collect_str(&format_args!("{checksum:016x}"))
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
            u64::from_str_radix(&String::deserialize(from)?, 16).map_err(D::Error::custom)
        }
    }

    pub(super) mod lineage {
        use super::{Deserialize, Deserializer, Serializer};
        use model::LineageId;
        use serde::de::Error as _;

        pub(crate) fn serialize<S: Serializer>(lineage: &LineageId, to: S) -> Result<S::Ok, S::Error> {
            to.collect_str(lineage)
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<LineageId, D::Error> {
            let text = String::deserialize(from)?;
            LineageId::parse(&text).ok_or_else(|| D::Error::custom(format!("`{text}` is no lineage")))
        }
    }

    pub(super) mod digest {
        use super::{Deserialize, Deserializer, Serializer, from_hex};
        use model::ModuleDigest;
        use serde::de::Error as _;

        pub(crate) fn serialize<S: Serializer>(digest: &Option<ModuleDigest>, to: S) -> Result<S::Ok, S::Error> {
            match digest {
                Some(digest) => to.collect_str(digest),
                None => to.serialize_none(),
            }
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<ModuleDigest>, D::Error> {
            let Some(text) = Option::<String>::deserialize(from)? else { return Ok(None) };
            let bytes = text.strip_prefix("sha256:").and_then(from_hex).and_then(|it| <[u8; 32]>::try_from(it).ok());
            let digest = bytes.ok_or_else(|| D::Error::custom(format!("`{text}` is no digest of a module")))?;
            Ok(Some(ModuleDigest(digest)))
        }
    }
}
