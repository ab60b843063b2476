//! Removes what no retained checkpoint needs.
//!
//! What is retained is decided elsewhere; this carries it out, so that it can be broken off anywhere.
//!
//! # Words
//! - *listed*: the objects there were before the decision; what came later is not touched
//! - *reachable*: what a retained manifest, output that is not published, or an upload that no manifest lists yet needs
//!
//! # Invariants
//! 1. A record of the log goes before the objects it lists, the oldest first: a manifest that is there is whole.
//! 2. Only what was listed, is not reachable, and is older than the gate is deleted. So a process that was overtaken
//!    in the meantime deletes nothing of its successor: what that one wrote was not listed, and what it restored from
//!    was the newest manifest, which is retained.
//! 3. Broken off after any step, it leaves every retained checkpoint restorable, and the next run goes on.
//!
//! # Absent on purpose
//! No clock: the gate is a time of the medium, which the caller takes from its own clock and a margin.

use std::collections::BTreeSet;

use contract::{Error, ListedObject, ObjectNumber};
use model::HostTime;

use crate::JobStore;

/// What may go.
#[derive(Clone, Debug, Default)]
pub struct Garbage {
    /// The records of the log that are not needed; never the newest claim or the newest record.
    pub records: Vec<ObjectNumber>,
    /// The names of objects that stay.
    pub reachable: BTreeSet<String>,
    /// Only objects written before this are deleted: younger ones may belong to a checkpoint that is being taken.
    pub written_before: HostTime,
}

/// What went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Records of the log.
    pub records: u64,
    /// Objects.
    pub objects: u64,
    /// Bytes of those objects.
    pub bytes: u64,
}

/// Removes the records, then of the objects `listed` those that may go.
///
/// # Errors
/// The first of the store; what was removed before stays so.
pub fn collect(store: &JobStore, listed: &[ListedObject], garbage: &Garbage) -> Result<Collected, Error> {
    let mut collected = Collected::default();
    let records: BTreeSet<ObjectNumber> = garbage.records.iter().copied().collect();
    for number in records {
        store.log.remove(number)?;
        collected.records += 1;
    }
    let may_go = |it: &&ListedObject| it.modified < garbage.written_before && !garbage.reachable.contains(&it.name);
    for object in listed.iter().filter(may_go) {
        store.objects.delete(&object.name)?;
        collected.objects += 1;
        collected.bytes += object.length_bytes;
    }
    Ok(collected)
}
