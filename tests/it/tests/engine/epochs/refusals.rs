//! Starts that are refused by name, with nothing changed, and what allows them.

use contract::doubles::MemorySink;
use model::job::KeySpec;
use model::{Epoch, StateDescriptor, StateId, StateKind};
use runtime::FunctionNode;

use super::support::{LONG, Width, World, count, count_state, count_with, counting, few_keys};
use crate::support::{Job, pass};

const ONE: Width = Width { sources: 1, counts: 1, sinks: 1 };

/// A world in which a counting job has run to its end.
fn after_a_run(sink: &MemorySink) -> World {
    let world = World::new();
    world.finish(&counting(&few_keys(1, 100), sink, ONE));
    world
}

fn assert_refused(world: &World, job: &Job, code: &str, names: &str) {
    for _ in 0..2 {
        let error = world.try_start(job).unwrap_err();
        assert_eq!(error.code(), Some(code), "{error}");
        assert!(error.to_string().contains(names), "{error}");
    }
}

#[test]
fn an_operator_whose_state_is_kept_is_not_dropped_silently() {
    let sink = MemorySink::default().exactly_once();
    let mut world = after_a_run(&sink);
    let renamed = Job::new().source("tap", few_keys(1, 200)).function("recount", &["tap"], count(), |_| ()).sink(
        "out",
        &["recount"],
        sink.clone(),
    );
    assert_refused(&world, &renamed, "E0436", "`count`");
    world.drop_state = vec!["count".to_owned()];
    world.finish(&renamed);
    // The new operator began with nothing.
    assert_eq!(sink.texts()[100], "k11 1");
}

#[test]
fn a_state_that_is_not_declared_any_more_is_not_dropped_silently() {
    let sink = MemorySink::default().exactly_once();
    let mut world = after_a_run(&sink);
    let other = StateDescriptor { id: StateId(0), name: "tally".to_owned(), ..count_state() };
    let job = |state: StateDescriptor| {
        Job::new().source("tap", few_keys(1, 100)).function("count", &["tap"], count_with(state), |_| ()).sink(
            "out",
            &["count"],
            sink.clone(),
        )
    };
    assert_refused(&world, &job(other.clone()), "E0630", "`count/count`: the module does not have it");
    let listed = StateDescriptor { kind: StateKind::MapEntries, ..count_state() };
    assert_refused(&world, &job(listed), "E0630", "it was a value and is a map now");
    world.drop_state = vec!["No such name".to_owned()];
    assert_refused(&world, &job(count_state()), "E0445", "No such name");
    // What is dropped is gone, though the new state has its number.
    world.drop_state = vec!["count/count".to_owned()];
    let before = sink.texts().len();
    let tap = few_keys(1, 200);
    let grown = Job::new().source("tap", tap).function("count", &["tap"], count_with(other), |_| ()).sink(
        "out",
        &["count"],
        sink.clone(),
    );
    world.finish(&grown);
    assert_eq!(sink.texts()[before], "k11 1");
}

#[test]
fn a_source_whose_positions_are_kept_is_not_dropped_silently() {
    let sink = MemorySink::default().exactly_once();
    let world = after_a_run(&sink);
    let renamed = Job::new().source("faucet", few_keys(1, 100)).function("count", &["faucet"], count(), |_| ()).sink(
        "out",
        &["count"],
        sink,
    );
    assert_refused(&world, &renamed, "E0436", "`tap`");
}

#[test]
fn a_split_with_unread_records_that_is_gone_is_named() {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let tap = few_keys(2, 100).opened_to(50);
    let handle = world.start(&counting(&tap, &sink, ONE));
    assert!(handle.wait_until(LONG, |handle| handle.metrics().operator("out").unwrap().records_in == 100));
    handle.checkpoint(LONG).unwrap();
    handle.abandon();
    let narrower = few_keys(1, 100);
    assert_refused(&world, &counting(&narrower, &sink, ONE), "E0446", "`tap-1`, which was read up to position 50");
}

#[test]
fn operators_that_are_new_begin_empty() {
    let sink = MemorySink::default().exactly_once();
    let world = after_a_run(&sink);
    let late = MemorySink::default().exactly_once();
    let grown = Job::new()
        .source("tap", few_keys(2, 100))
        .function("count", &["tap"], count(), |_| ())
        .function("pass", &["count"], pass(), |_| ())
        .sink("out", &["count"], sink.clone())
        .sink("late", &["pass"], late.clone());
    let handle = world.start(&grown);
    assert_eq!(handle.identity().unwrap().restored, Some(Epoch(1)));
    handle.wait().unwrap();
    // The second split is new, and read from its beginning.
    assert_eq!((sink.texts().len(), late.texts().len()), (200, 100));
}

#[test]
fn the_number_of_key_groups_is_fixed_by_the_first_start() {
    let sink = MemorySink::default().exactly_once();
    let world = after_a_run(&sink);
    let mut job = counting(&few_keys(1, 100), &sink, ONE);
    job.0.settings.key_groups = 64;
    assert_refused(&world, &job, "E0434", "64 key groups");
}

#[test]
fn a_target_that_was_emptied_is_not_gone_on_with_silently() {
    let sink = MemorySink::default().exactly_once();
    let tap = few_keys(1, 100).opened_to(50);
    let world = World::new();
    let handle = world.start(&counting(&tap, &sink, ONE));
    assert!(handle.wait_until(LONG, |handle| handle.metrics().operator("out").unwrap().records_in == 50));
    handle.checkpoint(LONG).unwrap();
    assert!(handle.wait_until(LONG, |handle| handle.checkpoints()[0].published_at.is_some()));
    // The second manifest knows that the first epoch is published.
    handle.checkpoint(LONG).unwrap();
    handle.abandon();
    let other = MemorySink::default().exactly_once();
    assert_refused(&world, &counting(&tap, &other, ONE), "E0438", "`out`");
}

#[test]
fn a_target_is_missed_also_after_a_run_that_published_nothing() {
    let sink = MemorySink::default().exactly_once();
    let tap = few_keys(1, 100);
    let mut world = World::new();
    // The first run ends before any manifest can say that its only epoch is published; the second has nothing to do.
    for _ in 0..2 {
        world.finish(&counting(&tap, &sink, ONE));
    }
    let other = MemorySink::default().exactly_once();
    assert_refused(&world, &counting(&tap, &other, ONE), "E0438", "`out`");
    world.allow_emptied_target = true;
    world.finish(&counting(&tap, &other, ONE));
}

#[test]
fn output_that_waits_to_be_published_is_not_left_with_a_sink_that_publishes_no_more() {
    let (mut world, sink) = (World::new(), MemorySink::default().exactly_once());
    let tap = few_keys(1, 100).opened_to(50);
    let handle = world.start(&counting(&tap, &sink, ONE));
    assert!(handle.wait_until(LONG, |handle| handle.metrics().operator("out").unwrap().records_in == 50));
    sink.fail_to_publish(1_000_000, "the target is away");
    handle.checkpoint(LONG).unwrap();
    handle.abandon();
    tap.open_to(u64::MAX);
    let plain = MemorySink::default();
    assert_refused(&world, &counting(&tap, &plain, ONE), "E0436", "`out`");
    world.drop_state = vec!["out".to_owned()];
    world.finish(&counting(&tap, &plain, ONE));
    assert_eq!(plain.texts().len(), 50);
}

#[test]
fn state_is_not_looked_for_under_another_key() {
    let sink = MemorySink::default().exactly_once();
    let mut world = after_a_run(&sink);
    let by_key = |key: KeySpec| {
        let function = |node: &mut FunctionNode| node.key = Some(key);
        Job::new().source("tap", few_keys(1, 200)).function("count", &["tap"], count(), function).sink(
            "out",
            &["count"],
            sink.clone(),
        )
    };
    let other = by_key(KeySpec::RecordKey);
    assert_refused(&world, &other, "E0447", "expected that key, found `$key`");
    world.drop_state = vec!["count".to_owned()];
    world.try_start(&other).expect("what is dropped is not looked for").abandon();
}
