//! `stores_too_much` writes more than a batch may.

use contract::{Failure, FailureKind, Turn};
use guest::{Limits, caps};

use crate::kit::*;

fn run_roomy(word: &str) -> Result<Turn, Failure> {
    let limits = Limits { fuel_per_record: Some(2_000_000_000), memory_bytes: 32 << 20, ..tight() };
    let state = table(module("stores_too_much").descriptor());
    run_turn(&mut function_within("stores_too_much", limits), keyed_turn(&[word], &["k"], state))
}

#[test]
fn what_is_too_long_is_refused_with_its_size() {
    check_failure(run_roomy("long-value"), FailureKind::Contract, &["a value of 1048576 bytes at 0", "1048575"]);
    check_failure(run_roomy("long-entry-key"), FailureKind::Contract, &["an entry key of 65537 bytes", "65536"]);
}

#[test]
fn the_longest_value_is_taken() {
    assert_eq!(run_roomy("longest-value").unwrap().staged.writes.len(), 1);
}

#[test]
fn what_is_too_much_for_a_batch_is_refused() {
    check_failure(run_roomy("many-bytes"), FailureKind::Contract, &["state.store", "bytes", "67108864"]);
    check_failure(run_roomy("many-writes"), FailureKind::Contract, &["state writes", "1048576"]);
    let calls = caps::STAGING_CALLS.to_string();
    check_failure(run_roomy("many-calls"), FailureKind::Contract, &["calls of emit, store and timers", &calls]);
}
