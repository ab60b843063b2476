//! The cleaner: what has expired is purged, segments that are mostly dead are rewritten, and their memory
//! is given back.
//!
//! A *sweep* goes through a segment and purges what nobody can see any more; segments that nobody touches
//! take their turn like the others. A segment is due when its first entry expires, and again after a rest
//! (`expiry`), so each is read a bounded number of times while its entries live. A purge adds nothing to a
//! delta, except where the running epoch wrote over an entry of an earlier one: there a tombstone stays.
//!
//! The owner calls it between batches with a budget; a segment may take several calls. What lives in a
//! segment of the running epoch is copied to the tail of the log, what lives in a sealed one to a moved
//! segment, so that cleaning adds nothing to a delta. Tombstones of earlier epochs are dropped: their
//! deltas were handed out at the mark, and a dead entry stays noted as dead.
//!
//! # Invariants
//! 1. Reads see the same before and after.
//! 2. Left alone long enough it brings dead bytes below half the needed ones, plus a segment and a
//!    quarter.
//! 3. A call that finds nothing to do costs a comparison; the segments are only looked through when
//!    one of them emptied, an epoch ended, a quarter of a segment more is dead than the last time, or one
//!    of them is due to be swept.
//! 4. Over a base only segments of the running epoch are rewritten; what is sealed is drained instead.
//! 5. What is purged is invisible to every look from now on; what the deltas say of it may be restored.
#![expect(clippy::indexing_slicing, reason = "segment numbers come from the list of segments")]

use crate::entry::{EntryName, Head, Item, SEGMENT_HEADER};
use crate::expiry::{NEVER, earlier};
use crate::log::{Log, Place};
use crate::segment::Segment;
use crate::table::{Group, StateLog, tag_of_key, tag_of_name};

/// Sealed segments of at most an eighth, as short epochs leave them, are put together when there are
/// more than this many: each costs a number and a few lines of bookkeeping. No longer ones, because an
/// entry of more than an eighth has a segment of its own, and would have another one when moved.
const SHORT_SEGMENTS: usize = 64;

/// Where the cleaner is.
#[derive(Debug, Default)]
pub(crate) struct Cleaning {
    /// The segment it works on, and the next item in it.
    victim: Option<(usize, usize)>,
    /// Nothing was worth cleaning; it may be when this many bytes are dead.
    wait_for: usize,
    /// The segment being swept, and the next item in it.
    sweep: Option<(usize, usize)>,
    /// Where the search for the next segment to sweep goes on.
    turn: usize,
}

#[cfg(test)]
impl Cleaning {
    /// Whether `segment` is being swept.
    pub(crate) fn is_sweeping(&self, segment: usize) -> bool {
        self.sweep.is_some_and(|(swept, _)| swept == segment)
    }
}

/// What is done with an entry that is not dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It lives, and lies elsewhere from now on.
    Move,
    /// It goes, and nobody is told.
    Drop,
    /// It becomes a tombstone: the running epoch wrote it over one of an earlier epoch.
    Bury,
}

/// What the choice of a segment depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) segment: usize,
    /// Bytes of items.
    pub(crate) used: usize,
    /// Bytes of items that are needed.
    pub(crate) needed: usize,
    /// Whether it holds at most one entry, however long.
    pub(crate) oversize: bool,
}

/// Whether a segment may be rewritten. What is sealed over a base is drained and given up instead: its
/// tombstones hide what lies there.
fn is_cleanable(log: &Log, segment: usize) -> bool {
    !log.is_over_base || log.segments[segment].is_mutable()
}

/// The segment to rewrite next, if one is worth it.
pub(crate) fn choose(facts: impl Iterator<Item = Facts>, segment_bytes: usize) -> Option<usize> {
    let (mut dead, mut needed, mut short) = (0, 0, 0);
    let (mut deadest, mut shortest): (Option<Facts>, Option<Facts>) = (None, None);
    for facts in facts {
        if facts.needed == 0 {
            return Some(facts.segment);
        }
        dead += facts.used - facts.needed;
        needed += facts.needed;
        if facts.oversize {
            continue;
        }
        // a.needed / a.used < b.needed / b.used, in whole numbers
        let share = |a: Facts, b: Facts| (a.needed as u128 * b.used as u128) < (b.needed as u128 * a.used as u128);
        if deadest.is_none_or(|most| share(facts, most)) {
            deadest = Some(facts);
        }
        if facts.used <= segment_bytes / 8 {
            short += 1;
            if shortest.is_none_or(|least| facts.used < least.used) {
                shortest = Some(facts);
            }
        }
    }
    if dead > needed / 2 + segment_bytes {
        return deadest.filter(|facts| facts.needed < facts.used).map(|facts| facts.segment);
    }
    shortest.filter(|_| short > SHORT_SEGMENTS).map(|facts| facts.segment)
}

impl StateLog {
    /// Cleans for about `budget` bytes; returns the bytes it went over.
    pub(crate) fn clean(&mut self, budget: usize) -> usize {
        let mut done = 0;
        while done < budget {
            if self.cleaning.victim.is_none()
                && let Some((segment, at)) = self.cleaning.sweep.or_else(|| self.choose_sweep())
            {
                done += self.sweep(segment, at, budget - done);
                continue;
            }
            let Some((victim, at)) = self.cleaning.victim.or_else(|| self.choose_victim()) else { break };
            let end = self.log.segments[victim].bytes().len();
            if at >= end {
                self.log.free(victim);
                self.cleaning.victim = None;
                continue;
            }
            if !self.log.has_room(1, 0) {
                break;
            }
            let item = Item::at(self.log.segments[victim].bytes(), at);
            if let Item::Entry(head) = item {
                self.clean_entry(Place::new(victim, at), &head);
            }
            done += item.size();
            self.cleaning.victim = Some((victim, at + item.size()));
        }
        done
    }

    /// A mark frees segments in which nothing is needed, perhaps the one being cleaned.
    pub(crate) fn forget_freed_victim(&mut self) {
        let is_there = |&(segment, _): &(usize, usize)| !self.log.segments[segment].is_vacant();
        let is_cleanable = |&(segment, _): &(usize, usize)| is_cleanable(&self.log, segment);
        self.cleaning.victim = self.cleaning.victim.filter(is_there).filter(is_cleanable);
        self.cleaning.sweep = self.cleaning.sweep.filter(is_there);
    }

    /// The next segment that is due to be swept, if one is.
    fn choose_sweep(&mut self) -> Option<(usize, usize)> {
        let log = &mut self.log;
        if !log.policies.is_reached(log.due) {
            return None;
        }
        let count = log.segments.len();
        let is_due = |&number: &usize| log.policies.is_reached(log.segments[number].lifetimes.due());
        let found = (0..count).map(|step| (self.cleaning.turn + step) % count).find(is_due);
        let Some(number) = found else {
            log.due = log.segments.iter().fold(NEVER, |due, segment| earlier(due, segment.lifetimes.due()));
            return None;
        };
        log.segments[number].lifetimes.begin_sweep(&log.policies);
        self.cleaning.turn = number + 1;
        self.cleaning.sweep = Some((number, SEGMENT_HEADER.len()));
        self.cleaning.sweep
    }

    /// Sweeps a segment from `at` on, for about `budget` bytes; returns the bytes it went over. One of the
    /// running epoch is swept to its end, because what lies where may change between calls.
    fn sweep(&mut self, number: usize, mut at: usize, budget: usize) -> usize {
        let (start, whole) = (at, self.log.segments[number].is_mutable());
        while at < self.log.segments[number].bytes().len() && (whole || at - start < budget) {
            let item = Item::at(self.log.segments[number].bytes(), at);
            if let Item::Entry(head) = item {
                self.sweep_entry(Place::new(number, at), &head);
            }
            at += item.size();
        }
        let is_over = at >= self.log.segments[number].bytes().len();
        self.cleaning.sweep = (!is_over).then_some((number, at));
        at - start
    }

    /// Purges the entry at `place` if nobody can see it any more.
    fn sweep_entry(&mut self, place: Place, head: &Head) {
        let Self { log, .. } = self;
        let segment = &mut log.segments[place.segment()];
        if head.is_tombstone() || segment.is_dead(place.at()) {
            return;
        }
        if !log.policies.is_purgeable(head) {
            segment.lifetimes.note_left(&log.policies, head);
        } else if segment.is_mutable() && !head.is_first() {
            self.settle(place, head, Fate::Bury);
        } else if log.is_over_base && !segment.is_mutable() {
            // What is sealed goes to the base and is purged there.
            self.sweep_over_base(place, head);
        } else {
            self.purged |= !segment.is_mutable();
            self.settle(place, head, Fate::Drop);
        }
    }

    /// An expired entry of a sealed segment over a base: one that lies there as well is given up.
    fn sweep_over_base(&mut self, place: Place, head: &Head) {
        let Log { segments, policies, .. } = &mut self.log;
        let segment = &mut segments[place.segment()];
        if !segment.is_in_base() {
            return segment.lifetimes.note_left(policies, head);
        }
        self.log.uncounted(true);
        self.settle(place, head, Fate::Drop);
        self.log.uncounted(false);
    }

    fn choose_victim(&mut self) -> Option<(usize, usize)> {
        let dead = self.log.used - self.log.live - self.log.kept;
        if !self.log.take_changed() && dead < self.cleaning.wait_for {
            return None;
        }
        let log = &self.log;
        let facts = |(number, segment): (usize, &Segment)| Facts {
            segment: number,
            used: segment.used(),
            needed: segment.live + segment.kept,
            oversize: segment.used() > log.segment_bytes(),
        };
        let choosable = |&(number, segment): &(usize, &Segment)| {
            !segment.is_vacant() && !log.grows(number) && is_cleanable(log, number)
        };
        let segments = log.segments.iter().enumerate().filter(choosable);
        let victim = choose(segments.map(facts), log.segment_bytes());
        self.cleaning.wait_for = if victim.is_some() { 0 } else { dead + log.segment_bytes() / 4 };
        victim.map(|victim| (victim, SEGMENT_HEADER.len()))
    }

    /// Moves the entry at `place` if it is needed, and forgets it if it is an old tombstone.
    fn clean_entry(&mut self, place: Place, head: &Head) {
        let segment = &self.log.segments[place.segment()];
        if segment.is_dead(place.at()) {
            return;
        }
        let is_forgotten = head.is_tombstone() && !segment.is_mutable();
        self.settle(place, head, if is_forgotten { Fate::Drop } else { Fate::Move });
    }

    /// Does with the entry at `place`, which is not dead, what its fate is.
    pub(crate) fn settle(&mut self, place: Place, head: &Head, fate: Fate) {
        let Self { groups, log, directories, .. } = self;
        let segment = &log.segments[place.segment()];
        if fate == Fate::Bury {
            return log.bury(place);
        }
        let drop = fate == Fate::Drop;
        let name = head.name(segment.bytes(), place.at());
        let group = protocol::key_group::group_of(head.hash, self.scope.key_group_count).0;
        let group = &mut groups[usize::from(group - self.scope.key_groups.first.0)];
        let tag = tag_of_name(&name);
        const INDEXED: &str = "an entry that is not dead has a slot";
        if name.entry_key.is_none() {
            let position = group.values.find(tag, |found| found == place.0).expect(INDEXED);
            if drop {
                group.values.remove(position);
                log.kill(place);
            } else {
                group.values.set(position, log.relocate(place).0);
            }
            return;
        }
        let Group { entries, heads, .. } = group;
        let position = entries.find(tag, |cell| directories.cells.place(cell as u32) == place).expect(INDEXED);
        let cell = entries.reference(position) as u32;
        if drop {
            entries.remove(position);
            let EntryName { hash, state, .. } = name;
            directories.remove(log, heads, tag_of_key(hash, state), &name, cell);
            log.kill(place);
        } else {
            directories.cells.set(cell, log.relocate(place));
        }
    }
}

#[cfg(test)]
mod tests;
