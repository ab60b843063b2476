//! Why a job is not started.

use std::fmt;

use model::{Epoch, JobName, ObjectNumber, OperatorUid};

/// What an operator is in the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A source: it has positions.
    Source,
    /// A function: it has state.
    Function,
    /// A sink: it has staged output.
    Sink,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Source => "the positions of source",
            Self::Function => "the state of function",
            Self::Sink => "output of sink",
        })
    }
}

/// Why a job is not started. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The log is another job's.
    #[error("the checkpoints belong to job `{found}`: expected `{expected}`")]
    Foreign {
        /// The job to be started.
        expected: JobName,
        /// The job they belong to.
        found: JobName,
    },
    /// A newer program wrote the newest records.
    #[error("record {number} of the log was written by a newer program: {why}")]
    Newer {
        /// The record.
        number: ObjectNumber,
        /// What is newer.
        why: String,
    },
    /// The number of key groups changed.
    #[error("the job has {found} key groups: its checkpoints have {expected}, which is fixed at the first start")]
    KeyGroups {
        /// What the checkpoints have.
        expected: u16,
        /// What the job has.
        found: u16,
    },
    /// Keys are spread over groups in another way.
    #[error("the checkpoints spread keys by `{expected}`: this program does by `{found}`")]
    KeyHash {
        /// What the checkpoints name.
        expected: String,
        /// What this program does.
        found: String,
    },
    /// An operator that keeps something is no longer in the job.
    #[error(
        "{role} `{uid}` is in the checkpoint and not in the job: expected the operator, or its name among those to drop"
    )]
    Removed {
        /// What it was.
        role: Role,
        /// Its name.
        uid: OperatorUid,
    },
    /// Output waits to be published, and its sink publishes no more.
    #[error(
        "output of sink `{sink}` in the checkpoint waits to be published, and the sink does not publish: expected \
         one that is exactly-once, or its name among those to drop"
    )]
    PublishesNoMore {
        /// The sink.
        sink: OperatorUid,
    },
    /// A target published an epoch that no manifest that can be read contains.
    #[error(
        "sink `{sink}` has published epoch {published}: the newest manifest that can be read is {}{}",
        newest_text(*newest), damaged_text(damaged)
    )]
    LedgerAhead {
        /// The sink.
        sink: OperatorUid,
        /// What its target knows.
        published: Epoch,
        /// The epoch of the newest manifest.
        newest: Option<Epoch>,
        /// Newer records that cannot be read.
        damaged: Vec<ObjectNumber>,
    },
    /// A target does not know what was published.
    #[error(
        "sink `{sink}` had published epoch {published}: its target knows {}, so it is another one or was emptied",
        found.map_or("of none".to_owned(), |found| format!("of {found} as the last"))
    )]
    LedgerBehind {
        /// The sink.
        sink: OperatorUid,
        /// What the manifest knows to be published.
        published: Epoch,
        /// What the target knows.
        found: Option<Epoch>,
    },
    /// There are records, and none can be read.
    #[error("no manifest of job `{job}` can be read{}", damaged_text(damaged))]
    NothingReadable {
        /// The job.
        job: JobName,
        /// The records.
        damaged: Vec<ObjectNumber>,
    },
}

impl Refusal {
    /// Names its page.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Foreign { .. } => "E0430",
            Self::Newer { .. } => "E0431",
            Self::KeyGroups { .. } => "E0434",
            Self::KeyHash { .. } => "E0435",
            Self::Removed { .. } | Self::PublishesNoMore { .. } => "E0436",
            Self::LedgerAhead { .. } => "E0437",
            Self::LedgerBehind { .. } => "E0438",
            Self::NothingReadable { .. } => "E0439",
        }
    }
}

fn newest_text(newest: Option<Epoch>) -> String {
    newest.map_or("none".to_owned(), |epoch| format!("of epoch {epoch}"))
}

fn damaged_text(damaged: &[ObjectNumber]) -> String {
    if damaged.is_empty() {
        return String::new();
    }
    let numbers: Vec<String> = damaged.iter().map(ToString::to_string).collect();
    format!(", records that cannot be read: {}", numbers.join(", "))
}
