//! What every [`UserFunction`] promises, checked on one whose behaviour is known: the function that
//! [`crate::doubles::probe`] is, written for whatever runs it.

use std::sync::Arc;

use model::{
    EventTime, HostTime, JobName, OperatorUid, OptionalColumn, Origins, OutputId, Parallelism, Position, RecordBatch,
    SourceId,
};
use model::{SplitIndex, SubtaskIndex, Values};

use crate::compliance::state;
use crate::doubles::MapBackend;
use crate::{
    Emit, Failure, FailureKind, FunctionFactory, LogLevel, ProcessError, StateBackend, Task, Turn, UserFunction,
};

/// Runs every promise on a factory of probes.
///
/// # Panics
/// When one is broken.
pub fn check(factory: &dyn FunctionFactory) {
    what_is_staged_is_what_was_asked_for(&mut *instance(factory));
    the_state_is_given_back(&mut *instance(factory));
    a_failed_turn_leaves_the_batch_as_it_was(&mut *instance(factory));
    the_result_depends_on_the_turn_alone(&mut *instance(factory));
    an_instance_is_fresh_until_it_is_used(&mut *instance(factory));
    a_trap_does_not_outlive_the_next_call(&mut *instance(factory));
    fuel_never_falls(&mut *instance(factory));
    an_empty_batch_is_no_failure(&mut *instance(factory));
}

fn what_is_staged_is_what_was_asked_for(function: &mut dyn UserFunction) {
    let turn = run(function, &["a", "log hello", "b"]).expect("it handles good records");
    assert_eq!(forwarded(&turn), [0, 2]);
    let seen: f64 = turn.staged.metrics.iter().map(|(_, amount)| amount).sum();
    assert!((seen - 2.0).abs() < f64::EPSILON, "counted {seen}");
    let line = turn.staged.logs.first().expect("it logged");
    assert_eq!((line.level, line.row, line.message.as_str()), (LogLevel::Info, Some(1), "hello"));
    assert!(turn.staged.writes.is_empty());
}

fn a_failed_turn_leaves_the_batch_as_it_was(function: &mut dyn UserFunction) {
    for (word, kind) in [("reject", FailureKind::Rejected), ("trap", FailureKind::Trap)] {
        let values = ["a", word, "b"];
        let mut turn = turn_of(&values);
        let failure = failure_of(function.process(&mut turn));
        assert_eq!(failure.kind, kind);
        assert!(failure.message.contains("told to"), "message of a {kind}: {}", failure.message);
        let left: Vec<_> = turn.batch.records.values.iter().map(Option::unwrap_or_default).collect();
        assert_eq!(left, values.map(str::as_bytes), "the batch after a {kind}");
        assert!(turn.batch.records.is_consistent());
    }
}

/// The probe asks for no state: one is lent to see that it comes back as it was, whatever happens.
fn the_state_is_given_back(function: &mut dyn UserFunction) {
    let keys = state::slots(&["a"]);
    let mut table = MapBackend.open(state::scope()).expect("a table opens");
    table.apply(&keys, &[state::values(state::VALUE, &[(0, Some(b"kept"))])], HostTime(1)).expect("it fits");
    let mut lent = Some(table);
    for word in ["a", "reject", "trap", "a"] {
        let mut turn = turn_of(&["a", word, "b"]);
        turn.batch.keys = Arc::clone(&keys);
        turn.state = lent.take();
        let failed = function.process(&mut turn).is_err();
        assert_eq!(failed, word != "a", "what came of `{word}`");
        let table = turn.state.as_mut().unwrap_or_else(|| panic!("the state is gone after `{word}`"));
        let mut found = OptionalColumn::default();
        table.load(state::VALUE, &keys, &mut found).expect("the state is a value");
        assert_eq!(found.get(0), Some(&b"kept"[..]), "what the state holds after `{word}`");
        assert_eq!(table.stats().live_entries, 1, "entries after `{word}`");
        assert_eq!(turn.batch.keys, keys, "the keys after `{word}`");
        lent = turn.state.take();
    }
}

fn the_result_depends_on_the_turn_alone(function: &mut dyn UserFunction) {
    let first = run(function, &["a", "b", "c"]).expect("it handles good records");
    let _between = run(function, &["reject"]);
    let second = run(function, &["a", "b", "c"]).expect("it handles them again");
    assert_eq!(forwarded(&first), forwarded(&second));
    assert_eq!(first.staged.metrics, second.staged.metrics);
}

fn an_instance_is_fresh_until_it_is_used(function: &mut dyn UserFunction) {
    assert!(function.is_fresh(), "new");
    run(function, &["a"]).expect("it handles a good record");
    assert!(!function.is_fresh(), "used");
    function.renew().expect("it renews");
    assert!(function.is_fresh(), "renewed");
}

fn a_trap_does_not_outlive_the_next_call(function: &mut dyn UserFunction) {
    failure_of(run(function, &["trap"]).map(drop));
    let turn = run(function, &["a"]).expect("it renews by itself");
    assert_eq!(forwarded(&turn), [0]);
}

fn fuel_never_falls(function: &mut dyn UserFunction) {
    let mut last = function.fuel_used();
    for values in [["a", "b"], ["a", "trap"], ["a", "b"]] {
        let _outcome = run(function, &values);
        let next = function.fuel_used();
        assert!(next >= last, "fuel fell from {last} to {next}");
        last = next;
        function.renew().expect("it renews");
    }
}

fn an_empty_batch_is_no_failure(function: &mut dyn UserFunction) {
    let turn = run(function, &[]).expect("it handles no records");
    assert_eq!(forwarded(&turn), [0u32; 0]);
}

fn instance(factory: &dyn FunctionFactory) -> Box<dyn UserFunction> {
    let task = Task {
        job: JobName::new("compliance").expect("it is a name"),
        operator: OperatorUid::new("probe").expect("it is a name"),
        subtask: SubtaskIndex(0),
        parallelism: Parallelism(1),
        config: "{}".to_owned(),
    };
    factory.instantiate(&task).expect("it can be instantiated")
}

fn run(function: &mut dyn UserFunction, values: &[&str]) -> Result<Turn, ProcessError> {
    let mut turn = turn_of(values);
    function.process(&mut turn)?;
    Ok(turn)
}

fn failure_of(outcome: Result<(), ProcessError>) -> Failure {
    match outcome {
        Err(ProcessError::Function(failure)) => failure,
        Err(ProcessError::Host(error)) => panic!("the host is blamed: {error}"),
        Ok(()) => panic!("a bad record was handled"),
    }
}

/// The rows forwarded to the main output, over all calls.
fn forwarded(turn: &Turn) -> Vec<u32> {
    let mut rows = Vec::new();
    for emit in &turn.staged.emits {
        match emit {
            Emit::Forward { output, rows: more } => {
                assert_eq!(*output, OutputId(0));
                rows.extend(more);
            }
            Emit::Push { .. } => panic!("the probe forwards"),
        }
    }
    rows
}

fn turn_of(values: &[&str]) -> Turn {
    let mut origins = Origins::default();
    for position in (0u64..).take(values.len()) {
        origins.push(SourceId(0), SplitIndex(0), Position(position));
    }
    let column: model::Column = values.iter().collect();
    let mut turn = Turn::default();
    turn.batch.records = RecordBatch {
        values: Values::from(column),
        timestamps: vec![EventTime::UNKNOWN; values.len()],
        origins,
        ..RecordBatch::default()
    };
    turn.batch.watermark = EventTime::UNKNOWN;
    turn
}
