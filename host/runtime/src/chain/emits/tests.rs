use contract::{Emit, FailureKind, OutputRecords};
use model::{Column, EventTime, Origins, OutputId, Position, RecordBatch, SourceId, SplitIndex, Values};
use proptest::prelude::*;

use super::{OutputPort, Records, prepare};
use crate::chain::lane::Lane;

const ROWS: u32 = 12;

fn input() -> RecordBatch {
    let mut origins = Origins::default();
    for row in 0..u64::from(ROWS) {
        origins.push(SourceId(0), SplitIndex(0), Position(row));
    }
    RecordBatch {
        values: Values::from((0..ROWS).map(|row| format!("row {row}")).collect::<Column>()),
        timestamps: vec![EventTime::UNKNOWN; ROWS as usize],
        origins,
        ..RecordBatch::default()
    }
}

fn ports(count: usize) -> Vec<OutputPort> {
    let port =
        |number: usize| OutputPort { name: format!("out-{number}"), declared_fields: 0, lanes: vec![Lane::default()] };
    (0..count).map(port).collect()
}

/// A call to emit: an output, whether it pushes, and rows that do not fall.
fn calls() -> impl Strategy<Value = Vec<(u16, bool, Vec<u32>)>> {
    let rows = prop::collection::vec(0..ROWS, 0..8).prop_map(|mut rows| {
        rows.sort_unstable();
        rows
    });
    prop::collection::vec((0u16..2, any::<bool>(), rows), 0..8)
}

fn emit(call: usize, output: u16, pushes: bool, rows: &[u32]) -> Emit {
    let output = OutputId(output);
    if !pushes {
        return Emit::Forward { output, rows: rows.to_vec() };
    }
    let values = rows.iter().map(|row| format!("call {call} for {row}")).collect::<Column>();
    Emit::Push {
        output,
        records: OutputRecords { rows: rows.to_vec(), values: Values::from(values), ..OutputRecords::default() },
    }
}

fn texts(batch: &RecordBatch) -> Vec<String> {
    assert!(batch.is_consistent());
    batch.values.iter().map(|value| String::from_utf8(value.unwrap().to_vec()).unwrap()).collect()
}

proptest! {
    #[test]
    fn records_leave_by_row_and_for_one_row_by_call(calls in calls()) {
        let mut expected: Vec<Vec<(u32, String)>> = vec![Vec::new(); 2];
        for (call, (output, pushes, rows)) in calls.iter().enumerate() {
            let text = |row: &u32| if *pushes { format!("call {call} for {row}") } else { format!("row {row}") };
            expected[usize::from(*output)].extend(rows.iter().map(|row| (*row, text(row))));
        }
        for output in &mut expected {
            output.sort_by_key(|(row, _)| *row);
        }
        let mut emits = calls.iter().enumerate().map(|(call, (output, pushes, rows))| emit(call, *output, *pushes, rows)).collect();
        let mut found: Vec<Vec<String>> = vec![Vec::new(); 2];
        for leaving in prepare(&mut emits, &input(), &mut ports(2)).unwrap() {
            let batches = match leaving.records {
                Records::Rows(rows) => vec![input().select(&rows)],
                Records::Made(batches) => batches,
            };
            found[leaving.output].extend(batches.iter().flat_map(texts));
        }
        let expected: Vec<Vec<String>> =
            expected.into_iter().map(|output| output.into_iter().map(|(_, text)| text).collect()).collect();
        prop_assert_eq!(found, expected);
    }
}

fn refused(emit: Emit) -> String {
    let failure = prepare(&mut vec![emit], &input(), &mut ports(1)).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Contract);
    failure.message
}

#[test]
fn emits_that_name_what_is_not_there_are_refused() {
    let forward = |output: u16, rows: &[u32]| Emit::Forward { output: OutputId(output), rows: rows.to_vec() };
    assert_eq!(refused(forward(1, &[0])), "output 1 of 1: it is not declared");
    assert_eq!(refused(forward(0, &[3, 2])), "the rows of an emit fall");
    assert_eq!(refused(forward(0, &[12])), "row 12 of an emit: the batch has 12");
}

#[test]
fn pushed_columns_of_other_lengths_are_refused() {
    let push = |change: fn(&mut OutputRecords)| {
        let Emit::Push { output, mut records } = emit(0, 0, true, &[1, 2]) else { unreachable!() };
        change(&mut records);
        refused(Emit::Push { output, records })
    };
    assert_eq!(push(|records| records.rows = vec![1]), "output `out-0`: 2 values for 1 records");
    assert_eq!(push(|records| records.timestamps = vec![EventTime(1)]), "output `out-0`: 1 timestamps for 2 records");
    assert_eq!(
        push(|records| records.keys = Some(Column::from_iter(["k"]).into())),
        "output `out-0`: 1 keys for 2 records"
    );
}
