//! The state log of one subtask: an index per key group over a log of entries.
//!
//! # Words
//! - *name*: what an entry is called: state, key and, in a map or list, entry key
//! - *tag*: what the index of a key group knows of a name: low bits of its hash
//!
//! # Invariants
//! 1. Every entry that reads can see, and every tombstone not yet cleaned away, has exactly one slot
//!    in the index of its key group: of `values` by its place, of `entries` by its cell.
//! 2. Everything else in the log is a gap or noted as dead.
//! 3. A write is checked whole before the first entry changes, so it takes effect whole.
//! 4. What a delete of a name says reaches every delta that comes after an entry of that name, though the
//!    entry may have been purged: see [`StateLog::purged`].
//!
//! # Absent on purpose
//! Files: a delta is handed out as bytes in memory.
#![expect(clippy::indexing_slicing, reason = "group numbers come from `slot`, which checks them")]

use std::sync::Arc;

use contract::{SlotKeys, StateScope, StateStats};
use model::{HostTime, KeyGroup, KeyGroupRange, StateId, StateKind};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::clean::Cleaning;
use crate::directories::Directories;
use crate::entry::{EntryName, flag};
use crate::expiry::Policies;
use crate::index::{Index, tag_of};
use crate::log::{Log, Place};
use crate::segment::Segment;
use crate::{Error, Options};

/// The indexes of one key group.
#[derive(Debug, Default)]
pub(crate) struct Group {
    /// Places of the entries of value states.
    pub(crate) values: Index,
    /// Cells of the entries of maps and lists.
    pub(crate) entries: Index,
    /// Directories of maps and lists.
    pub(crate) heads: Index,
}

/// The keyed state of one subtask, in memory. See the module.
#[derive(Debug)]
pub struct StateLog {
    pub(crate) scope: StateScope,
    pub(crate) groups: Vec<Group>,
    pub(crate) log: Log,
    pub(crate) directories: Directories,
    pub(crate) cleaning: Cleaning,
    /// Whether an entry that a delta knows was purged. A purge says nothing to the deltas: who restores them
    /// finds the entry again and does not see it, because it has expired. But then an absent name is no
    /// longer a name that no delta knows: in states with a time to live a deleted name needs its tombstone
    /// from here on, or it would come back if the time to live were made longer later.
    pub(crate) purged: bool,
}

/// The tag of a name without entry key; also of the map that an entry lies in.
#[inline]
pub(crate) fn tag_of_key(hash: u64, state: StateId) -> u32 {
    tag_of(hash ^ u64::from(state.0).wrapping_mul(0x9E37_79B9))
}

/// The tag of a name.
#[inline]
pub(crate) fn tag_of_name(name: &EntryName<'_>) -> u32 {
    match name.entry_key {
        None => tag_of_key(name.hash, name.state),
        Some(entry_key) => tag_of_key(xxh3_64_with_seed(entry_key, name.hash), name.state),
    }
}

/// Where to look for a name.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Found {
    /// The number within the table of its key group.
    pub(crate) group: usize,
    /// Its tag.
    pub(crate) tag: u32,
    /// The first position of the index with that tag, as long as nothing is written.
    pub(crate) first: Option<usize>,
}

impl StateLog {
    /// An empty table.
    #[must_use]
    pub fn new(scope: StateScope, options: Options) -> Self {
        let mut groups = Vec::new();
        groups.resize_with(scope.key_groups.groups().len(), Group::default);
        let log = Log::new(options.segment_bytes, Policies::new(&scope.states));
        let (directories, cleaning) = (Directories::default(), Cleaning::default());
        Self { scope, groups, log, directories, cleaning, purged: false }
    }

    /// Ends the epoch: what was written since the last mark, as whole segments that never change again.
    /// Given to [`Self::restore`] in the order of their marks they make the same table.
    ///
    /// A delta that did not become durable is still owed: it belongs to the next checkpoint, before the
    /// delta of that one. Entries deleted before the mark are no longer remembered after it.
    pub fn mark(&mut self) -> Vec<Arc<Vec<u8>>> {
        let delta = self.log.mark();
        self.forget_freed_victim();
        delta
    }

    /// What the table holds.
    pub(crate) fn figures(&self) -> StateStats {
        let slots: usize =
            self.groups.iter().map(|group| group.values.bytes() + group.entries.bytes() + group.heads.bytes()).sum();
        let groups = self.groups.capacity() * size_of::<Group>();
        let known = |segment: &Segment| segment.lifetimes.known_expired(&self.log.policies);
        let expired: usize = self.log.segments.iter().map(known).sum();
        let index = slots + groups + self.directories.bytes() + self.log.list_bytes();
        StateStats {
            live_entries: self.log.entries as u64,
            live_bytes: self.log.payload as u64,
            dead_bytes: (self.log.used - self.log.live) as u64,
            index_bytes: index as u64,
            memory_bytes: (self.log.memory + index) as u64,
            expired_entries: expired as u64,
        }
    }

    /// The kind of `state`.
    pub(crate) fn kind(&self, state: StateId) -> Result<StateKind, Error> {
        let declared = self.scope.states.iter().find(|declared| declared.id == state);
        declared.map(|declared| declared.kind).ok_or(Error::Undeclared { state })
    }

    /// Refuses a state that is not a value, or one that is.
    pub(crate) fn expect_kind(&self, state: StateId, mapped: bool) -> Result<(), Error> {
        let kind = self.kind(state)?;
        if (kind != StateKind::Value) == mapped { Ok(()) } else { Err(Error::WrongKind { state, kind }) }
    }

    /// The number within this table of the group of `hash`.
    #[inline]
    pub(crate) fn group(&self, hash: u64) -> Result<usize, Error> {
        let group = protocol::key_group::group_of(hash, self.scope.key_group_count);
        let number = usize::from(group.0.wrapping_sub(self.scope.key_groups.first.0));
        if number < self.groups.len() { Ok(number) } else { Err(foreign(group, &self.scope.key_groups)) }
    }

    /// Applies one write that was checked before, at `stamp`.
    #[inline]
    pub(crate) fn put(&mut self, found: Found, name: &EntryName<'_>, value: Option<&[u8]>, stamp: &impl Stamp) {
        let known = self.purged && stamp.mortal();
        if name.entry_key.is_some() {
            return self.put_mapped(found, name, value, stamp, known);
        }
        let (log, values) = (&mut self.log, &mut self.groups[found.group].values);
        let position = values.find_or_gap(found.tag, |place| log.is_called(Place(place), name));
        match (position, value) {
            (Err(_), None) if !known => {}
            (Err(gap), _) => {
                let place = log.append(name, value, new_flags(known), stamp.made());
                values.insert_at(gap, found.tag, place.0);
            }
            (Ok(position), _) => {
                let place = Place(values.reference(position));
                if value.is_none() && log.is_forgettable(place) {
                    values.remove(position);
                    log.kill(place);
                } else {
                    let written = stamp.over(log, place);
                    values.set(position, log.rewrite(place, name, value, written).0);
                }
            }
        }
    }

    /// As [`Self::put`], for an entry of a map or list.
    fn put_mapped(
        &mut self,
        found: Found,
        name: &EntryName<'_>,
        value: Option<&[u8]>,
        stamp: &impl Stamp,
        known: bool,
    ) {
        let Self { groups, log, directories, .. } = self;
        let Group { entries, heads, .. } = &mut groups[found.group];
        let head_tag = tag_of_key(name.hash, name.state);
        let is_called = |cell| log.is_called(directories.cells.place(cell as u32), name);
        let position = entries.find_or_gap(found.tag, is_called);
        match (position, value) {
            (Err(_), None) if !known => {}
            (Err(gap), _) => {
                let place = log.append(name, value, new_flags(known), stamp.made());
                let cell = directories.add(log, heads, head_tag, name, place);
                entries.insert_at(gap, found.tag, u64::from(cell));
            }
            (Ok(position), _) => {
                let cell = entries.reference(position) as u32;
                let place = directories.cells.place(cell);
                if value.is_none() && log.is_forgettable(place) {
                    entries.remove(position);
                    directories.remove(log, heads, head_tag, name, cell);
                    log.kill(place);
                } else {
                    let written = stamp.over(log, place);
                    directories.cells.set(cell, log.rewrite(place, name, value, written));
                }
            }
        }
    }
}

/// The flags of an entry for a name that has none: whether an earlier delta may know the name.
#[inline]
fn new_flags(known: bool) -> u8 {
    if known { 0 } else { flag::FIRST }
}

/// When a write happens.
pub(crate) trait Stamp {
    /// Whether what is written can expire.
    fn mortal(&self) -> bool;
    /// The write time of an entry for a name that has none.
    fn made(&self) -> HostTime;
    /// The write time of what is written over the entry at `place`.
    fn over(&self, log: &Log, place: Place) -> HostTime;
}

/// The write time of everything, for what never expires.
impl Stamp for HostTime {
    #[inline]
    fn mortal(&self) -> bool {
        false
    }

    #[inline]
    fn made(&self) -> HostTime {
        *self
    }

    #[inline]
    fn over(&self, _: &Log, _: Place) -> HostTime {
        *self
    }
}

/// The error of a key that belongs to another subtask.
#[cold]
fn foreign(group: KeyGroup, owned: &KeyGroupRange) -> Error {
    Error::ForeignKey { group, first: owned.first, end: owned.end }
}

/// The key and hash of slot `slot`.
#[inline]
pub(crate) fn name_of(slots: &SlotKeys, slot: usize, state: StateId) -> EntryName<'_> {
    EntryName { state, hash: slots.hashes[slot], key: slots.keys.get(slot), entry_key: None }
}

#[cfg(test)]
mod tests;
