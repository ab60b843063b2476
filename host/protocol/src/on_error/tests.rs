use model::job::OnError;

use super::{Fate, fate};

#[test]
fn a_record_is_never_dropped_unless_the_job_says_skip() {
    for policy in [OnError::Fail, OnError::DeadLetter] {
        for has_dead_letters in [false, true] {
            assert_ne!(fate(policy, has_dead_letters), Fate::Skip);
        }
    }
    assert_eq!(fate(OnError::Skip, true), Fate::Skip);
}

#[test]
fn dead_letters_without_a_place_for_them_fail_the_job() {
    assert_eq!(fate(OnError::DeadLetter, false), Fate::Fail);
    assert_eq!(fate(OnError::DeadLetter, true), Fate::DeadLetter);
}

#[test]
fn the_default_keeps_bad_records_where_it_can() {
    assert_eq!(fate(OnError::default_of(true), true), Fate::DeadLetter);
    assert_eq!(fate(OnError::default_of(false), false), Fate::Fail);
}
