use std::collections::BTreeSet;
use std::ops::Range;

use proptest::prelude::*;

use super::{Course, Outcome, Pace, Search, Step, attempts_bound};

/// What a search did.
#[derive(Debug, Default)]
struct Run {
    attempts: Vec<(Range<u32>, bool, bool)>,
    applied: Vec<u32>,
    condemned: Vec<u32>,
    settled: Vec<u32>,
}

/// Drives a search over rows of which `bad` fail, with hints from `hint`.
fn run(rows: u32, bad: &BTreeSet<u32>, mut hint: impl FnMut(&Range<u32>) -> Option<u32>, recycle_every: u32) -> Run {
    let mut search = Search::new(rows);
    let mut run = Run::default();
    let mut is_fresh = false;
    let mut attempt = 0;
    loop {
        match search.next() {
            Step::Done => return run,
            Step::Condemn { row } => {
                let last = run.attempts.last().expect("a row is tried before it is condemned");
                assert_eq!(last, &(row..row + 1, true, false), "condemned {row} after {last:?}");
                run.condemned.push(row);
                run.settled.push(row);
            }
            Step::Try { rows, fresh } => {
                assert!(rows.start < rows.end);
                is_fresh |= fresh;
                attempt += 1;
                is_fresh |= attempt % recycle_every == 0;
                let fails = bad.range(rows.clone()).next().is_some();
                run.attempts.push((rows.clone(), is_fresh, !fails));
                if fails {
                    search.report(Outcome::Failed { hint: hint(&rows), fresh: is_fresh });
                } else {
                    run.applied.extend(rows.clone());
                    run.settled.extend(rows);
                    search.report(Outcome::Applied);
                }
                is_fresh = false;
            }
        }
    }
}

fn batches() -> impl Strategy<Value = (u32, BTreeSet<u32>)> {
    (1u32..5000).prop_flat_map(|rows| (Just(rows), prop::collection::btree_set(0..rows, 0..12)))
}

fn check(rows: u32, bad: &BTreeSet<u32>, run: &Run) {
    assert_eq!(run.settled, (0..rows).collect::<Vec<_>>(), "every row once, in order");
    assert_eq!(run.condemned, bad.iter().copied().collect::<Vec<_>>(), "exactly the bad rows");
    let bound = attempts_bound(rows, u32::try_from(bad.len()).unwrap());
    assert!(run.attempts.len() <= bound as usize, "{} attempts, at most {bound}", run.attempts.len());
}

proptest! {
    #[test]
    fn every_row_is_applied_once_in_order_or_condemned((rows, bad) in batches(), recycle in 1u32..9) {
        check(rows, &bad, &run(rows, &bad, |_| None, recycle));
    }

    #[test]
    fn true_hints_find_the_same_rows((rows, bad) in batches()) {
        let hinted = run(rows, &bad, |tried| bad.range(tried.clone()).next().copied(), u32::MAX);
        check(rows, &bad, &hinted);
    }

    #[test]
    fn true_hints_cost_four_attempts_a_row((rows, bad) in batches()) {
        let hinted = run(rows, &bad, |tried| bad.range(tried.clone()).next().copied(), u32::MAX);
        prop_assert!(hinted.attempts.len() <= 1 + 4 * bad.len());
    }

    #[test]
    fn hints_that_lie_change_neither_the_verdict_nor_the_bound(
        (rows, bad) in batches(),
        hints in prop::collection::vec(prop::option::of(0u32..6000), 1..64),
    ) {
        let mut next = hints.iter().copied().cycle();
        check(rows, &bad, &run(rows, &bad, |_| next.next().unwrap(), u32::MAX));
    }

    #[test]
    fn hints_that_always_name_an_edge_do_not_make_the_search_linear((rows, bad) in batches(), first: bool) {
        let edge = |tried: &Range<u32>| Some(if first { tried.start } else { tried.end - 1 });
        check(rows, &bad, &run(rows, &bad, edge, u32::MAX));
    }

    #[test]
    fn an_attempt_after_a_failure_is_in_a_fresh_instance((rows, bad) in batches()) {
        let run = run(rows, &bad, |_| None, u32::MAX);
        for pair in run.attempts.windows(2) {
            prop_assert!(pair[0].2 || pair[1].1, "{:?}", pair);
        }
    }

    #[test]
    fn rows_that_fail_only_in_company_are_all_applied(rows in 1u32..5000, most in 1u32..300) {
        let mut search = Search::new(rows);
        let mut applied = Vec::new();
        loop {
            match search.next() {
                Step::Done => break,
                Step::Condemn { row } => prop_assert!(false, "condemned {}", row),
                Step::Try { rows, fresh } => {
                    if rows.end - rows.start > most {
                        search.report(Outcome::Failed { hint: None, fresh });
                    } else {
                        applied.extend(rows);
                        search.report(Outcome::Applied);
                    }
                }
            }
        }
        prop_assert_eq!(applied, (0..rows).collect::<Vec<_>>());
    }
}

proptest! {
    #[test]
    fn pieces_are_tried_in_order_and_are_no_longer_than_asked_for(rows in 0u32..5000, most in 0u32..700) {
        let mut search = Search::in_pieces(rows, most);
        let mut applied = Vec::new();
        while let Step::Try { rows, .. } = search.next() {
            prop_assert!(rows.end - rows.start <= most.max(1));
            applied.extend(rows);
            search.report(Outcome::Applied);
        }
        prop_assert_eq!(applied, (0..rows).collect::<Vec<_>>());
    }
}

fn courses() -> impl Strategy<Value = (bool, bool, u32)> {
    // Mostly clean, so that rows of clean batches come about that are broken off at every length.
    let rarely = || prop::bool::weighted(0.02);
    (rarely(), rarely(), any::<u32>())
}

proptest! {
    #[test]
    fn the_pace_rises_only_after_clean_batches_in_a_row(courses in prop::collection::vec(courses(), 0..400)) {
        let mut pace = Pace::default();
        pace.note(Course { longest_applied: 1, was_over_limit: true, had_bad_row: false });
        let mut clean = 0;
        for (was_over_limit, had_bad_row, draw) in courses {
            let before = pace.most();
            let course = Course { longest_applied: draw % before.saturating_add(1), was_over_limit, had_bad_row };
            pace.note(course);
            clean = if was_over_limit || had_bad_row { 0 } else { clean + 1 };
            let expected = match (was_over_limit, had_bad_row) {
                (true, false) => course.longest_applied.max(1),
                _ if clean > 0 && clean % Pace::CLEAN_BATCHES == 0 => before.saturating_mul(2),
                _ => before,
            };
            prop_assert_eq!(pace.most(), expected, "after {} clean batches and {:?}", clean, course);
        }
    }
}

#[test]
fn an_expensive_function_is_given_what_it_can_take_and_tried_with_more_later() {
    let mut pace = Pace::default();
    pace.note(Course { longest_applied: 512, was_over_limit: true, had_bad_row: false });
    assert_eq!(pace.most(), 512);
    for _ in 0..Pace::CLEAN_BATCHES {
        assert_eq!(pace.most(), 512);
        pace.note(Course { longest_applied: 512, ..Course::default() });
    }
    assert_eq!(pace.most(), 1024);
}

#[test]
fn a_bad_row_that_is_over_a_limit_does_not_slow_its_successors() {
    let mut pace = Pace::default();
    pace.note(Course { longest_applied: 1, was_over_limit: true, had_bad_row: true });
    assert_eq!(pace.most(), u32::MAX);
}

#[test]
fn an_untroubled_batch_takes_one_attempt() {
    let mut search = Search::new(512);
    assert_eq!(search.next(), Step::Try { rows: 0..512, fresh: false });
    search.report(Outcome::Applied);
    assert_eq!(search.next(), Step::Done);
}

#[test]
fn a_lone_row_that_fails_in_a_used_instance_gets_a_second_chance() {
    let mut search = Search::new(1);
    search.report(Outcome::Failed { hint: Some(0), fresh: false });
    assert_eq!(search.next(), Step::Try { rows: 0..1, fresh: true });
    search.report(Outcome::Applied);
    assert_eq!(search.next(), Step::Done);
}

#[test]
fn an_empty_batch_is_done_at_once() {
    assert_eq!(Search::new(0).next(), Step::Done);
}
