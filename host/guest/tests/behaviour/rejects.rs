//! `rejects` gives up on records.

use contract::{FailureKind, UserFunction};
use guest::caps;

use crate::kit::*;

#[test]
fn a_bad_record_is_named_with_its_reason_and_the_instance_lives() {
    let mut function = function("rejects");
    let failure = run(&mut function, &["a", "b", "bad"]).unwrap_err();
    assert_eq!((failure.kind, failure.row), (FailureKind::Rejected, Some(2)));
    assert_eq!(failure.message, "row 2 is bad");
    assert!(!function.is_fresh());
    check_works(&mut function);
}

#[test]
fn a_row_that_is_not_there_is_no_hint() {
    let failure = run(&mut function("rejects"), &["beyond"]).unwrap_err();
    assert_eq!((failure.kind, failure.row), (FailureKind::Rejected, None));
}

#[test]
fn a_long_reason_is_cut() {
    let failure = run(&mut function("rejects"), &["long"]).unwrap_err();
    assert!(failure.message.len() <= caps::MESSAGE_BYTES + '…'.len_utf8());
}
