//! Removing what no retained checkpoint needs: [`protocol::retention`] says what that is.

use std::collections::BTreeSet;

use contract::{CheckpointStore, Error, SnapshotStore};
use fail::fail_point;
use model::{Generation, HostTime};
use protocol::ownership::LogEntry;
use protocol::retention::{DEFAULT_ORPHAN_AGE, Rules, Stored, garbage};

use super::own::content;

/// Where keyed state lies below the root of a job.
pub(crate) const STATE: &str = "state";

/// What is kept, and who asks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SweepRules {
    pub(crate) retain: u32,
    pub(crate) generation: Generation,
}

/// Removes records, then objects. Returns how many of both.
pub(crate) fn sweep(
    log: &dyn CheckpointStore,
    objects: &dyn SnapshotStore,
    rules: SweepRules,
    now: HostTime,
) -> Result<(usize, usize), Error> {
    let mut entries = Vec::new();
    for number in log.list()? {
        if let Some(content) = content(log, number)? {
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
