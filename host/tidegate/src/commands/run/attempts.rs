//! Whether a job that failed is started again, and when. Pure.
//!
//! # Invariants
//! 1. Waits double from the first to the longest one, and are drawn from half of that to all of it.
//! 2. A checkpoint that is complete beyond the last one before the failure sets the count back.
//! 3. What starting again cannot mend, a wrong job file or a newer owner, is not tried again.
//! 4. A record that fails three times running is a bad record: no more attempts, however many are left.

use std::time::Duration;

use model::job::RestartSpec;
use model::{Blame, Epoch, Retry};

/// How often one record may fail before it is a bad one.
const SAME_RECORD: u32 = 3;

/// A failure, as far as it counts here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failed {
    pub(super) blame: Blame,
    pub(super) retry: Retry,
    /// The record it happened at, by its place.
    pub(super) record: Option<String>,
    /// The last checkpoint that is complete.
    pub(super) completed: Option<Epoch>,
}

/// What is done now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The job is started again after a wait.
    Again { attempt: u32, wait: Duration },
    /// It stays failed; what to add to what is said of the failure.
    Stay(Option<String>),
}

/// The failures so far.
#[derive(Clone, Debug)]
pub(super) struct Attempts {
    spec: RestartSpec,
    made: u32,
    completed: Option<Epoch>,
    record: Option<(String, u32)>,
}

impl Attempts {
    pub(super) fn new(spec: RestartSpec, completed: Option<Epoch>) -> Self {
        Self { spec, made: 0, completed, record: None }
    }

    /// Decides about a failure; `drawn` is a random number.
    pub(super) fn after(&mut self, failed: &Failed, drawn: u64) -> Next {
        if failed.completed > self.completed {
            (self.completed, self.made) = (failed.completed, 0);
        }
        if let Some(times) = self.times(failed.record.as_deref())
            && times >= SAME_RECORD
        {
            return Next::Stay(Some(format!(
                "the same record failed {times} times running: it is a bad record, and starting again does not help; \
                 `on_error: skip` or `on_error: dead-letter` of the function lets the job pass it"
            )));
        }
        if failed.retry == Retry::No && matches!(failed.blame, Blame::Config | Blame::External) {
            return Next::Stay(None);
        }
        if self.made >= self.spec.attempts {
            let said = (self.made > 0).then(|| format!("it was started again {} times: `restart.attempts`", self.made));
            return Next::Stay(said);
        }
        self.made += 1;
        Next::Again { attempt: self.made, wait: self.wait(drawn) }
    }

    /// How often this record failed in a row, this time included.
    fn times(&mut self, record: Option<&str>) -> Option<u32> {
        let times = match (record, &self.record) {
            (Some(record), Some((last, times))) if record == last => times + 1,
            (Some(_), _) => 1,
            (None, _) => 0,
        };
        self.record = record.map(|record| (record.to_owned(), times));
        record.map(|_| times)
    }

    fn wait(&self, drawn: u64) -> Duration {
        let doubled = self.spec.first_backoff.saturating_mul(1_u32.checked_shl(self.made - 1).unwrap_or(u32::MAX));
        let longest = doubled.min(self.spec.most_backoff);
        let parts = u32::try_from(drawn % 1024).unwrap_or_default();
        longest / 2 + longest / 2 * parts / 1024
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempts(attempts: u32) -> Attempts {
        let (first_backoff, most_backoff) = (Duration::from_secs(1), Duration::from_secs(6));
        Attempts::new(RestartSpec { attempts, first_backoff, most_backoff }, None)
    }

    fn failed(record: Option<&str>, completed: u64) -> Failed {
        let completed = (completed > 0).then_some(Epoch(completed));
        Failed { blame: Blame::Guest, retry: Retry::RestoreFirst, record: record.map(str::to_owned), completed }
    }

    fn wait(next: Next) -> u128 {
        match next {
            Next::Again { wait, .. } => wait.as_millis(),
            Next::Stay(why) => panic!("it stays failed: {why:?}"),
        }
    }

    #[test]
    fn waits_double_up_to_the_longest() {
        let mut attempts = attempts(40);
        let waits: Vec<u128> = (0..40).map(|_| wait(attempts.after(&failed(None, 0), 0))).collect();
        assert_eq!(waits[..5], [500, 1000, 2000, 3000, 3000]);
        assert!(waits.iter().all(|wait| *wait <= 6000));
    }

    #[test]
    fn a_wait_lies_between_half_and_all() {
        for drawn in [0, 1, 511, 1023, u64::MAX] {
            let millis = wait(attempts(1).after(&failed(None, 0), drawn));
            assert!((500..=1000).contains(&millis), "{drawn}: {millis}");
        }
    }

    #[test]
    fn the_last_attempt_is_the_last() {
        let mut attempts = attempts(2);
        for _ in 0..2 {
            wait(attempts.after(&failed(None, 0), 0));
        }
        let Next::Stay(Some(why)) = attempts.after(&failed(None, 0), 0) else { panic!("a third attempt") };
        assert!(why.contains("2 times"), "{why}");
    }

    #[test]
    fn progress_sets_the_count_back_and_standing_still_does_not() {
        let mut attempts = attempts(1);
        assert_eq!(wait(attempts.after(&failed(None, 1), 0)), 500);
        assert_eq!(wait(attempts.after(&failed(None, 2), 0)), 500);
        assert!(matches!(attempts.after(&failed(None, 2), 0), Next::Stay(_)));
    }

    #[test]
    fn one_record_that_fails_three_times_running_is_bad() {
        let mut attempts = attempts(100);
        wait(attempts.after(&failed(Some("a:1"), 1), 0));
        wait(attempts.after(&failed(Some("a:2"), 2), 0));
        wait(attempts.after(&failed(Some("a:2"), 3), 0));
        let Next::Stay(Some(why)) = attempts.after(&failed(Some("a:2"), 4), 0) else { panic!("again") };
        assert!(why.contains("bad record"), "{why}");
    }

    #[test]
    fn what_cannot_be_mended_is_not_tried_again() {
        for blame in [Blame::Config, Blame::External] {
            let refused = Failed { blame, retry: Retry::No, ..failed(None, 0) };
            assert_eq!(attempts(5).after(&refused, 0), Next::Stay(None));
        }
    }
}
