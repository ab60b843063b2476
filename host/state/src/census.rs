//! What a table over a base holds: its entries, and when those with a time to live expire.
//!
//! A log over a base sees only a part of the entries, but every write: what a write finds was looked up before.
//! So the entries are counted as they come and go, and those that expire by the time at which they do.
//!
//! # Words
//! - *calendar*: of one state, how many entries expire in which of [`PARTS`] parts of its time to live
//! - *pass*: a walk over the whole base that removes what had expired when it began
//!
//! # Invariants
//! 1. What is held is what has not expired, exactly, and what has expired and is not known to be gone. What is gone
//!    is known by number only: versions that were written over may be among it, so of what has expired too little
//!    may be held, never of what has not.
//! 2. What is said to have expired has; of the part of a life that a clock stands in nothing has yet.
//! 3. A calendar has [`MOST_PARTS`] parts at most; later ones are put into its last.

use std::collections::BTreeMap;

use model::{StateDescriptor, StateId, TtlClock};

use crate::entry::Head;
use crate::expiry::{Policies, expiry};

/// Parts of a life that are told apart.
const PARTS: u64 = 1024;
/// Records with odd times make parts of their own: no more than these.
const MOST_PARTS: usize = 4096;

/// So many entries of so many bytes of keys, entry keys and values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) entries: u64,
    pub(crate) bytes: u64,
}

impl Tally {
    fn count(&mut self, bytes: u64, add: bool) {
        if add {
            self.entries += 1;
            self.bytes += bytes;
        } else {
            self.take(Self { entries: 1, bytes });
        }
    }

    fn add(&mut self, other: Self) {
        self.entries += other.entries;
        self.bytes += other.bytes;
    }

    /// As much of this as belongs to `entries` of its entries, at most all.
    pub(crate) fn share(self, entries: u64) -> Self {
        if entries >= self.entries {
            return self;
        }
        Self { entries, bytes: self.bytes / self.entries * entries }
    }

    /// Takes `other` out, as far as it is there.
    pub(crate) fn take(&mut self, other: Self) {
        self.entries = self.entries.saturating_sub(other.entries);
        self.bytes = self.bytes.saturating_sub(other.bytes);
    }
}

/// When the entries of one state expire.
#[derive(Debug)]
struct Calendar {
    state: StateId,
    clock: TtlClock,
    width_millis: i64,
    parts: BTreeMap<i64, Tally>,
    /// What expired in parts before this one is in `expired`.
    passed: i64,
    expired: Tally,
}

impl Calendar {
    /// Counts an entry that comes or goes; whether it was not taken for gone already.
    fn count(&mut self, expiry: i64, bytes: u64, add: bool) -> bool {
        let mut part = expiry.div_euclid(self.width_millis);
        if part < self.passed {
            let was_held = add || self.expired.entries > 0;
            self.expired.count(bytes, add);
            return was_held;
        }
        if !self.parts.contains_key(&part)
            && (!add || self.parts.len() >= MOST_PARTS)
            && let Some((&last, _)) = self.parts.last_key_value()
        {
            part = last;
        }
        self.parts.entry(part).or_default().count(bytes, add);
        true
    }

    /// The first part that has not wholly expired when the clock has reached `limit`.
    fn passed_by(&self, limit: i64) -> i64 {
        limit.saturating_add(1).div_euclid(self.width_millis)
    }

    /// The clock has reached `limit`.
    fn reach(&mut self, limit: i64) {
        let passed = self.passed_by(limit);
        if passed <= self.passed {
            return;
        }
        self.passed = passed;
        while let Some(first) = self.parts.first_entry().filter(|first| *first.key() < passed) {
            self.expired.add(first.remove());
        }
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Census {
    /// Everything that is held, expired or not.
    pub(crate) held: Tally,
    calendars: Vec<Calendar>,
    /// What comes and goes is a copy.
    pub(crate) is_paused: bool,
}

impl Census {
    /// The census of an empty table.
    pub(crate) fn new(states: &[StateDescriptor]) -> Self {
        let calendar = |state: &StateDescriptor| {
            let ttl = state.ttl?;
            let width_millis = i64::try_from(ttl.millis / PARTS).unwrap_or(i64::MAX).max(1);
            let (parts, expired) = (BTreeMap::new(), Tally::default());
            Some(Calendar { state: state.id, clock: ttl.clock, width_millis, parts, passed: i64::MIN, expired })
        };
        let calendars = states.iter().filter_map(calendar).collect();
        Self { held: Tally::default(), calendars, is_paused: false }
    }

    /// The entry with `head`, which is no tombstone, comes or goes.
    pub(crate) fn count(&mut self, policies: &Policies, head: &Head, add: bool) {
        if self.is_paused {
            return;
        }
        let bytes = head.payload() as u64;
        let calendar = self.calendars.iter_mut().find(|calendar| calendar.state == head.state);
        let was_held = match (calendar, policies.get(head.state)) {
            (Some(calendar), Some(ttl)) => calendar.count(expiry(head.written, ttl), bytes, add),
            _ => true,
        };
        if was_held {
            self.held.count(bytes, add);
        }
    }

    /// What is known to have expired, with the clocks of `policies`, and is not known to be gone.
    pub(crate) fn expired(&mut self, policies: &Policies) -> Tally {
        let mut expired = Tally::default();
        for calendar in &mut self.calendars {
            calendar.reach(policies.limit(calendar.clock));
            expired.add(calendar.expired);
        }
        expired
    }

    /// As [`Self::expired`], for who only looks.
    pub(crate) fn expired_now(&self, policies: &Policies) -> Tally {
        let mut expired = Tally::default();
        for calendar in &self.calendars {
            expired.add(calendar.expired);
            let passed = calendar.passed_by(policies.limit(calendar.clock));
            calendar.parts.range(..passed).for_each(|(_, tally)| expired.add(*tally));
        }
        expired
    }

    /// The base removed `gone`, all of which had expired.
    pub(crate) fn passed(&mut self, mut gone: Tally) {
        for calendar in &mut self.calendars {
            let of_this = Tally {
                entries: gone.entries.min(calendar.expired.entries),
                bytes: gone.bytes.min(calendar.expired.bytes),
            };
            calendar.expired.take(of_this);
            gone.take(of_this);
            self.held.take(of_this);
        }
    }
}

#[cfg(test)]
mod tests;
