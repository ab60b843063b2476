//! `dedup` sends the first record of each key on.

use crate::kit::*;

#[test]
fn a_key_seen_in_an_earlier_batch_is_a_duplicate_only_after_its_write_was_applied() {
    let mut dedup = function("dedup");
    let state = table(module("dedup").descriptor());
    let keys = ["x", "y", "x", "z"];
    let first = run_turn(&mut dedup, keyed_turn(&["", "", "", ""], &keys, state)).unwrap();
    assert_eq!(forwarded(&first), [0, 1, 3]);
    let state = commit(first);
    let second = run_turn(&mut dedup, keyed_turn(&["", ""], &["z", "new"], state)).unwrap();
    assert_eq!(forwarded(&second), [1]);
}

#[test]
fn writes_that_are_dropped_leave_no_trace_in_the_next_batch() {
    let mut dedup = function("dedup");
    let state = table(module("dedup").descriptor());
    let dropped = run_turn(&mut dedup, keyed_turn(&["", ""], &["x", "y"], state)).unwrap();
    let again = run_turn(&mut dedup, keyed_turn(&["", ""], &["x", "y"], dropped.state.unwrap())).unwrap();
    assert_eq!(forwarded(&again), [0, 1]);
}
