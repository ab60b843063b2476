//! What of a job's storage is kept, and what may go.
//!
//! # Words
//! - *retained*: a manifest among the newest, as many as the option says
//! - *reachable*: listed by a retained manifest, or about to be listed by the next
//! - *orphan*: an object that no manifest ever listed, as an upload leaves that was cut short
//!
//! # Invariants
//! 1. Nothing reachable goes: not an object of a retained manifest, not what the running incarnation has uploaded and
//!    not listed yet.
//! 2. Staged output is listed as long as it may have to be published: what [`listed_output`] names stays.
//! 3. An object of a generation that is not older than ours is no orphan: it is ours, or an owner's that overtook us.
//! 4. An orphan goes once it is old, so that nothing goes that an upload in progress still needs.
//! 5. While a record at or above the oldest retained manifest cannot be read, no object goes: it may be what lists it.
//! 6. The newest record of the log stays, and so do claims: whoever was overtaken knows the log up to the claim that
//!    overtook it, and creates its next record there. Were the number free, a manifest of its would be in the log. A store
//!    refuses numbers below its newest, but what looks and then creates can be overtaken in between. Only claims older
//!    than the newest [`MOST_CLAIMS`] go: who wakes up inside such a call was overtaken as often meanwhile.
//! 7. Names that are not made by [`ObjectName`] are nobody's business here.
//!
//! # Absent on purpose
//! Removing. Records go first, then the objects: whoever is interrupted leaves orphans, never a manifest whose
//! objects are gone.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use model::{Generation, HostTime, ListedObject, ObjectNumber, OperatorUid, StagedOutput};

use crate::manifest::{LogRecord, Manifest};
use crate::ownership::{Content, LogEntry};

mod object_name;
#[cfg(test)]
mod tests;

pub use object_name::ObjectName;

/// How old an orphan is before it goes, where nothing else is said: above the longest an upload, with its retries, may
/// take.
pub const DEFAULT_ORPHAN_AGE: Duration = Duration::from_secs(24 * 3600);

/// How many claims are kept below the oldest retained manifest; each is a record of a few hundred bytes. A job that is
/// started again every hour is started so often in six weeks.
pub const MOST_CLAIMS: usize = 1024;

/// What there is.
#[derive(Clone, Copy, Debug)]
pub struct Stored<'a> {
    /// The whole log, by rising number.
    pub entries: &'a [LogEntry],
    /// The objects below the job's root.
    pub objects: &'a [ListedObject],
    /// Names of what this incarnation has uploaded, or is uploading, that no manifest lists yet.
    pub in_use: &'a BTreeSet<String>,
}

/// What decides.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// How many manifests are retained, at least one.
    pub retain: u32,
    /// How old an orphan is before it goes.
    pub orphan_age: Duration,
    /// The generation of who asks: the owner of the job.
    pub generation: Generation,
    /// The time, by the clock that objects are dated with.
    pub now: HostTime,
}

/// What may go: records first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Garbage {
    /// Records of the log, by rising number.
    pub records: Vec<ObjectNumber>,
    /// Names of objects.
    pub objects: Vec<String>,
}

/// Decides what may go.
#[must_use]
pub fn garbage(stored: &Stored<'_>, rules: &Rules) -> Garbage {
    let manifests = manifests(stored.entries);
    let first_retained = manifests.len().saturating_sub(rules.retain.max(1) as usize);
    let (old, retained) = manifests.split_at_checked(first_retained).unwrap_or((&[], &[]));
    let Some((oldest, _)) = retained.first() else { return Garbage::default() };
    let records = records(stored.entries, *oldest);
    let is_whole = stored.entries.iter().filter(|entry| entry.number >= *oldest).all(is_readable);
    let objects = if is_whole { objects(stored, rules, old, retained) } else { Vec::new() };
    Garbage { records, objects }
}

/// The records that may go below the oldest retained manifest. What cannot be read may be a claim.
fn records(entries: &[LogEntry], oldest: ObjectNumber) -> Vec<ObjectNumber> {
    let below: Vec<&LogEntry> = entries.iter().filter(|entry| entry.number < oldest).collect();
    let is_manifest = |entry: &LogEntry| matches!(entry.content, Content::Record(LogRecord::Complete(_)));
    let mut claims_left = below.iter().filter(|entry| !is_manifest(entry)).count();
    let mut records = Vec::new();
    for entry in below {
        if is_manifest(entry) {
            records.push(entry.number);
            continue;
        }
        if claims_left > MOST_CLAIMS {
            records.push(entry.number);
        }
        claims_left -= 1;
    }
    records
}

/// Everything staged that a manifest of the log lists, by sink: a publisher discards nothing of it.
#[must_use]
pub fn listed_output(entries: &[LogEntry]) -> BTreeMap<OperatorUid, Vec<StagedOutput>> {
    let mut listed = BTreeMap::<OperatorUid, Vec<StagedOutput>>::new();
    for (_, manifest) in manifests(entries) {
        for (uid, sink) in &manifest.sinks {
            let staged = listed.entry(uid.clone()).or_default();
            for output in sink.pending.iter().flat_map(|pending| &pending.staged) {
                if !staged.contains(output) {
                    staged.push(output.clone());
                }
            }
        }
    }
    listed
}

fn objects(
    stored: &Stored<'_>,
    rules: &Rules,
    old: &[(ObjectNumber, &Manifest)],
    retained: &[(ObjectNumber, &Manifest)],
) -> Vec<String> {
    let reachable = names(retained);
    let was_listed = names(old);
    let may_go = |object: &&ListedObject| {
        let name = object.name.as_str();
        if reachable.contains(name) || stored.in_use.contains(name) {
            return false;
        }
        let is_older = ObjectName::parse(name).is_some_and(|parsed| parsed.generation < rules.generation);
        was_listed.contains(name) || (is_older && age(object, rules.now) > rules.orphan_age)
    };
    stored.objects.iter().filter(may_go).map(|object| object.name.clone()).collect()
}

fn manifests(entries: &[LogEntry]) -> Vec<(ObjectNumber, &Manifest)> {
    let with_number = entries.iter().filter_map(|entry| match &entry.content {
        Content::Record(LogRecord::Complete(manifest)) => Some((entry.number, manifest.as_ref())),
        Content::Record(LogRecord::Claim(_)) | Content::Damaged(_) | Content::Newer(_) => None,
    });
    with_number.collect()
}

/// The names of the objects of keyed state that manifests list.
fn names<'a>(manifests: &[(ObjectNumber, &'a Manifest)]) -> BTreeSet<&'a str> {
    let operators = manifests.iter().flat_map(|(_, manifest)| manifest.operators.values());
    let parts = operators.flat_map(|operator| &operator.parts);
    parts.flat_map(|part| &part.objects).map(|object| object.name.as_str()).collect()
}

fn is_readable(entry: &LogEntry) -> bool {
    matches!(entry.content, Content::Record(_))
}

/// Nothing for an object from the future.
fn age(object: &ListedObject, now: HostTime) -> Duration {
    Duration::from_millis(u64::try_from(now.0.saturating_sub(object.modified.0)).unwrap_or(0))
}
