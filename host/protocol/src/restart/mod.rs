//! Whether a failed job is started again, and when.
//!
//! # Words
//! - *attempt*: a start after a failure; *beyond*: a checkpoint that closes a later epoch than the one in progress
//!   when the job failed: the job got past the failure
//! - *bad record*: one that the job failed at three times running
//!
//! # Invariants
//! 1. Waits grow to twice the one before, up to the longest; chance takes away at most half of one.
//! 2. Without a checkpoint beyond the failure, a job is started again as often as the option says and no more; with
//!    one, it has all its attempts again.
//! 3. What a start cannot mend is not started again: a configuration at fault, a newer owner, a bad record.
//!
//! # Absent on purpose
//! The clock and the draw: both are given.

use std::fmt;
use std::time::Duration;

use model::job::RestartSpec;
use model::{Blame, Epoch, OperatorUid, Position, Retry};

#[cfg(test)]
mod tests;

/// A record that a job failed at this many times running is a bad record.
pub const BAD_RECORD_FAILURES: u32 = 3;

/// Which record, by what stays the same over restarts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordPlace {
    /// The source.
    pub source: OperatorUid,
    /// The split, by name.
    pub split: String,
    /// Where it stands.
    pub position: Position,
}

impl fmt::Display for RecordPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` split `{}`, position {}", self.source, self.split, self.position)
    }
}

/// What a job failed with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Whose fault.
    pub blame: Blame,
    /// What helps.
    pub retry: Retry,
    /// Whether a newer owner took the job over.
    pub is_fenced: bool,
    /// The epoch in progress.
    pub epoch: Epoch,
    /// The record it failed at, where it is one.
    pub record: Option<RecordPlace>,
}

/// Why a job is not started again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GiveUp {
    /// Nothing helps until somebody changes the job or its surroundings.
    #[error("the job needs a change before it can run")]
    NeedsChange,
    /// Somebody else runs it.
    #[error("a newer process owns the job")]
    Fenced,
    /// A record fails every time.
    #[error("the job failed {BAD_RECORD_FAILURES} times running at the record of {record}: it is a bad record")]
    BadRecord {
        /// The record.
        record: RecordPlace,
    },
    /// All attempts are used up.
    #[error("the job failed again after {attempts} attempts without a checkpoint beyond the failure")]
    NoAttemptLeft {
        /// How many there were.
        attempts: u32,
    },
}

/// What follows from a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Start again after a wait.
    Restart {
        /// Which attempt it is, from 1.
        attempt: u32,
        /// How long to wait.
        wait: Duration,
    },
    /// The job stays failed.
    GiveUp(GiveUp),
}

/// The failures of a job since it got past the last of them.
#[derive(Clone, Debug)]
pub struct Restarts {
    spec: RestartSpec,
    attempts: u32,
    /// The epoch in progress at the last failure.
    failed_in: Option<Epoch>,
    /// The record of the last failure, and how often running.
    record: Option<(RecordPlace, u32)>,
}

impl Restarts {
    /// Of a job that has not failed yet.
    #[must_use]
    pub fn new(spec: RestartSpec) -> Self {
        Self { spec, attempts: 0, failed_in: None, record: None }
    }

    /// A checkpoint is complete.
    pub fn completed(&mut self, epoch: Epoch) {
        if self.failed_in.is_some_and(|failed_in| failed_in < epoch) {
            self.attempts = 0;
            self.failed_in = None;
        }
    }

    /// How often the job was started again since it got past a failure.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Decides after a failure. `draw` is a number all of whose bits are drawn: jobs that failed together do not come
    /// back together.
    #[must_use]
    pub fn after(&mut self, failure: Failure, draw: u64) -> Verdict {
        let Failure { blame, retry, is_fenced, epoch, record } = failure;
        self.failed_in = self.failed_in.max(Some(epoch));
        let times = self.count(record);
        if is_fenced {
            return Verdict::GiveUp(GiveUp::Fenced);
        }
        // What a guest did it did to a record, and the third time says whether it is the record.
        if retry == Retry::No && matches!(blame, Blame::Config | Blame::External) {
            return Verdict::GiveUp(GiveUp::NeedsChange);
        }
        if let Some((record, BAD_RECORD_FAILURES..)) = times {
            return Verdict::GiveUp(GiveUp::BadRecord { record });
        }
        if self.attempts >= self.spec.attempts {
            return Verdict::GiveUp(GiveUp::NoAttemptLeft { attempts: self.attempts });
        }
        self.attempts += 1;
        Verdict::Restart { attempt: self.attempts, wait: jittered(self.backoff(), draw) }
    }

    /// Counts failures at the same record; one at another or at none begins anew.
    fn count(&mut self, record: Option<RecordPlace>) -> Option<(RecordPlace, u32)> {
        let before = self.record.take();
        self.record = record.map(|record| {
            let times = before.filter(|(last, _)| *last == record).map_or(0, |(_, times)| times);
            (record, times + 1)
        });
        self.record.clone()
    }

    fn backoff(&self) -> Duration {
        let doublings = self.attempts.saturating_sub(1).min(31);
        self.spec.first_backoff.saturating_mul(1 << doublings).min(self.spec.most_backoff)
    }
}

/// Between half of `wait` and all of it.
fn jittered(wait: Duration, draw: u64) -> Duration {
    let half = u64::try_from(wait.as_nanos() / 2).unwrap_or(u64::MAX);
    wait.saturating_sub(Duration::from_nanos(draw % half.saturating_add(1)))
}
