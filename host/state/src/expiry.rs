//! Time to live: when an entry expires, who still sees it, and when nobody can any more.
//!
//! # Words
//! - *expiry*: write time and time to live together, by the clock of the state; an entry is visible to looks
//!   before it
//! - *mortal*: an entry of a state with a time to live
//! - *limit*: the time of a clock that every look from now on has reached: what expired by then may be purged
//! - *lifetime*: what a segment knows of the expiries of its mortals, so that nobody has to read it to learn
//!   that nothing in it has expired
//!
//! # Invariants
//! 1. A lifetime's `mortals` is exact; `first` is not above, `last` not below the expiry of any of them.
//! 2. A limit never falls.
//!
//! # Absent on purpose
//! Clocks: event time comes with looks and watermarks, the host's with looks and writes.
#![expect(clippy::indexing_slicing, reason = "there are as many clocks as places for them")]

use contract::SlotKeys;
use model::{EventTime, HostTime, Refresh, StateDescriptor, StateId, Ttl, TtlClock};

use crate::entry::Head;

/// How many clocks there are.
const CLOCKS: usize = 2;

/// A segment is swept at most so often while as much time passes as its shortest-lived entries live: what
/// expires little by little is purged in portions, and a sweep costs a fraction of having written the segment.
const SWEEPS_PER_LIFE: u64 = 16;

#[inline]
fn number(clock: TtlClock) -> usize {
    match clock {
        TtlClock::EventTime => 0,
        TtlClock::ProcessingTime => 1,
    }
}

/// The policies of a table, and how far its clocks are.
#[derive(Debug)]
pub(crate) struct Policies {
    of: Vec<(StateId, Ttl)>,
    limits: [i64; CLOCKS],
    /// How long a segment rests after a sweep, in milliseconds, by clock.
    rests: [u64; CLOCKS],
}

impl Policies {
    pub(crate) fn new(states: &[StateDescriptor]) -> Self {
        let of: Vec<_> = states.iter().filter_map(|state| Some((state.id, state.ttl?))).collect();
        let rest = |clock| {
            let lives = of.iter().filter(|(_, ttl)| number(ttl.clock) == clock).map(|(_, ttl)| ttl.millis);
            lives.min().unwrap_or_default() / SWEEPS_PER_LIFE
        };
        Self { limits: [i64::MIN; CLOCKS], rests: [rest(0), rest(1)], of }
    }

    /// Whether nothing ever expires.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// The policy of `state`.
    #[inline]
    pub(crate) fn get(&self, state: StateId) -> Option<Ttl> {
        self.of.iter().find(|policy| policy.0 == state).map(|policy| policy.1)
    }

    /// The states that expire by event time.
    pub(crate) fn by_event_time(&self) -> impl Iterator<Item = (StateId, Ttl)> + '_ {
        self.of.iter().copied().filter(|(_, ttl)| ttl.clock == TtlClock::EventTime)
    }

    /// The host's clock says `now`.
    #[inline]
    pub(crate) fn note_now(&mut self, now: HostTime) {
        let limit = &mut self.limits[number(TtlClock::ProcessingTime)];
        *limit = (*limit).max(now.0);
    }

    /// No look by event time comes from before `watermark` any more.
    pub(crate) fn note_watermark(&mut self, watermark: EventTime) {
        let limit = &mut self.limits[number(TtlClock::EventTime)];
        *limit = (*limit).max(watermark.0);
    }

    /// The time that every look by `clock` has reached.
    pub(crate) fn limit(&self, clock: TtlClock) -> i64 {
        self.limits[number(clock)]
    }

    /// The clock that decides over an entry, and its expiry; `None` for one that lives until it is deleted.
    #[inline]
    fn expiry_of(&self, head: &Head) -> Option<(usize, i64)> {
        let ttl = self.get(head.state)?;
        Some((number(ttl.clock), expiry(head.written, ttl)))
    }

    /// Whether nobody who looks from now on can see the entry.
    #[inline]
    pub(crate) fn is_purgeable(&self, head: &Head) -> bool {
        self.expiry_of(head).is_some_and(|(clock, expiry)| expiry <= self.limits[clock])
    }

    /// Whether a sweep is due of what first expires at `due`, by clock.
    #[inline]
    pub(crate) fn is_reached(&self, due: [i64; CLOCKS]) -> bool {
        due[0] <= self.limits[0] || due[1] <= self.limits[1]
    }
}

/// When an entry that was written at `written` expires.
#[inline]
pub(crate) fn expiry(written: HostTime, ttl: Ttl) -> i64 {
    written.0.saturating_add_unsigned(ttl.millis)
}

/// How the rows of a batch look at one state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look<'a> {
    ttl: Ttl,
    slots: &'a SlotKeys,
}

impl<'a> Look<'a> {
    pub(crate) fn new(ttl: Ttl, slots: &'a SlotKeys) -> Self {
        Self { ttl, slots }
    }

    /// When slot `slot` looks. Where no event times were given nothing has expired.
    #[inline]
    fn time(&self, slot: usize) -> i64 {
        match self.ttl.clock {
            TtlClock::EventTime => self.slots.looks.latest.get(slot).map_or(i64::MIN, |latest| latest.0),
            TtlClock::ProcessingTime => self.slots.looks.now.0,
        }
    }

    /// Whether slot `slot` sees what was written at `written`.
    #[inline]
    pub(crate) fn sees(&self, slot: usize, written: HostTime) -> bool {
        self.time(slot) < expiry(written, self.ttl)
    }

    /// The write time of what slot `slot` writes: as `named` says, or when its last row looks.
    #[inline]
    pub(crate) fn write_time(&self, slot: usize, named: Option<EventTime>, now: HostTime) -> HostTime {
        match self.ttl.clock {
            TtlClock::ProcessingTime => now,
            TtlClock::EventTime => {
                let latest = || self.slots.looks.latest.get(slot).copied();
                named.or_else(latest).map_or(now, |time| HostTime(time.0))
            }
        }
    }

    /// The write time of what slot `slot` writes at `at` over the entry with `old`.
    #[inline]
    pub(crate) fn refreshed(&self, slot: usize, old: &Head, at: HostTime) -> HostTime {
        if old.is_tombstone() || !self.sees(slot, old.written) {
            return at;
        }
        match self.ttl.refresh {
            Refresh::OnCreate => old.written,
            Refresh::OnWrite | Refresh::OnRead => old.written.max(at),
        }
    }
}

/// What a segment knows of its mortals by one clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lifetime {
    mortals: usize,
    first: i64,
    last: i64,
    /// It is not swept before.
    rests_until: i64,
}

/// What a segment knows of its mortals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lifetimes([Lifetime; CLOCKS]);

impl Default for Lifetimes {
    fn default() -> Self {
        Self([Lifetime { mortals: 0, first: i64::MAX, last: i64::MIN, rests_until: i64::MIN }; CLOCKS])
    }
}

impl Lifetimes {
    /// The segment has, or no longer has, the live entry with `head`.
    pub(crate) fn count(&mut self, policies: &Policies, head: &Head, add: bool) {
        let Some((clock, expiry)) = policies.expiry_of(head) else { return };
        let lifetime = &mut self.0[clock];
        if add {
            lifetime.mortals += 1;
            lifetime.first = lifetime.first.min(expiry);
            lifetime.last = lifetime.last.max(expiry);
            return;
        }
        lifetime.mortals -= 1;
        if lifetime.mortals == 0 {
            (lifetime.first, lifetime.last) = (i64::MAX, i64::MIN);
        }
    }

    /// A sweep begins: what it meets and leaves, and what is added meanwhile, is noted anew.
    pub(crate) fn begin_sweep(&mut self, policies: &Policies) {
        for (clock, lifetime) in self.0.iter_mut().enumerate() {
            lifetime.first = i64::MAX;
            let limit = policies.limits[clock];
            if limit > i64::MIN {
                lifetime.rests_until = limit.saturating_add_unsigned(policies.rests[clock].max(1));
            }
        }
    }

    /// A sweep leaves the entry with `head`.
    pub(crate) fn note_left(&mut self, policies: &Policies, head: &Head) {
        let Some((clock, expiry)) = policies.expiry_of(head) else { return };
        let lifetime = &mut self.0[clock];
        lifetime.first = lifetime.first.min(expiry);
    }

    /// When the segment is to be swept, by clock.
    pub(crate) fn due(&self) -> [i64; CLOCKS] {
        self.0.map(|lifetime| lifetime.first.max(lifetime.rests_until))
    }

    /// How many entries are known to have expired: all of a segment in which nothing mortal lives on.
    pub(crate) fn known_expired(&self, policies: &Policies) -> usize {
        let all_expired = |&(clock, lifetime): &(usize, &Lifetime)| lifetime.last <= policies.limits[clock];
        self.0.iter().enumerate().filter(all_expired).map(|(_, lifetime)| lifetime.mortals).sum()
    }

    /// How many mortals there are.
    #[cfg(test)]
    pub(crate) fn mortals(&self) -> usize {
        self.0.iter().map(|lifetime| lifetime.mortals).sum()
    }

    /// Whether the entry with `head` lies between first and last.
    #[cfg(test)]
    pub(crate) fn spans(&self, policies: &Policies, head: &Head) -> bool {
        let Some((clock, expiry)) = policies.expiry_of(head) else { return true };
        (self.0[clock].first..=self.0[clock].last).contains(&expiry)
    }
}

/// The earlier of each.
#[inline]
pub(crate) fn earlier(one: [i64; CLOCKS], other: [i64; CLOCKS]) -> [i64; CLOCKS] {
    [one[0].min(other[0]), one[1].min(other[1])]
}

/// Never.
pub(crate) const NEVER: [i64; CLOCKS] = [i64::MAX; CLOCKS];

#[cfg(test)]
mod tests;
