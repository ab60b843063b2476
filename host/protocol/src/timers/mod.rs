//! The pending timers of one subtask for one clock: which of them fire, and in what order.
//!
//! # Words
//! - *pending*: asked for, and neither fired nor cancelled; *due*: pending, and its clock has come to its time
//! - *waiting*: pending, and not to be fired before the clock rises
//! - *follower*: a timer that was set by a timer of its own clock, for the same key
//!
//! # Invariants
//! 1. There is one timer per key and time; what fired or was cancelled is gone.
//! 2. Timers are handed out in the order of their times, those of one time in the order of their keys, in batches with
//!    at most one of each key: what one sets or cancels is known before the next of its key fires. So what a key's
//!    timers do does not depend on other keys, or on how many fire together.
//! 3. A follower that is not later than the timer that set it waits for the next rise: firing comes to an end at every
//!    time of the clock.
//! 4. After the end of the input, when every time has come, at most [`MOST_AFTER_END`] followers of a key fire; later
//!    ones stay pending. So firing comes to an end there as well. They are counted since these timers were made: after a
//!    restore the count begins anew, and what stayed pending is no follower.
//! 5. Which timers are pending depends on what was set, cancelled and fired alone: made anew from the pending ones, it
//!    hands out the same ones at the next rise.
//!
//! # Absent on purpose
//! Where timers are kept: they are entries of keyed state, of which this is the order in time. Clocks.

use std::collections::{BTreeMap, BTreeSet};

#[cfg(test)]
mod tests;

/// Most followers of one key that fire after the end of the input, per start or recovery: far more than a timeout that is put off needs, and
/// few enough that a timer which always sets the next holds nobody up.
pub const MOST_AFTER_END: u32 = 1000;

/// When everything has come.
const END: i64 = i64::MAX;

/// A timer: when, in milliseconds since 1970, and of which key.
pub type Place = (i64, Box<[u8]>);

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Timers {
    pending: BTreeSet<Place>,
    waiting: BTreeSet<Place>,
    /// How far the clock has come; `None`: nothing is known of it.
    reached: Option<i64>,
    /// Followers by key since the end of the input.
    after_end: BTreeMap<Box<[u8]>, u32>,
}

impl Timers {
    /// How many are pending.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pending.len() + self.waiting.len()
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty() && self.waiting.is_empty()
    }

    /// How far the clock has come.
    #[must_use]
    pub fn reached(&self) -> Option<i64> {
        self.reached
    }

    /// The clock has come to `to`. Whether that is a rise.
    pub fn rise(&mut self, to: i64) -> bool {
        if self.reached.is_some_and(|reached| reached >= to) {
            return false;
        }
        self.reached = Some(to);
        self.pending.append(&mut self.waiting);
        true
    }

    /// When the next timer fires; those that wait come with the next rise.
    #[must_use]
    pub fn next(&self) -> Option<i64> {
        match (self.waiting.first(), self.pending.first()) {
            (Some(_), _) => self.reached.map(|reached| reached.saturating_add(1)),
            (None, next) => next.map(|(at, _)| *at),
        }
    }

    /// Whether one is due.
    #[must_use]
    #[inline]
    pub fn has_due(&self) -> bool {
        self.reached.zip(self.pending.first()).is_some_and(|(reached, (at, _))| *at <= reached)
    }

    /// The next due ones, at most `most`. They stay pending until [`Timers::remove`].
    pub fn due(&self, most: usize) -> impl Iterator<Item = (i64, &[u8])> {
        let mut keys = BTreeSet::new();
        let reached = self.reached;
        let is_due =
            move |(at, key): &(i64, &[u8])| reached.is_some_and(|reached| *at <= reached) && keys.insert(key.to_vec());
        self.pending.iter().map(|(at, key)| (*at, &**key)).take_while(is_due).take(most)
    }

    /// Sets a timer. Whether it was not there.
    pub fn set(&mut self, key: &[u8], at: i64) -> bool {
        let place = (at, Box::from(key));
        !self.waiting.contains(&place) && self.pending.insert(place)
    }

    /// Sets a timer on behalf of one of its key that fires, at `by`. Whether it was not there.
    pub fn follow(&mut self, key: &[u8], at: i64, by: i64) -> bool {
        let place = (at, Box::from(key));
        if self.waiting.contains(&place) || self.pending.contains(&place) {
            return false;
        }
        let mut waits = at <= by;
        if !waits && self.reached == Some(END) {
            let followers = self.after_end.entry(Box::from(key)).or_default();
            waits = *followers >= MOST_AFTER_END;
            *followers = followers.saturating_add(1);
        }
        if waits { self.waiting.insert(place) } else { self.pending.insert(place) }
    }

    /// The timer fired, or is cancelled. Whether it was there.
    pub fn remove(&mut self, key: &[u8], at: i64) -> bool {
        let place = (at, Box::from(key));
        self.pending.remove(&place) || self.waiting.remove(&place)
    }
}
