//! Pending timers, and which of them are due: the rules of the engine.

use std::collections::{BTreeMap, BTreeSet};

use crate::testing::batch::Ready;
use crate::{Timer, TimerClock, Timestamp};

/// So many timers that a key's own timers set after the end of the input fire; later ones stay pending.
const MOST_AFTER_END: u32 = 1000;

/// When, and of which key.
type Place = (Timestamp, Vec<u8>);

/// The timers of one clock.
#[derive(Clone, Default, PartialEq)]
struct OfClock {
    pending: BTreeSet<Place>,
    /// Those that wait for the clock to rise.
    waiting: BTreeSet<Place>,
    until: Option<Timestamp>,
    after_end: BTreeMap<Vec<u8>, u32>,
}

/// All timers.
#[derive(Clone, Default, PartialEq)]
pub(super) struct Pending {
    event_time: OfClock,
    processing_time: OfClock,
}

impl Pending {
    fn of(&mut self, clock: TimerClock) -> &mut OfClock {
        match clock {
            TimerClock::EventTime => &mut self.event_time,
            TimerClock::ProcessingTime => &mut self.processing_time,
        }
    }

    /// The clock has come to `until`.
    pub(super) fn rise(&mut self, clock: TimerClock, until: Timestamp) {
        let of_clock = self.of(clock);
        if of_clock.until.is_none_or(|before| before < until) {
            of_clock.until = Some(until);
            let waiting = std::mem::take(&mut of_clock.waiting);
            of_clock.pending.extend(waiting);
        }
    }

    /// The next timers up to `until`, at most `most`, of each key at most one.
    pub(super) fn due(&mut self, clock: TimerClock, until: Timestamp, most: usize) -> Vec<Place> {
        let mut keys = BTreeSet::new();
        let due = self.of(clock).pending.iter().take_while(|(at, key)| *at <= until && keys.insert(key));
        due.take(most).cloned().collect()
    }

    /// A timer is set, maybe by one that fired.
    pub(super) fn set(&mut self, clock: TimerClock, key: &[u8], at: Timestamp, by: Option<Timer>) {
        let of_clock = self.of(clock);
        let place = (at, key.to_vec());
        if of_clock.waiting.contains(&place) {
            return;
        }
        let mut waits = false;
        if let Some(by) = by.filter(|by| by.clock() == clock && !of_clock.pending.contains(&place)) {
            waits = at <= by.at();
            if !waits && of_clock.until == Some(Timestamp::END) {
                let count = of_clock.after_end.entry(key.to_vec()).or_default();
                waits = *count >= MOST_AFTER_END;
                *count = count.saturating_add(1);
            }
        }
        if waits {
            of_clock.waiting.insert(place)
        } else {
            of_clock.pending.insert(place)
        };
    }

    pub(super) fn cancel(&mut self, clock: TimerClock, key: &[u8], at: Timestamp) {
        let of_clock = self.of(clock);
        let place = (at, key.to_vec());
        of_clock.pending.remove(&place);
        of_clock.waiting.remove(&place);
    }

    /// The timer fired, if it is one.
    pub(super) fn gone(&mut self, ready: &Ready) {
        if let Some(timer) = ready.timer {
            self.cancel(timer.clock(), ready.record.key.as_deref().unwrap_or_default(), timer.at());
        }
    }

    pub(super) fn of_key(&self, key: &[u8]) -> Vec<Timer> {
        let of = |clock, timers: &OfClock| {
            let mut times: Vec<_> = timers.pending.union(&timers.waiting).filter(|place| place.1 == key).collect();
            times.sort_unstable();
            times.into_iter().map(|place| Timer::new(clock, place.0)).collect::<Vec<_>>()
        };
        let mut all = of(TimerClock::EventTime, &self.event_time);
        all.extend(of(TimerClock::ProcessingTime, &self.processing_time));
        all
    }
}
