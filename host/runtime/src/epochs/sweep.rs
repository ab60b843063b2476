//! Removing what no retained checkpoint needs: [`protocol::retention`] says what that is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use contract::{CheckpointStore, Error, ObjectNumber, SnapshotStore};
use fail::fail_point;
use model::{Generation, HostTime};
use protocol::manifest::LogRecord;
use protocol::ownership::{Content, LogEntry};
use protocol::retention::{DEFAULT_ORPHAN_AGE, MOST_CLAIMS, Rules, Stored, garbage};

use super::own::content;

/// Where keyed state lies below the root of a job.
pub(crate) const STATE: &str = "state";

/// As many as retention keeps, and those among the retained manifests.
const MOST_KNOWN: usize = 2 * MOST_CLAIMS;

/// What is kept, and who asks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SweepRules {
    pub(crate) retain: u32,
    pub(crate) generation: Generation,
}

/// The claims of a log that were read before: they never change, and stay for long.
#[derive(Debug, Default)]
pub(crate) struct KnownClaims(Mutex<BTreeMap<ObjectNumber, Content>>);

impl KnownClaims {
    fn content(&self, log: &dyn CheckpointStore, number: ObjectNumber) -> Result<Option<Content>, Error> {
        // A panic elsewhere leaves a map that is whole.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(claim) = known.get(&number) {
            return Ok(Some(claim.clone()));
        }
        let found = content(log, number)?;
        if let Some(claim @ Content::Record(LogRecord::Claim(_))) = &found {
            known.insert(number, claim.clone());
            while known.len() > MOST_KNOWN {
                known.pop_first();
            }
        }
        Ok(found)
    }
}

/// Removes records, then objects. Returns how many of both.
pub(crate) fn sweep(
    log: &dyn CheckpointStore,
    objects: &dyn SnapshotStore,
    rules: SweepRules,
    known: &KnownClaims,
    now: HostTime,
) -> Result<(usize, usize), Error> {
    let mut entries = Vec::new();
    for number in log.list()? {
        if let Some(content) = known.content(log, number)? {
            entries.push(LogEntry { number, content });
        }
    }
    let listed = objects.list(STATE)?;
    // What this incarnation uploaded and has not listed is younger than any manifest that is given up.
    let in_use = BTreeSet::new();
    let stored = Stored { entries: &entries, objects: &listed, in_use: &in_use };
    let SweepRules { retain, generation } = rules;
    let found = garbage(&stored, &Rules { retain, orphan_age: DEFAULT_ORPHAN_AGE, generation, now });
    for number in &found.records {
        log.remove(*number)?;
        fail_point!("mid-sweep");
    }
    for name in &found.objects {
        objects.delete(name)?;
        fail_point!("mid-sweep");
    }
    Ok((found.records.len(), found.objects.len()))
}
