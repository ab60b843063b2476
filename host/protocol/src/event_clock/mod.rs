//! How far event time has come in the splits of a source subtask.
//!
//! # Words
//! - *greatest*: the greatest event time seen in a split that counted; *ahead*: further ahead of the host's clock
//!   than the option allows; it does not count
//!
//! # Invariants
//! 1. The watermark never falls.
//! 2. As long as every split keeps to the order that was promised, no record is behind the watermark.
//! 3. A record that is ahead moves nothing, and is counted.
//! 4. A split that brought no event time yet holds the watermark back; one that has ended does not as long as
//!    another one goes on.
//!
//! # Absent on purpose
//! Idleness by time: a split that is quiet and has not ended holds back.

use std::collections::BTreeMap;

use model::job::WatermarkSpec;
use model::{EventTime, HostTime, SplitIndex};

#[cfg(test)]
mod tests;

#[derive(Clone, Copy, Debug)]
struct Split {
    greatest: EventTime,
    ended: bool,
}

/// The event clock of a source subtask.
#[derive(Clone, Debug)]
pub struct EventClock {
    out_of_orderness_millis: i64,
    ahead_millis: i64,
    splits: BTreeMap<SplitIndex, Split>,
    watermark: EventTime,
    ahead: u64,
}

impl EventClock {
    /// Of a subtask without splits.
    #[must_use]
    pub fn new(spec: &WatermarkSpec) -> Self {
        let millis = |duration: std::time::Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Self {
            out_of_orderness_millis: millis(spec.max_out_of_orderness),
            ahead_millis: millis(spec.max_ahead),
            splits: BTreeMap::new(),
            watermark: EventTime::UNKNOWN,
            ahead: 0,
        }
    }

    /// Adds a split whose greatest event time was noted before; [`EventTime::UNKNOWN`] for a new one.
    pub fn add(&mut self, split: SplitIndex, greatest: EventTime) {
        self.splits.insert(split, Split { greatest, ended: false });
    }

    /// Notes the event times of records of `split`; the split goes on, even if it was at its end.
    pub fn observe(&mut self, split: SplitIndex, times: &[EventTime], now: HostTime) {
        let most = EventTime(now.0.saturating_add(self.ahead_millis));
        let mut greatest = EventTime::UNKNOWN;
        for time in times {
            if *time > most {
                self.ahead += 1;
            } else {
                greatest = greatest.max(*time);
            }
        }
        let split = self.splits.entry(split).or_insert(Split { greatest, ended: false });
        split.greatest = split.greatest.max(greatest);
        split.ended = false;
    }

    /// A split has no more records now.
    pub fn end(&mut self, split: SplitIndex) {
        if let Some(split) = self.splits.get_mut(&split) {
            split.ended = true;
        }
    }

    /// What counted as the greatest event time of a split: what a manifest notes.
    #[must_use]
    pub fn greatest(&self, split: SplitIndex) -> EventTime {
        self.splits.get(&split).map_or(EventTime::UNKNOWN, |split| split.greatest)
    }

    /// No earlier event time is expected: the least over the splits of their greatest, less what may come out of order.
    /// [`EventTime::UNKNOWN`] where nothing is known.
    pub fn watermark(&mut self) -> EventTime {
        let going_on = || self.splits.values().filter(|split| !split.ended);
        let least = match going_on().map(|split| split.greatest).min() {
            Some(least) => Some(least),
            None => self.splits.values().map(|split| split.greatest).min(),
        };
        if let Some(least) = least.filter(|least| *least != EventTime::UNKNOWN) {
            let held_back = EventTime(least.0.saturating_sub(self.out_of_orderness_millis));
            self.watermark = self.watermark.max(held_back);
        }
        self.watermark
    }

    /// How many records were too far ahead of the host's clock.
    #[must_use]
    pub fn ahead(&self) -> u64 {
        self.ahead
    }
}
