//! `million_emits` emits a million times for one record, or a hundred million rows.

use contract::FailureKind;

use crate::kit::*;

fn with_fuel(values: &[&str]) -> Result<contract::Turn, contract::Failure> {
    let limits = guest::Limits { fuel_per_record: Some(1_000_000_000), memory_bytes: 32 << 20, ..tight() };
    run(&mut function_within("million_emits", limits), values)
}

#[test]
fn a_million_calls_for_one_record_are_too_many() {
    check_failure(with_fuel(&["many"]), FailureKind::Contract, &["emit.forward", "65537", "65536"]);
}

#[test]
fn a_hundred_million_rows_for_one_record_are_too_many() {
    check_failure(with_fuel(&["wide"]), FailureKind::Contract, &["emit.forward", "rows out", "1048576"]);
}
