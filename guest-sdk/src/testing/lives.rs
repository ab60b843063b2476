//! Time to live, as the engine keeps it.
//!
//! # Invariants
//! 1. All rows of a key in a batch see the same: a batch ends before the first record that sees otherwise.

use std::collections::BTreeMap;

use crate::Timestamp;
use crate::bindings::types::{Clock, Column, Descriptor, Refresh, Ttl};
use crate::testing::batch::{Clocks, Ready};
use crate::testing::store::Store;

/// When an entry that was written at `written` expires.
fn expiry(written: i64, ttl: Ttl) -> i64 {
    written.saturating_add_unsigned(ttl.millis)
}

/// The event time of a record, the smallest where it has none.
pub(super) fn time(ready: &Ready) -> i64 {
    ready.record.event_time.map_or(Timestamp::UNKNOWN, Timestamp::millis)
}

/// When the records of a batch look.
#[derive(Clone)]
pub(super) struct Looks {
    /// The latest event time of the rows of each slot.
    latest: Vec<i64>,
    now: i64,
}

impl Looks {
    /// The looks of the rows with these slots.
    pub(super) fn new(records: &[Ready], slots: &[u32], keys: &Column, clocks: Clocks) -> Self {
        let mut latest = vec![Timestamp::UNKNOWN; keys.len()];
        for (ready, &slot) in records.iter().zip(slots) {
            let latest = latest.get_mut(slot as usize).expect("the batch was just made");
            *latest = time(ready).max(*latest);
        }
        Self { latest, now: clocks.now.millis() }
    }

    fn time(&self, clock: Clock, slot: u32) -> i64 {
        match clock {
            Clock::EventTime => self.latest.get(slot as usize).copied().unwrap_or(Timestamp::UNKNOWN),
            Clock::ProcessingTime => self.now,
        }
    }

    /// Whether the rows of `slot` see what was written at `written`.
    pub(super) fn sees(&self, ttl: Option<Ttl>, slot: u32, written: i64) -> bool {
        ttl.is_none_or(|ttl| self.time(ttl.clock, slot) < expiry(written, ttl))
    }

    /// The write time of what a row wrote for `slot`, over an entry of `old`.
    pub(super) fn write_time(&self, ttl: Option<Ttl>, slot: u32, row: Option<i64>, old: Option<i64>) -> i64 {
        let Some(policy) = ttl else { return 0 };
        let at = match policy.clock {
            Clock::EventTime => row.unwrap_or_else(|| self.time(policy.clock, slot)),
            Clock::ProcessingTime => self.now,
        };
        match old.filter(|&old| self.sees(ttl, slot, old)) {
            None => at,
            Some(old) if policy.refresh == Refresh::OnCreate => old,
            Some(old) => old.max(at),
        }
    }
}

/// How many of `records`, from the first, see the same: at least one.
pub(super) fn same_sight(records: &[Ready], descriptor: &Descriptor, store: &Store) -> usize {
    struct Seen {
        earliest: i64,
        latest: i64,
        expiries: Vec<i64>,
    }
    let dated = |ttl: &Ttl| ttl.clock == Clock::EventTime;
    let ttls: Vec<_> =
        descriptor.states.iter().filter_map(|state| Some((state.id, state.ttl.filter(dated)?))).collect();
    if ttls.is_empty() {
        return records.len();
    }
    let mut keys: BTreeMap<&[u8], Seen> = BTreeMap::new();
    let mut looks = records.iter().map(|ready| (ready.record.key.as_deref().unwrap_or_default(), time(ready)));
    let sees_otherwise = |(key, time)| {
        let seen = keys.entry(key).or_insert_with(|| {
            let of_state = |&(state, ttl)| store.write_times(state, key).map(move |written| expiry(written, ttl));
            Seen { earliest: time, latest: time, expiries: ttls.iter().flat_map(of_state).collect() }
        });
        seen.earliest = seen.earliest.min(time);
        seen.latest = seen.latest.max(time);
        let of_writes = ttls.iter().map(|&(_, ttl)| expiry(seen.earliest, ttl));
        seen.expiries.iter().copied().chain(of_writes).any(|at| seen.earliest < at && at <= seen.latest)
    };
    let first = looks.position(sees_otherwise);
    first.unwrap_or(records.len())
}
