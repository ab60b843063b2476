//! `writes_for_rows` says which row wrote, rightly or wrongly.

use contract::{Failure, FailureKind, Turn};
use model::EventTime;

use crate::kit::*;

/// Records of the keys `a`, `b`, `a` with rising event times.
fn run_as(asked: &str) -> Result<Turn, Failure> {
    let state = table(module("writes_for_rows").descriptor());
    let mut turn = keyed_turn(&[asked, "-", "-"], &["a", "b", "a"], state);
    turn.batch.records.timestamps = [100, 200, 300].map(EventTime).to_vec();
    run_turn(&mut function("writes_for_rows"), turn)
}

#[test]
fn the_event_time_of_the_row_is_the_write_time() {
    let turn = run_as("honestly").unwrap();
    let written: Vec<_> = turn.staged.writes.iter().map(|writes| writes.written.clone()).collect();
    assert_eq!(written, [[100, 200, 300].map(EventTime)]);
    let unsaid = run_as("unsaid").unwrap();
    assert!(unsaid.staged.writes.iter().all(|writes| writes.written.is_empty()));
}

#[test]
fn a_row_that_is_not_there_is_refused() {
    for (asked, row) in [("beyond", "row 3 at 0"), ("max", "row 4294967295 at 0")] {
        check_failure(run_as(asked), FailureKind::Contract, &["state.store", row, "has 3 rows"]);
    }
}

#[test]
fn a_row_of_another_key_is_refused() {
    let expected = ["state.store", "row 0 at 1 is of slot 0", "the write is to slot 1"];
    check_failure(run_as("of-another"), FailureKind::Contract, &expected);
}

#[test]
fn rows_are_said_of_all_writes_or_none() {
    check_failure(run_as("too-few"), FailureKind::Contract, &["rows has 1 items, expected 2"]);
}
