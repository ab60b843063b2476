//! Jobs that go on with the state of another module: by name, by version, or not at all.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use contract::doubles::{ClosureFactory, MemorySink};
use contract::{CheckpointStore, Failure, FailureKind, ProcessError};
use model::{Column, Epoch, Parallelism, StateDescriptor, StateId, StateKind};
use protocol::manifest::{CheckpointKind, LogRecord, Manifest, decode};
use runtime::FunctionNode;

use super::support::{LONG, Tap, World, assert_counted, count, count_state, count_with, few_keys};
use crate::support::Job;

fn job(tap: &Tap, function: ClosureFactory, sink: &MemorySink) -> Job {
    let wide = |node: &mut FunctionNode| node.parallelism = Parallelism(2);
    Job::new().source("tap", tap.clone()).function("count", &["tap"], function, wide).sink(
        "out",
        &["count"],
        sink.clone(),
    )
}

/// A world in which a job has counted the first hundred records.
fn counted(sink: &MemorySink) -> World {
    let world = World::new();
    world.finish(&job(&few_keys(1, 100), count(), sink));
    world
}

fn newest(world: &World) -> Manifest {
    let log = world.log.as_ref();
    let manifests = log.list().unwrap().into_iter().rev().filter_map(|number| {
        match decode(&log.read(number).unwrap().unwrap().body).unwrap() {
            LogRecord::Complete(manifest) => Some(*manifest),
            LogRecord::Claim(_) => None,
        }
    });
    manifests.take(1).next().expect("a checkpoint is complete")
}

/// Counts as [`count`] does, with values of version 2.
fn count_in_two() -> ClosureFactory {
    count_with(StateDescriptor { version: 2, ..count_state() })
}

fn as_they_were(_: StateId, from: u32, values: &Column) -> Result<Column, ProcessError> {
    assert_eq!(from, 1, "the version that is stored");
    Ok(values.clone())
}

fn trap(message: &str) -> ProcessError {
    ProcessError::Function(Failure { kind: FailureKind::Trap, row: None, message: message.to_owned() })
}

#[test]
fn a_state_is_found_by_its_name_under_another_number() {
    let sink = MemorySink::default().exactly_once();
    let world = counted(&sink);
    let tap = few_keys(1, 200);
    let renumbered = count_with(StateDescriptor { id: StateId(7), ..count_state() });
    world.finish(&job(&tap, renumbered, &sink));
    assert_counted(&tap, &sink.texts());
    assert_eq!(newest(&world).operators.values().next().unwrap().states[0].id, StateId(7));
}

#[test]
fn a_restore_is_accepted_by_a_checkpoint_before_a_record_is_read() {
    let sink = MemorySink::default().exactly_once();
    let world = counted(&sink);
    let tap = few_keys(1, 200).opened_to(100);
    let handle = world.start(&job(&tap, count_in_two().migrating(as_they_were), &sink));
    assert_eq!(handle.identity().unwrap().restored, Some(Epoch(1)));
    let accepted = newest(&world);
    assert_eq!((accepted.kind, accepted.epoch, accepted.parent), (CheckpointKind::Restore, Epoch(2), Some(Epoch(1))));
    assert_eq!(accepted.operators.values().next().unwrap().states[0].version, 2);
    handle.abandon();
    // From here on it is a restore like any other: there is nothing to migrate.
    tap.open_to(u64::MAX);
    let never = |_: StateId, _: u32, _: &Column| panic!("everything was migrated");
    world.finish(&job(&tap, count_in_two().migrating(never), &sink));
    assert_counted(&tap, &sink.texts());
}

#[test]
fn every_value_is_migrated_once_and_many_at_a_time() {
    let sink = MemorySink::default().exactly_once();
    let world = World::new();
    let keys = |end| Tap::new(1, end, |_, at| super::support::drop_of(format!("k{}", at % 3000)));
    world.finish(&job(&keys(3000), count(), &sink));
    let (calls, values) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let seen = (Arc::clone(&calls), Arc::clone(&values));
    let tenfold = move |_: StateId, _: u32, values: &Column| {
        seen.0.fetch_add(1, Ordering::SeqCst);
        seen.1.fetch_add(values.len() as u64, Ordering::SeqCst);
        Ok(values.iter().map(|value| [value, b"0"].concat()).collect())
    };
    let tap = keys(3001);
    world.finish(&job(&tap, count_in_two().migrating(tenfold), &sink));
    assert_eq!(sink.texts().last().map(String::as_str), Some("k0 11"));
    assert_eq!(values.load(Ordering::SeqCst), 3000);
    assert!(calls.load(Ordering::SeqCst) < 20, "{calls:?} calls");
}

#[test]
fn a_value_that_cannot_be_migrated_is_named_and_leaves_everything_as_it_was() {
    let sink = MemorySink::default().exactly_once();
    let world = World::new();
    let tap = Tap::new(1, 2000, |_, at| super::support::drop_of(format!("k{}", if at < 3 { 17 } else { at })));
    tap.open_to(1000);
    let first = world.start(&job(&tap, count(), &sink));
    assert!(first.wait_until(LONG, |handle| handle.metrics().operator("out").unwrap().records_in == 1000));
    first.checkpoint(LONG).unwrap();
    first.abandon();
    let before = newest(&world);
    // Only the value of `k17` is above 1: 3, and its own record later.
    let picky = |_: StateId, _: u32, values: &Column| match values.iter().any(|value| value != b"1") {
        true => Err(trap("it is none of mine")),
        false => Ok(values.clone()),
    };
    let error = world.try_start(&job(&tap, count_in_two().migrating(picky), &sink)).unwrap_err();
    assert_eq!(error.code(), Some("E0631"), "{error}");
    assert!(error.to_string().contains("`count/count` from version 1: key `k17`: trap: it is none of mine"), "{error}");
    let lossy = |_: StateId, _: u32, values: &Column| Ok(values.iter().skip(1).collect());
    let error = world.try_start(&job(&tap, count_in_two().migrating(lossy), &sink)).unwrap_err();
    assert!(error.to_string().contains("0 values came back of 1"), "{error}");
    let error = world.try_start(&job(&tap, count_in_two(), &sink)).unwrap_err();
    assert!(error.to_string().contains("does not say how to read version 1"), "{error}");
    assert_eq!(newest(&world), before);
    tap.open_to(u64::MAX);
    world.finish(&job(&tap, count(), &sink));
    assert_counted(&tap, &sink.texts());
}

#[test]
fn an_older_module_does_not_go_on_with_newer_state() {
    let sink = MemorySink::default().exactly_once();
    let world = counted(&sink);
    let tap = few_keys(1, 200);
    world.finish(&job(&tap, count_in_two().migrating(as_they_were), &sink));
    let error = world.try_start(&job(&tap, count(), &sink)).unwrap_err();
    assert_eq!(error.code(), Some("E0630"), "{error}");
    assert!(error.to_string().contains("`count/count`: it has version 2 and the module knows version 1"), "{error}");
    assert!(error.help().unwrap().contains("go back to a checkpoint before it"), "{error}");
}

#[test]
fn what_does_not_fit_is_refused_while_the_old_version_runs_on() {
    let sink = MemorySink::default().exactly_once();
    let world = World::new();
    let tap = few_keys(1, 200).opened_to(100);
    let running = world.start(&job(&tap, count(), &sink));
    assert!(running.wait_until(LONG, |handle| handle.metrics().operator("out").unwrap().records_in == 100));
    running.checkpoint(LONG).unwrap();
    let listed = count_with(StateDescriptor { kind: StateKind::Appended, ..count_state() });
    let error = world.try_start(&job(&tap, listed, &sink)).unwrap_err();
    assert_eq!(error.code(), Some("E0630"), "{error}");
    tap.open_to(u64::MAX);
    running.wait().unwrap_or_else(|failure| panic!("it was disturbed: {failure}"));
    assert_counted(&tap, &sink.texts());
}

#[test]
fn what_older_values_look_like_is_known_for_as_long_as_they_are_there() {
    let sink = MemorySink::default().exactly_once();
    let world = World::new();
    let schema = |fields: &[&str]| {
        let all: Vec<String> = fields.iter().map(|name| format!(r#""{name}":{{"type":"string"}}"#)).collect();
        format!(r#"{{"title":"Visit","type":"object","properties":{{{}}},"required":[]}}"#, all.join(","))
    };
    let with = |fields: &[&str]| count_with(StateDescriptor { schema: schema(fields), ..count_state() });
    let run_to = |function: ClosureFactory, end: u64| {
        world.finish(&job(&few_keys(1, end), function, &sink));
    };
    run_to(with(&["page", "site"]), 100);
    run_to(with(&["page"]), 200);
    let stored = newest(&world).operators.values().next().unwrap().states[0].schema.clone();
    assert!(stored.contains("x-removed") && stored.contains("site"), "{stored}");
    // A field of that name and another type would be read from what the first module wrote.
    let number = schema(&["page"]).replace(
        r#""page":{"type":"string"}"#,
        r#""page":{"type":"string"},"site":{"type":"integer","format":"uint32"}"#,
    );
    let retyped = count_with(StateDescriptor { schema: number, ..count_state() });
    let error = world.try_start(&job(&few_keys(1, 300), retyped, &sink)).unwrap_err();
    assert!(error.to_string().contains("`site` was `string` and is `uint32` now"), "{error}");
    run_to(with(&["page", "site"]), 300);
    assert_counted(&few_keys(1, 300), &sink.texts());
}
