use std::time::Duration;

use proptest::prelude::*;

use model::job::RestartSpec;
use model::{Blame, Epoch, Position, Retry};

use crate::manifest::samples::uid;

use super::{BAD_RECORD_FAILURES, Failure, GiveUp, RecordPlace, Restarts, Verdict};

fn spec(attempts: u32) -> RestartSpec {
    RestartSpec { attempts, first_backoff: Duration::from_secs(1), most_backoff: Duration::from_secs(60) }
}

fn failure(epoch: u64) -> Failure {
    let (blame, retry) = (Blame::External, Retry::RestoreFirst);
    Failure { blame, retry, is_fenced: false, epoch: Epoch(epoch), record: None }
}

fn at(position: u64) -> Failure {
    let record = RecordPlace { source: uid("orders"), split: "a.json".to_owned(), position: Position(position) };
    Failure { blame: Blame::Guest, retry: Retry::No, record: Some(record), ..failure(3) }
}

fn is_restart(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Restart { .. })
}

#[test]
fn waits_double_up_to_the_longest() {
    let mut restarts = Restarts::new(spec(9));
    let waits: Vec<u64> = (0..9)
        .map(|_| match restarts.after(failure(3), 0) {
            Verdict::Restart { wait, .. } => wait.as_secs(),
            Verdict::GiveUp(why) => panic!("{why}"),
        })
        .collect();
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    assert_eq!(restarts.after(failure(3), 0), Verdict::GiveUp(GiveUp::NoAttemptLeft { attempts: 9 }));
}

#[test]
fn a_checkpoint_beyond_the_failure_gives_all_attempts_back() {
    let mut restarts = Restarts::new(spec(2));
    for round in 0..5 {
        let epoch = round * 10 + 3;
        assert!(is_restart(&restarts.after(failure(epoch), 0)));
        assert!(is_restart(&restarts.after(failure(epoch), 0)));
        restarts.completed(Epoch(epoch));
        assert_eq!(restarts.attempts(), 2, "the epoch that failed is not beyond it");
        restarts.completed(Epoch(epoch + 1));
        assert_eq!(restarts.attempts(), 0);
    }
}

#[test]
fn a_failure_further_back_does_not_lower_what_lies_beyond() {
    let mut restarts = Restarts::new(spec(3));
    assert!(is_restart(&restarts.after(failure(9), 0)));
    assert!(is_restart(&restarts.after(failure(4), 0)));
    restarts.completed(Epoch(5));
    assert_eq!(restarts.attempts(), 2);
}

#[test]
fn what_a_start_cannot_mend_is_not_started_again() {
    let config = Failure { blame: Blame::Config, retry: Retry::No, ..failure(1) };
    assert_eq!(Restarts::new(spec(9)).after(config, 0), Verdict::GiveUp(GiveUp::NeedsChange));
    let fenced = Failure { is_fenced: true, ..failure(1) };
    assert_eq!(Restarts::new(spec(9)).after(fenced, 0), Verdict::GiveUp(GiveUp::Fenced));
    let later = Failure { blame: Blame::Config, retry: Retry::Backoff, ..failure(1) };
    assert!(is_restart(&Restarts::new(spec(9)).after(later, 0)));
    assert!(matches!(Restarts::new(spec(0)).after(failure(1), 0), Verdict::GiveUp(GiveUp::NoAttemptLeft { .. })));
}

#[test]
fn a_record_that_fails_three_times_running_is_bad() {
    let mut restarts = Restarts::new(spec(9));
    assert!(is_restart(&restarts.after(at(17), 0)));
    assert!(is_restart(&restarts.after(at(17), 0)));
    let Verdict::GiveUp(why) = restarts.after(at(17), 0) else { panic!("it is bad") };
    assert_eq!(
        why.to_string(),
        "the job failed 3 times running at the record of `orders` split `a.json`, position 17: it is a bad record"
    );
}

#[test]
fn another_failure_in_between_begins_anew() {
    for other in [at(18), failure(3)] {
        let mut restarts = Restarts::new(spec(9));
        for failure in [at(17), at(17), other, at(17), at(17)] {
            assert!(is_restart(&restarts.after(failure, 0)));
        }
        assert!(!is_restart(&restarts.after(at(17), 0)));
    }
}

#[test]
fn a_checkpoint_does_not_make_a_bad_record_good() {
    let mut restarts = Restarts::new(spec(9));
    for _ in 0..BAD_RECORD_FAILURES - 1 {
        assert!(is_restart(&restarts.after(at(17), 0)));
        restarts.completed(Epoch(100));
    }
    assert!(!is_restart(&restarts.after(at(17), 0)));
}

proptest! {
    #[test]
    fn chance_takes_away_at_most_half(draws in prop::collection::vec(any::<u64>(), 1..40)) {
        let mut restarts = Restarts::new(spec(u32::MAX));
        for (before, draw) in draws.into_iter().enumerate() {
            let full = Duration::from_secs(60.min(1u64.checked_shl(u32::try_from(before).unwrap()).unwrap_or(60)));
            let Verdict::Restart { attempt, wait } = restarts.after(failure(1), draw) else { panic!("unlimited") };
            prop_assert_eq!(attempt as usize, before + 1);
            prop_assert!(wait <= full && wait >= full / 2, "{:?} of {:?}", wait, full);
        }
    }

    #[test]
    fn a_job_that_never_gets_past_its_failure_is_started_as_often_as_told(
        attempts in 0u32..20,
        epochs in prop::collection::vec((1u64..50, 1u64..50), 30),
    ) {
        let mut restarts = Restarts::new(spec(attempts));
        let mut started = 0;
        let mut worst = 0;
        for (failed_in, completed) in epochs {
            worst = worst.max(failed_in);
            started += u32::from(is_restart(&restarts.after(failure(failed_in), 0)));
            restarts.completed(Epoch(completed.min(worst)));
        }
        prop_assert_eq!(started, attempts.min(30));
    }
}

#[test]
fn what_nothing_helps_is_not_tried_again() {
    for blame in [Blame::Config, Blame::External] {
        let hopeless = Failure { blame, retry: Retry::No, ..failure(3) };
        assert_eq!(Restarts::new(spec(9)).after(hopeless, 0), Verdict::GiveUp(GiveUp::NeedsChange), "{blame:?}");
    }
    let of_ours = Failure { blame: Blame::Host, retry: Retry::No, ..failure(3) };
    assert!(is_restart(&Restarts::new(spec(9)).after(of_ours, 0)), "a fault of the engine may not come again");
}
