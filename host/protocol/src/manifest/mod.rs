//! The records of a job's manifest log, and their bytes.
//!
//! The log is a row of numbered objects that are created once. A **claim** makes a process the owner of
//! the job; a **manifest** completes a checkpoint. Whether an epoch happened is decided by whether its
//! manifest is in the log, by nothing else.
//!
//! # Words
//! - *part*: objects of one operator's keyed state that are restored one after another; it counts for its
//!   key groups alone
//! - *image*: a part that needs none before it; *delta*: what changed since the part before it
//! - *pending*: staged output that the manifest's maker did not yet know to be published
//!
//! # Invariants
//! 1. A record is written as a format version of two bytes, then MessagePack with named fields.
//! 2. What is written is read back equal; a field that a reader does not know is passed over; a field that an
//!    older writer did not know has a default. A change that breaks this takes a new [`FORMAT_VERSION`].
//! 3. Any bytes are decoded or refused; none panic, and a newer version is refused as such.
//! 4. The parts that cover a key group stand in the order in which they are restored.
//!
//! # Absent on purpose
//! Checksums, nonces and numbers: they belong to the frame around a record, which the store writes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use model::{
    Delivery, Epoch, EventTime, Generation, HostTime, JobName, KeyGroupRange, LineageId, ModuleDigest, ObjectHandle,
    OperatorUid, Position, StagedOutput, StateDescriptor,
};

mod codec;
#[cfg(test)]
pub(crate) mod samples;
#[cfg(test)]
mod tests;

pub use codec::{Error, FORMAT_VERSION, decode, encode};

/// A record of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogRecord {
    /// A process owns the job from here on.
    Claim(Claim),
    /// A checkpoint is complete.
    Complete(Box<Manifest>),
}

impl LogRecord {
    /// The incarnation that wrote it.
    #[must_use]
    pub fn generation(&self) -> Generation {
        match self {
            Self::Claim(claim) => claim.generation,
            Self::Complete(manifest) => manifest.generation,
        }
    }

    /// The job it belongs to.
    #[must_use]
    pub fn job(&self) -> &JobName {
        match self {
            Self::Claim(claim) => &claim.job,
            Self::Complete(manifest) => &manifest.job,
        }
    }
}

/// A process says that it owns the job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The job.
    pub job: JobName,
    /// One above every generation before it in the log.
    pub generation: Generation,
    /// The history that the claimant goes on with, or begins. It counts once a manifest carries it, or as long as
    /// the log has no manifest.
    pub lineage: LineageId,
    /// Who it is, for a person: host, process, start.
    pub owner: String,
}

/// Why a checkpoint was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckpointKind {
    /// It was time.
    Periodic,
    /// Somebody asked for it.
    OnDemand,
    /// The sources have ended or were told to stop; nothing comes after it.
    Final,
    /// A job was started from a savepoint: what it was started with.
    Restore,
}

/// A history that began as a rewind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rewound {
    /// The history that was left.
    pub lineage: LineageId,
    /// The epoch of that history whose state was taken up.
    pub epoch: Epoch,
}

/// A complete checkpoint: everything that a job needs to go on after `epoch`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The job.
    pub job: JobName,
    /// The history it belongs to.
    pub lineage: LineageId,
    /// The incarnation that made it.
    pub generation: Generation,
    /// The epoch it closes.
    pub epoch: Epoch,
    /// The complete checkpoint before it; `None` for the first of a lineage.
    pub parent: Option<Epoch>,
    /// Why it was made.
    pub kind: CheckpointKind,
    /// Where the lineage came from, if it began as a rewind.
    #[serde(default)]
    pub rewound: Option<Rewound>,
    /// How many key groups the job has, for ever.
    pub key_groups: u16,
    /// Names the way from a key to its group.
    pub key_hash: String,
    /// The host's clock when the barrier was sent; a restored clock is never behind it.
    pub host_clock: HostTime,
    /// No earlier event time was expected after the barrier.
    pub watermark: EventTime,
    /// Where reading goes on.
    pub sources: BTreeMap<OperatorUid, SourceState>,
    /// What functions keep.
    pub operators: BTreeMap<OperatorUid, OperatorState>,
    /// What is staged and maybe not published. Dead letters are a sink under the uid that is reserved for them.
    pub sinks: BTreeMap<OperatorUid, SinkState>,
}

/// Where a source stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceState {
    /// The splits, by rising name.
    pub splits: Vec<SplitState>,
}

/// Where a split stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitState {
    /// What it is called; what it is found by.
    pub name: String,
    /// Where reading resumes.
    pub position: Position,
    /// What tells it from another split of the same name, in the source's encoding.
    pub identity: Vec<u8>,
    /// The greatest event time that counted for the watermark.
    pub greatest_event_time: EventTime,
    /// Whether its end was reached.
    pub ended: bool,
}

/// What an operator keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorState {
    /// The component that wrote it; `None` for what is part of the host.
    pub module: Option<ModuleDigest>,
    /// What its records were partitioned by, as the job file writes it; `None` where the function says so itself, and
    /// in manifests that did not note it.
    #[serde(default)]
    pub key: Option<String>,
    /// What the state is, as the component described it.
    pub states: Vec<StateDescriptor>,
    /// Where it lies.
    pub parts: Vec<Part>,
}

/// What a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PartKind {
    /// Everything at the end of its epoch.
    Image,
    /// What changed in its epoch.
    Delta,
}

/// Objects of keyed state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The key groups whose entries count; entries of others are passed over.
    pub key_groups: KeyGroupRange,
    /// Whether parts before it are needed.
    pub kind: PartKind,
    /// The epoch at whose end it was made.
    pub epoch: Epoch,
    /// Where it lies, in order.
    pub objects: Vec<ObjectHandle>,
}

impl Part {
    /// How many bytes its objects have.
    #[must_use]
    pub fn length_bytes(&self) -> u64 {
        self.objects.iter().map(|object| object.length_bytes).fold(0, u64::saturating_add)
    }
}

/// What a sink has in flight.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SinkState {
    /// What it promised when this was written.
    pub delivery: Delivery,
    /// The last epoch known to be published when the manifest was made; `None`: none yet.
    pub published: Option<Epoch>,
    /// What was not known to be published, by rising epoch; the last may be the manifest's own epoch.
    pub pending: Vec<PendingEpoch>,
}

/// Staged output of one epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingEpoch {
    /// The epoch it is published as: that of the manifest that listed it first.
    pub epoch: Epoch,
    /// What was staged, in the order in which it is published.
    pub staged: Vec<StagedOutput>,
}
