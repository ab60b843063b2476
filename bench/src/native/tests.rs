use std::sync::Arc;

use contract::doubles::MapBackend;
use contract::{
    Emit, FunctionFactory, InputBatch, KeyedState, SlotKeys, StateBackend, StateScope, Task, Turn, UserFunction,
};
use model::{
    Cells, Column, FieldColumn, HostTime, JobName, KeyGroup, KeyGroupRange, OperatorUid, Parallelism, RecordBatch,
    SubtaskIndex, Values,
};

use super::{NativeFactory, NativeFunction};

fn instance(function: NativeFunction) -> (Box<dyn UserFunction>, Box<dyn KeyedState>) {
    let factory = NativeFactory::new(function);
    factory.descriptor().check().unwrap();
    let operator = OperatorUid::new("function").unwrap();
    let scope = StateScope {
        operator: operator.clone(),
        key_groups: KeyGroupRange { first: KeyGroup(0), end: KeyGroup(128) },
        key_group_count: 128,
        states: factory.descriptor().states.clone(),
    };
    let task = Task {
        job: JobName::new("bench").unwrap(),
        operator,
        subtask: SubtaskIndex(0),
        parallelism: Parallelism(1),
        config: "{}".to_owned(),
    };
    (factory.instantiate(&task).unwrap(), MapBackend.open(scope).unwrap())
}

/// Processes a batch and applies what it wrote; its emits.
fn turn(
    function: &mut dyn UserFunction,
    state: &mut Option<Box<dyn KeyedState>>,
    values: &[&str],
    slots: &[u32],
    keys: &[&str],
    fields: Vec<FieldColumn>,
) -> Vec<Emit> {
    let records =
        RecordBatch { values: Values::from(values.iter().collect::<Column>()), fields, ..RecordBatch::default() };
    let hashes = (0..keys.len() as u64).collect();
    let keys = Arc::new(SlotKeys { keys: keys.iter().collect(), hashes, ..SlotKeys::default() });
    let batch = InputBatch { slots: slots.to_vec(), keys: Arc::clone(&keys), records, ..InputBatch::default() };
    let mut turn = Turn { batch, state: state.take(), ..Turn::default() };
    function.process(&mut turn).unwrap();
    *state = turn.state.take();
    state.as_mut().unwrap().apply(&keys, &turn.staged.writes, HostTime(0)).unwrap();
    turn.staged.emits
}

fn forwarded(emits: &[Emit]) -> &[u32] {
    match emits {
        [Emit::Forward { rows, .. }] => rows,
        other => panic!("expected one forward, found {other:?}"),
    }
}

#[test]
fn dedup_forwards_the_first_record_of_each_key_within_and_across_batches() {
    let (mut function, state) = instance(NativeFunction::Dedup);
    let mut state = Some(state);
    let first = turn(&mut *function, &mut state, &["1", "2", "3"], &[0, 1, 0], &["a", "b"], Vec::new());
    assert_eq!(forwarded(&first), [0, 1]);
    let second = turn(&mut *function, &mut state, &["4", "5"], &[0, 1], &["b", "c"], Vec::new());
    assert_eq!(forwarded(&second), [1]);
}

#[test]
fn count_goes_on_where_the_last_batch_ended() {
    let (mut function, state) = instance(NativeFunction::Count);
    let mut state = Some(state);
    turn(&mut *function, &mut state, &["x", "x"], &[0, 0], &["x"], Vec::new());
    let emits = turn(&mut *function, &mut state, &["y", "x"], &[0, 1], &["y", "x"], Vec::new());
    let [Emit::Push { records, .. }] = emits.as_slice() else { panic!("expected one push, found {emits:?}") };
    assert_eq!(records.fields[1].cells, Cells::Integers(vec![1, 3]));
    assert_eq!(records.fields[0].cells, Cells::Texts(["y", "x"].iter().collect()));
}

#[test]
fn a_filter_on_a_field_forwards_the_rows_above_the_bound() {
    let (mut function, state) = instance(NativeFunction::FilterJson);
    let amounts = FieldColumn { present: Vec::new(), cells: Cells::Floats(vec![500.0, 500.5]) };
    let emits = turn(&mut *function, &mut Some(state), &["a", "b"], &[], &[], vec![amounts]);
    assert_eq!(forwarded(&emits), [1]);
}

#[test]
fn a_map_pushes_a_value_for_every_row() {
    let (mut function, state) = instance(NativeFunction::MapBinary);
    let emits = turn(&mut *function, &mut Some(state), &["abc", "abcdefghijklmnopqr"], &[], &[], Vec::new());
    let [Emit::Push { records, .. }] = emits.as_slice() else { panic!("expected one push, found {emits:?}") };
    let values: Vec<&[u8]> = records.values.iter().flatten().collect();
    assert_eq!(values, [b"ABC".as_slice(), b"ABCDEFGHIJKLMNOPqr"]);
    assert_eq!(records.rows, [0, 1]);
}

#[test]
fn every_description_is_sound() {
    for function in [
        NativeFunction::Pass,
        NativeFunction::FilterBinary,
        NativeFunction::MapJson,
        NativeFunction::Split,
        NativeFunction::Remember,
    ] {
        NativeFactory::new(function).descriptor().check().unwrap();
    }
}
