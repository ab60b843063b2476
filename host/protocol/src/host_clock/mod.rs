//! The host's clock, as expiry by processing time sees it.
//!
//! A machine's clock is set back and forth: by hand, by time servers, by a machine that slept. State that expired
//! must not come back, and state must not expire because a clock was wrong for a moment. So the clock of a job never
//! falls, and follows a jump ahead only after it has lasted.
//!
//! # Words
//! - *wall*: the machine's clock, which may be set; *steady*: a clock that only runs, from any beginning
//! - *jump*: the wall is further ahead than the limit of where the steady clock says it should be
//!
//! # Invariants
//! 1. Readings never fall, and are never below the floor: the clock of the checkpoint that was restored.
//! 2. A reading is never ahead of the floor and of every wall read so far.
//! 3. After a jump readings go on by the steady clock until the wall has stayed there for longer than the limit.
//! 4. Without a jump the reading is the wall, or the last reading where the wall is behind that.
//!
//! # Absent on purpose
//! Judging the first wall that is read: how long the job was down cannot be known otherwise.

use std::time::Duration;

use model::HostTime;

#[cfg(test)]
mod tests;

/// The limit where nothing else is said: above what time servers set in one step, below what anyone sets as a time to
/// live and would want kept exactly.
pub const DEFAULT_JUMP_LIMIT: Duration = Duration::from_secs(300);

/// What is wrong with the machine's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alarm {
    /// It jumped ahead by this much, and is not followed yet.
    Ahead(Duration),
    /// It is behind by this much, and the clock of the job stands still.
    Behind(Duration),
}

/// A jump that has not lasted long enough.
#[derive(Clone, Copy, Debug)]
struct Jump {
    wall: HostTime,
    since: Duration,
}

/// A clock that never falls.
#[derive(Clone, Debug)]
pub struct HostClock {
    limit: Duration,
    last: HostTime,
    /// The last wall that was believed, and the steady clock then.
    believed: Option<(HostTime, Duration)>,
    jump: Option<Jump>,
    alarm: Option<Alarm>,
}

impl HostClock {
    /// A clock that was restored to `floor`.
    #[must_use]
    pub fn new(floor: HostTime, limit: Duration) -> Self {
        Self { limit, last: floor, believed: None, jump: None, alarm: None }
    }

    /// The time, from both clocks of the machine. `steady` never falls.
    pub fn read(&mut self, wall: HostTime, steady: Duration) -> HostTime {
        let Some(believed) = self.believed else { return self.believe(wall, steady) };
        let expected = later(believed.0, steady.saturating_sub(believed.1));
        let ahead = distance(expected.max(self.last), wall);
        if ahead <= self.limit {
            return self.believe(wall, steady);
        }
        let jump = *self.jump.get_or_insert(Jump { wall, since: steady });
        let lasted = steady.saturating_sub(jump.since);
        let there = later(jump.wall, lasted);
        if distance(there, wall).max(distance(wall, there)) > self.limit {
            // It jumped again: what it says now has not lasted at all.
            self.jump = Some(Jump { wall, since: steady });
        } else if lasted > self.limit {
            return self.believe(wall, steady);
        }
        self.alarm = Some(Alarm::Ahead(ahead));
        self.last = self.last.max(expected);
        self.last
    }

    /// The last reading: what a manifest notes.
    #[must_use]
    pub fn last(&self) -> HostTime {
        self.last
    }

    /// What was wrong at the last reading.
    #[must_use]
    pub fn alarm(&self) -> Option<Alarm> {
        self.alarm
    }

    fn believe(&mut self, wall: HostTime, steady: Duration) -> HostTime {
        let behind = distance(wall, self.last);
        self.alarm = (!behind.is_zero()).then_some(Alarm::Behind(behind));
        self.jump = None;
        self.believed = Some((wall, steady));
        self.last = self.last.max(wall);
        self.last
    }
}

fn later(time: HostTime, by: Duration) -> HostTime {
    HostTime(time.0.saturating_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)))
}

/// How far `to` is ahead of `from`; nothing if it is behind.
fn distance(from: HostTime, to: HostTime) -> Duration {
    Duration::from_millis(if from < to { from.0.abs_diff(to.0) } else { 0 })
}
