//! `gigabyte_emit` emits a gigabyte, at once or in parts.

use contract::FailureKind;

use crate::kit::*;

fn run_large(values: &[&str]) -> Result<contract::Turn, contract::Failure> {
    let limits = guest::Limits { memory_bytes: 64 << 20, fuel_per_record: Some(1_000_000_000), ..tight() };
    run(&mut function_within("gigabyte_emit", limits), values)
}

#[test]
fn a_gigabyte_in_one_call_is_refused_before_it_is_copied() {
    check_failure(run_large(&["once"]), FailureKind::Contract, &["`process`", "more bytes than the host takes"]);
}

#[test]
fn a_gigabyte_in_parts_is_refused_when_the_cap_is_reached() {
    check_failure(run_large(&["often"]), FailureKind::Contract, &["emit.push", "bytes", "67108864"]);
}
