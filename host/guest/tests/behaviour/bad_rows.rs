//! `bad_rows` emits for rows that are not there, or that fall.

use contract::FailureKind;

use crate::kit::*;

#[test]
fn rows_beyond_the_batch_are_refused() {
    let mut function = function("bad_rows");
    for (word, call, row) in [
        ("forward-beyond", "emit.forward", "rows 2 at 1"),
        ("forward-max", "emit.forward", "rows 4294967295 at 0"),
        ("push-beyond", "emit.push", "rows 2 at 0"),
    ] {
        check_failure(run(&mut function, &[word, "b"]), FailureKind::Contract, &[call, row, "has 2 rows"]);
    }
}

#[test]
fn rows_that_fall_within_a_call_are_refused() {
    let mut function = function("bad_rows");
    for word in ["forward-falling", "push-falling"] {
        check_failure(run(&mut function, &[word, "b"]), FailureKind::Contract, &["rows fall at 1: 0 after 1"]);
    }
}

#[test]
fn a_row_may_be_emitted_more_than_once() {
    let turn = run(&mut function("bad_rows"), &["forward-repeated", "b"]).unwrap();
    assert_eq!(forwarded(&turn), [0, 0, 1]);
}

#[test]
fn a_log_line_about_a_row_that_is_not_there_is_about_none() {
    let turn = run(&mut function("bad_rows"), &["log-beyond"]).unwrap();
    assert_eq!(turn.staged.logs.first().map(|line| line.row), Some(None));
}
