//! `fields` takes fields of every kind and emits them as they came.

use contract::Emit;
use model::{Cells, EventTime, FieldColumn, Headers, OptionalColumn};

use crate::kit::*;

fn all_kinds() -> Vec<FieldColumn> {
    let all = |cells| FieldColumn { present: Vec::new(), cells };
    let some = |cells| FieldColumn { present: vec![1, 0], cells };
    vec![
        all(Cells::Texts(["grün", ""].iter().collect())),
        some(Cells::Integers(vec![i64::MIN, 0])),
        all(Cells::Floats(vec![-0.5, f64::MAX])),
        all(Cells::Booleans(vec![1, 0])),
        all(Cells::Integers(vec![0, 1_700_000_000_000])),
        some(Cells::Texts(["{\"a\":[1]}", ""].iter().collect())),
    ]
}

#[test]
fn fields_of_every_kind_cross_both_ways_unchanged() {
    let mut turn = turn(&["never", "seen"]);
    turn.batch.records.fields = all_kinds();
    turn.batch.records.timestamps = vec![EventTime(7), EventTime(-8)];
    let turn = run_turn(&mut function("fields"), turn).unwrap();
    let Some(Emit::Push { records, .. }) = turn.staged.emits.first() else { panic!("it pushes") };
    assert_eq!(records.rows, [0, 1]);
    assert_eq!(records.fields, all_kinds());
    assert_eq!(records.timestamps, [EventTime(8), EventTime(-7)]);
    assert_eq!(records.keys.as_ref().unwrap().get(1), Some(&b"key-1"[..]));
    assert!(records.values.is_empty());
    assert_eq!(records.headers, None);
}

#[test]
fn headers_cross_both_ways_and_an_absent_value_is_not_an_empty_one() {
    let mut values = OptionalColumn::default();
    values.push(Some(b""));
    values.push(None);
    let headers = Headers { owners: vec![1, 1], names: ["a", "a"].iter().collect(), values };
    let mut turn = turn(&["x", "y"]);
    turn.batch.records.fields = all_kinds();
    turn.batch.records.headers = Some(headers.clone());
    let turn = run_turn(&mut function("fields"), turn).unwrap();
    let Some(Emit::Push { records, .. }) = turn.staged.emits.first() else { panic!("it pushes") };
    assert_eq!(records.headers, Some(headers));
}
