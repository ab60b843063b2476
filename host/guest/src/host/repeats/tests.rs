use contract::{Emit, OutputRecords};
use model::{Cells, Column, FieldColumn, Headers, OptionalColumn, OutputId, RecordBatch, Routing, Values};
use proptest::prelude::*;

use super::repeated_bytes;

/// A batch in which row `n` has a value of `n` hundreds, a key of `n` tens and a header of 2 + `n` bytes.
fn batch(rows: u32) -> RecordBatch {
    let texts = |each: usize| (0..rows as usize).map(|row| "x".repeat(each * row)).collect::<Column>();
    RecordBatch {
        values: Values::from(texts(100)),
        record_keys: Some(OptionalColumn::from(texts(10))),
        headers: Some(Headers {
            owners: (0..rows).collect(),
            names: (0..rows).map(|_| "ab").collect(),
            values: OptionalColumn::from(texts(1)),
        }),
        routing: Some(Routing { keys: texts(1000), hashes: vec![0; rows as usize] }),
        fields: vec![FieldColumn { present: Vec::new(), cells: Cells::Texts(texts(10_000)) }],
        ..RecordBatch::default()
    }
}

fn forward(output: u16, rows: &[u32]) -> Emit {
    Emit::Forward { output: OutputId(output), rows: rows.to_vec() }
}

fn push(output: u16, rows: &[u32], keys: bool, headers: bool) -> Emit {
    let records = OutputRecords {
        rows: rows.to_vec(),
        keys: keys.then(|| rows.iter().map(|_| "key").collect::<Column>().into()),
        headers: headers.then(Headers::default),
        ..OutputRecords::default()
    };
    Emit::Push { output: OutputId(output), records }
}

/// What a header takes beside its bytes: owner and three ends.
const HEADER: usize = 2 + 16;

#[test]
fn rows_that_go_on_once_cost_nothing() {
    let once = [forward(0, &[0, 2]), forward(1, &[0, 1, 2]), push(0, &[1, 2], false, false), forward(0, &[3])];
    assert_eq!(repeated_bytes(&once, &batch(4)), 0);
}

#[test]
fn a_row_costs_its_bytes_every_further_time() {
    let whole = 3 * 11_111 + HEADER;
    assert_eq!(repeated_bytes(&[forward(0, &[3, 3, 3])], &batch(4)), 2 * whole);
    assert_eq!(repeated_bytes(&[forward(0, &[3]), forward(1, &[3]), forward(0, &[3])], &batch(4)), whole);
}

#[test]
fn a_record_that_is_made_costs_what_it_inherits() {
    let of = |keys, headers| repeated_bytes(&[push(0, &[3, 3, 3], keys, headers)], &batch(4));
    assert_eq!(of(false, false), 2 * (3 * 11 + HEADER));
    assert_eq!(of(true, false), 2 * (3 + HEADER));
    assert_eq!(of(false, true), 2 * 30);
    assert_eq!(of(true, true), 0);
}

proptest! {
    #[test]
    fn a_batch_costs_at_least_what_its_records_cost_alone(
        emits in prop::collection::vec((0u16..2, prop::collection::vec(0u32..6, 0..6), 0..3), 0..12),
    ) {
        let emit = |(output, mut rows, kind): (u16, Vec<u32>, i32)| {
            rows.sort_unstable();
            if kind == 0 { push(output, &rows, false, false) } else { forward(output, &rows) }
        };
        let emits: Vec<Emit> = emits.into_iter().map(emit).collect();
        let records = batch(6);
        let of_row = |row: u32| {
            let mut own = emits.clone();
            for emit in &mut own {
                match emit {
                    Emit::Forward { rows, .. } => rows.retain(|&other| other == row),
                    Emit::Push { records, .. } => records.rows.retain(|&other| other == row),
                }
            }
            repeated_bytes(&own, &records)
        };
        prop_assert!((0..6).map(of_row).sum::<usize>() <= repeated_bytes(&emits, &records));
    }
}
