//! `million_emits` emits a million times for one record, or a hundred million rows, or one row a million
//! times.

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

/// A turn of a small record with a key and a header of so many bytes, run.
fn with_parts(value: &str, key_bytes: usize, header_bytes: usize) -> Result<contract::Turn, contract::Failure> {
    let limits = guest::Limits { fuel_per_record: Some(1_000_000_000), memory_bytes: 32 << 20, ..tight() };
    let mut turn = turn(&[value]);
    turn.batch.records.record_keys = Some(["k".repeat(key_bytes)].iter().collect::<model::Column>().into());
    turn.batch.records.headers = Some(model::Headers {
        owners: vec![0],
        names: ["name"].iter().collect(),
        values: ["h".repeat(header_bytes)].iter().collect::<model::Column>().into(),
    });
    run_turn(&mut function_within("million_emits", limits), turn)
}

#[test]
fn a_record_sent_on_a_million_times_costs_its_bytes_each_time() {
    for value in ["again", "made"] {
        let turn = with_parts(value, 1, 1).expect("a million small ones are no more than a batch may stage");
        assert_eq!(turn.staged.emits.len(), 1);
        for (key_bytes, header_bytes) in [(100_000, 1), (1, 100_000), (100, 1)] {
            let parts = ["`process`", "bytes, rows sent on again among them", "67108864"];
            check_failure(with_parts(value, key_bytes, header_bytes), FailureKind::Contract, &parts);
        }
    }
}
