//! Becoming the owner of a job: its log is read, a claim is created in it, and what the job starts from is chosen.

use std::collections::BTreeSet;
use std::sync::Arc;

use contract::{CheckpointStore, Delivery, Error, ObjectNumber, Randomness, Sink};
use model::{Blame, JobName, OperatorUid, Retry};
use protocol::key_group;
use protocol::manifest::{self, LogRecord, encode};
use protocol::ownership::{self, ClaimStep, Claiming, Content, LineageChoice, LogEntry, Outcome, Ownership};
use protocol::recovery::{self, Ledgers, Permissions, Recovery, Refusal};

use super::driver::draw_nonce;
use crate::graph::JobGraph;
use crate::plan::dead_letters_uid;

/// How often a record whose outcome nobody knows is created again, one right after the other: a store that is
/// away for longer is met by who starts jobs again.
const MOST_TRIES: u32 = 8;

/// The code of what a newer program wrote, as stores give it.
const NEWER_FORMAT: &str = "E0402";

/// Claims the job. Returns the right to its log, and the log before the claim.
pub(super) fn claim(
    log: &dyn CheckpointStore,
    randomness: &dyn Randomness,
    job: &JobName,
    owner: &str,
    lineage: LineageChoice,
) -> Result<(Ownership, Vec<LogEntry>), Error> {
    let mut claiming = Claiming::new(job.clone(), owner.to_owned(), lineage);
    loop {
        let entries = read(log)?;
        let (number, claim) = claiming.propose(&entries).map_err(|error| not_claimed(&error))?;
        let outcome = create(log, number, randomness, &encode(&LogRecord::Claim(claim)))?;
        if let ClaimStep::Own(ownership) = claiming.after_create(outcome) {
            return Ok((ownership, entries));
        }
    }
}

/// Creates a record; while nobody knows whether it is there, the same one again.
///
/// # Errors
/// When the store refuses, or the outcome stays unknown.
pub(super) fn create(
    log: &dyn CheckpointStore,
    number: ObjectNumber,
    randomness: &dyn Randomness,
    body: &[u8],
) -> Result<Outcome, Error> {
    let nonce = draw_nonce(randomness);
    let mut left = MOST_TRIES;
    loop {
        match log.create(number, nonce, body) {
            Ok(creation) => return Ok(Outcome::from(creation)),
            Err(error) if error.retry() == Retry::Backoff && left > 0 => left -= 1,
            Err(error) => return Err(error),
        }
    }
}

/// The log from the newest manifest that can be read to its end.
pub(super) fn read(log: &dyn CheckpointStore) -> Result<Vec<LogEntry>, Error> {
    let mut entries = Vec::new();
    for number in log.list()?.into_iter().rev() {
        let Some(content) = content(log, number)? else { continue };
        let is_manifest = matches!(content, Content::Record(LogRecord::Complete(_)));
        entries.push(LogEntry { number, content });
        if is_manifest {
            break;
        }
    }
    entries.reverse();
    Ok(entries)
}

/// What a record says; `None` where it is gone since it was listed.
pub(super) fn content(log: &dyn CheckpointStore, number: ObjectNumber) -> Result<Option<Content>, Error> {
    let body = match log.read(number) {
        Ok(None) => return Ok(None),
        Ok(Some(object)) => object.body,
        Err(error) if error.retry() == Retry::Backoff => return Err(error),
        Err(error) if error.code() == Some(NEWER_FORMAT) => return Ok(Some(Content::Newer(error.to_string()))),
        Err(error) => return Ok(Some(Content::Damaged(error.to_string()))),
    };
    Ok(Some(match manifest::decode(&body) {
        Ok(record) => Content::Record(record),
        Err(error @ manifest::Error::Newer { .. }) => Content::Newer(error.to_string()),
        Err(error) => Content::Damaged(error.to_string()),
    }))
}

/// What the job starts from.
pub(crate) fn choose(
    entries: &[LogEntry],
    graph: &JobGraph,
    ledgers: &Ledgers,
    permissions: &Permissions,
) -> Result<Recovery, Error> {
    let uids = |uids: &mut dyn Iterator<Item = &OperatorUid>| uids.cloned().collect::<BTreeSet<_>>();
    let mut sinks = uids(&mut graph.sinks.iter().map(|node| &node.uid));
    sinks.extend(graph.dead_letters.iter().map(|_| dead_letters_uid()));
    let stages = |sink: &Arc<dyn Sink>| sink.delivery() == Delivery::ExactlyOnce;
    let mut publishing = uids(&mut graph.sinks.iter().filter(|node| stages(&node.sink)).map(|node| &node.uid));
    publishing.extend(graph.dead_letters.iter().filter(|sink| stages(sink)).map(|_| dead_letters_uid()));
    let job = recovery::Job {
        name: graph.name.clone(),
        key_groups: graph.settings.key_groups,
        key_hash: key_group::ALGORITHM.to_owned(),
        sources: uids(&mut graph.sources.iter().map(|node| &node.uid)),
        operators: uids(&mut graph.functions.iter().map(|node| &node.uid)),
        sinks,
        publishing,
    };
    recovery::choose(entries, &job, ledgers, permissions).map_err(|refusal| refused(&refusal, entries))
}

fn not_claimed(error: &ownership::Error) -> Error {
    let retry = match error {
        ownership::Error::ListingStale { .. } => Retry::Backoff,
        ownership::Error::Foreign { .. } | ownership::Error::Newer { .. } => Retry::No,
    };
    Error::new(Blame::Config, retry, error.to_string()).with_code(error.code())
}

/// Says also which objects cannot be read, where that is why.
fn refused(refusal: &Refusal, entries: &[LogEntry]) -> Error {
    let mut message = refusal.to_string();
    if let Refusal::LedgerAhead { damaged, .. } | Refusal::NothingReadable { damaged, .. } = refusal {
        for entry in entries.iter().filter(|entry| damaged.contains(&entry.number)) {
            if let Content::Damaged(why) = &entry.content {
                message = format!("{message}; {why}");
            }
        }
    }
    Error::new(Blame::Config, Retry::No, message).with_code(refusal.code())
}
