//! What a job starts from.
//!
//! After a claim, the owner reads the log back to the newest manifest that can be read, asks the target of every
//! exactly-once sink what was published last, and decides here: begin, go on from that manifest, or refuse.
//! What a manifest lists as pending and no target knows is published before anything newer.
//!
//! # Words
//! - *target*: what a sink writes to; its *ledger* says what was published last
//! - *ahead*: a target published an epoch that the manifest started from does not contain
//! - *behind*: a manifest says that an epoch is published, and the target does not know it
//!
//! # Invariants
//! 1. The newest manifest that can be read is the one; a damaged newer one is passed over only where no target is
//!    ahead of it, for then nothing of what is forgotten was ever visible.
//! 2. A target that is ahead or behind is never gone on with silently. Ahead: only a rewind, which takes a new
//!    lineage and makes output visible again on purpose. Behind: only when the user says that it is meant.
//! 3. State, positions and staged output are dropped only when their operator is named.
//! 4. What is to be published first rises by epoch for every sink, is above what its target knows, and is all of it.
//! 5. A refusal changes nothing.
//!
//! # Absent on purpose
//! Schemas of state: `schema` compares them. Reading the objects: if one is missing, who restores says so.

use std::collections::{BTreeMap, BTreeSet};

use model::{Epoch, JobName, LineageId, ObjectNumber, OperatorUid};

use crate::manifest::{CheckpointKind, LogRecord, Manifest, PendingEpoch, Rewound};
use crate::ownership::{Content, LogEntry};

mod refusal;
#[cfg(test)]
mod tests;

pub use refusal::{Refusal, Role};

/// The job that is to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its name.
    pub name: JobName,
    /// How many key groups it has.
    pub key_groups: u16,
    /// Names the way from a key to its group.
    pub key_hash: String,
    /// Its sources.
    pub sources: BTreeSet<OperatorUid>,
    /// Its functions.
    pub operators: BTreeSet<OperatorUid>,
    /// Its sinks, with that of dead letters if it has one.
    pub sinks: BTreeSet<OperatorUid>,
    /// Those of them that publish what is staged.
    pub publishing: BTreeSet<OperatorUid>,
}

/// What targets know of the lineage: the last epoch published, `None` for none. Only of sinks that are exactly-once.
pub type Ledgers = BTreeMap<OperatorUid, Option<Epoch>>;

/// What the user said about things that are refused otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// Go on in this new lineage where a target is ahead.
    pub rewind: Option<LineageId>,
    /// Go on though targets do not know what was published.
    pub ledger_behind: bool,
    /// Operators whose state, positions or staged output may be dropped.
    pub drop: BTreeSet<OperatorUid>,
}

/// What to start from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// From nothing: no checkpoint was ever complete.
    Begin,
    /// From a manifest.
    Resume(Box<Resume>),
}

/// From a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resume {
    /// The manifest.
    pub manifest: Manifest,
    /// Its number in the log.
    pub number: ObjectNumber,
    /// The lineage that goes on: the manifest's, or a new one.
    pub lineage: LineageId,
    /// What the next manifest says of where the lineage came from.
    pub rewound: Option<Rewound>,
    /// What each sink publishes first, in the lineage of the manifest.
    pub publish_first: BTreeMap<OperatorUid, Vec<PendingEpoch>>,
    /// Newer records that could not be read.
    pub passed_over: Vec<ObjectNumber>,
    /// Whether the job had come to its end: what is read now was added since.
    pub was_finished: bool,
}

impl Resume {
    /// The first epoch to run.
    #[must_use]
    pub fn first_epoch(&self) -> Epoch {
        Epoch(self.manifest.epoch.0 + 1)
    }
}

/// Decides what `job` starts from. `entries` are the log by rising number, at least from the newest manifest that can
/// be read to its end.
///
/// # Errors
/// A [`Refusal`], which names what it would take.
pub fn choose(
    entries: &[LogEntry],
    job: &Job,
    ledgers: &Ledgers,
    permissions: &Permissions,
) -> Result<Recovery, Refusal> {
    let passed_over = unreadable_tail(entries)?;
    let Some((number, manifest)) = newest_manifest(entries) else {
        return begin(job, ledgers, passed_over);
    };
    check_job(manifest, job)?;
    check_removed(manifest, job, permissions)?;
    let is_behind = |sink| behind(manifest, sink, ledgers);
    if !permissions.ledger_behind
        && let Some((sink, published, found)) = manifest.sinks.keys().find_map(is_behind)
    {
        return Err(Refusal::LedgerBehind { sink, published, found });
    }
    let ahead = ledgers.iter().find_map(|(sink, published)| {
        published.filter(|published| *published > manifest.epoch).map(|published| (sink.clone(), published))
    });
    let (lineage, rewound) = match (ahead, permissions.rewind) {
        (None, _) => (manifest.lineage, None),
        (Some(_), Some(lineage)) => (lineage, Some(Rewound { lineage: manifest.lineage, epoch: manifest.epoch })),
        (Some((sink, published)), None) => {
            return Err(Refusal::LedgerAhead { sink, published, newest: Some(manifest.epoch), damaged: passed_over });
        }
    };
    Ok(Recovery::Resume(Box::new(Resume {
        publish_first: publish_first(manifest, job, ledgers, permissions),
        manifest: manifest.clone(),
        number,
        lineage,
        rewound,
        passed_over,
        was_finished: manifest.kind == CheckpointKind::Final,
    })))
}

/// The records after the newest manifest that cannot be read.
fn unreadable_tail(entries: &[LogEntry]) -> Result<Vec<ObjectNumber>, Refusal> {
    let mut damaged = Vec::new();
    for entry in entries.iter().rev() {
        match &entry.content {
            Content::Record(LogRecord::Complete(_)) => break,
            Content::Record(LogRecord::Claim(_)) => {}
            Content::Damaged(_) => damaged.push(entry.number),
            Content::Newer(why) => return Err(Refusal::Newer { number: entry.number, why: why.clone() }),
        }
    }
    damaged.reverse();
    Ok(damaged)
}

fn newest_manifest(entries: &[LogEntry]) -> Option<(ObjectNumber, &Manifest)> {
    entries.iter().rev().find_map(|entry| match &entry.content {
        Content::Record(LogRecord::Complete(manifest)) => Some((entry.number, manifest.as_ref())),
        _ => None,
    })
}

/// Without a manifest: if anything was published there was one.
fn begin(job: &Job, ledgers: &Ledgers, damaged: Vec<ObjectNumber>) -> Result<Recovery, Refusal> {
    let published = ledgers.iter().find_map(|(sink, published)| published.map(|published| (sink.clone(), published)));
    match published {
        Some((sink, published)) => Err(Refusal::LedgerAhead { sink, published, newest: None, damaged }),
        None if damaged.is_empty() => Ok(Recovery::Begin),
        None => Err(Refusal::NothingReadable { job: job.name.clone(), damaged }),
    }
}

fn check_job(manifest: &Manifest, job: &Job) -> Result<(), Refusal> {
    if manifest.job != job.name {
        return Err(Refusal::Foreign { expected: job.name.clone(), found: manifest.job.clone() });
    }
    if manifest.key_groups != job.key_groups {
        return Err(Refusal::KeyGroups { expected: manifest.key_groups, found: job.key_groups });
    }
    if manifest.key_hash != job.key_hash {
        return Err(Refusal::KeyHash { expected: manifest.key_hash.clone(), found: job.key_hash.clone() });
    }
    Ok(())
}

/// What the manifest keeps and nobody in the job goes on with.
fn check_removed(manifest: &Manifest, job: &Job, permissions: &Permissions) -> Result<(), Refusal> {
    let sources = manifest.sources.keys().map(|uid| (Role::Source, uid, job.sources.contains(uid)));
    let with_state = manifest.operators.iter().filter(|(_, operator)| !operator.parts.is_empty());
    let operators = with_state.map(|(uid, _)| (Role::Function, uid, job.operators.contains(uid)));
    let with_output =
        manifest.sinks.iter().filter(|(_, sink)| sink.pending.iter().any(|epoch| !epoch.staged.is_empty()));
    let with_output: Vec<&OperatorUid> = with_output.map(|(uid, _)| uid).collect();
    let sinks = with_output.iter().map(|uid| (Role::Sink, *uid, job.sinks.contains(*uid)));
    let mut removed = sources.chain(operators).chain(sinks).filter(|(_, _, is_there)| !is_there);
    if let Some((role, uid, _)) = removed.find(|(_, uid, _)| !permissions.drop.contains(*uid)) {
        return Err(Refusal::Removed { role, uid: uid.clone() });
    }
    match with_output.into_iter().find(|uid| !job.publishing.contains(*uid) && !permissions.drop.contains(*uid)) {
        Some(uid) => Err(Refusal::PublishesNoMore { sink: uid.clone() }),
        None => Ok(()),
    }
}

/// What the manifest says is published, where the target of `sink` does not know it.
fn behind(manifest: &Manifest, sink: &OperatorUid, ledgers: &Ledgers) -> Option<(OperatorUid, Epoch, Option<Epoch>)> {
    let published = manifest.sinks.get(sink)?.published?;
    let found = *ledgers.get(sink)?;
    (found < Some(published)).then(|| (sink.clone(), published, found))
}

/// Where a target was emptied with the user's word, what was staged in it is gone with what was published.
fn publish_first(
    manifest: &Manifest,
    job: &Job,
    ledgers: &Ledgers,
    permissions: &Permissions,
) -> BTreeMap<OperatorUid, Vec<PendingEpoch>> {
    let was_emptied = |uid: &OperatorUid| permissions.ledger_behind && behind(manifest, uid, ledgers).is_some();
    let mut first = BTreeMap::new();
    for (uid, sink) in manifest.sinks.iter().filter(|(uid, _)| job.publishing.contains(*uid) && !was_emptied(uid)) {
        let published = ledgers.get(uid).copied().flatten();
        let mut pending: Vec<_> =
            sink.pending.iter().filter(|pending| Some(pending.epoch) > published).cloned().collect();
        pending.sort_by_key(|pending| pending.epoch);
        if !pending.is_empty() {
            first.insert(uid.clone(), pending);
        }
    }
    first
}
