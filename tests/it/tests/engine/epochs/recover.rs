//! A job that is killed and started again.

use std::sync::Arc;

use contract::doubles::{MapBackend, MemorySink};
use contract::{CheckpointStore, StateBackend};
use model::job::OnError;
use model::{Epoch, HostTime, Refresh, StateDescriptor, Ttl, TtlClock};
use runtime::ConditionKind;

use super::support::{
    LONG, Tap, Width, World, assert_counted, count_state, count_with, counting, counting_in, drop_of, few_keys,
};
use crate::support::{Job, picky};

const WIDE: Width = Width { sources: 2, counts: 3, sinks: 3 };

#[test]
fn a_job_that_is_killed_again_and_again_counts_as_if_it_had_run_through() {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let tap = few_keys(4, 3000).opened_to(0);
    let job = counting(&tap, &sink, WIDE);
    for round in 1..=6u64 {
        let handle = world.start(&job);
        tap.open_to(round * 400);
        // Killed at various points: with records in flight, right after a checkpoint, before the first one.
        if round % 3 > 0 {
            handle.checkpoint(LONG).unwrap();
            if round % 3 == 1 {
                let arrived = |handle: &runtime::JobHandle| handle.metrics().operator("out").unwrap().records_in > 200;
                assert!(handle.wait_until(LONG, arrived));
            }
        }
        handle.abandon();
    }
    tap.open_to(u64::MAX);
    world.finish(&job);
    assert_counted(&tap, &sink.texts());
}

/// Runs through several widths, killed in each, and compares with the model.
fn rescale(backend: &Arc<dyn StateBackend>, widths: &[u32]) {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let tap = few_keys(3, 2000).opened_to(0);
    let job = |counts| counting_in(Arc::clone(backend), &tap, &sink, Width { sources: 2, counts, sinks: counts });
    for (round, counts) in (1..).zip(widths) {
        let handle = world.start(&job(*counts));
        tap.open_to(round * 250);
        let arrived = |handle: &runtime::JobHandle| handle.metrics().operator("tap").unwrap().records_out > 300;
        assert!(handle.wait_until(LONG, arrived));
        handle.checkpoint(LONG).unwrap();
        handle.checkpoint(LONG).unwrap();
        handle.abandon();
    }
    tap.open_to(u64::MAX);
    world.finish(&job(1));
    assert_counted(&tap, &sink.texts());
}

#[test]
fn state_follows_its_keys_from_one_parallelism_to_another() {
    rescale(&(Arc::new(MapBackend) as Arc<dyn StateBackend>), &[1, 3, 2, 7]);
}

#[test]
fn the_state_log_follows_its_keys_from_one_parallelism_to_another() {
    let backend: Arc<dyn StateBackend> = Arc::new(state::MemoryBackend::default());
    rescale(&backend, &[1, 8, 3, 7]);
}

#[test]
fn a_checkpoint_that_is_restored_twice_is_published_once() {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let tap = few_keys(2, 500).opened_to(200);
    let job = counting(&tap, &sink, WIDE);
    let handle = world.start(&job);
    assert!(handle.wait_until(LONG, |handle| handle.metrics().operator("out").unwrap().records_in == 400));
    // The manifest is there, and its publication is lost with the process.
    sink.fail_to_publish(1_000_000, "the target is away");
    handle.checkpoint(LONG).unwrap();
    handle.abandon();
    assert!(sink.texts().is_empty());
    sink.fail_to_publish(0, "");
    for _ in 0..2 {
        let handle = world.start(&job);
        assert_eq!(handle.identity().unwrap().restored, Some(Epoch(1)));
        assert!(handle.wait_until(LONG, |_| !sink.texts().is_empty()));
        handle.abandon();
        assert_eq!(sink.texts().len(), 400);
    }
    tap.open_to(u64::MAX);
    world.finish(&job);
    assert_counted(&tap, &sink.texts());
}

#[test]
fn what_a_killed_process_staged_and_no_manifest_lists_is_removed() {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let tap = few_keys(2, 500).opened_to(200);
    let job = counting(&tap, &sink, WIDE);
    let handle = world.start(&job);
    assert!(handle.wait_until(LONG, |handle| handle.metrics().operator("out").unwrap().records_in == 400));
    // Staged, and the store does not take the state: no manifest.
    world.objects.limit_capacity(Some(0));
    let waits = |handle: &runtime::JobHandle| !handle.conditions().is_empty() && !sink.staged().is_empty();
    std::thread::scope(|scope| {
        scope.spawn(|| handle.checkpoint(LONG).unwrap_err());
        assert!(handle.wait_until(LONG, waits));
        world.clock.advance(world.options.timeout * 2);
    });
    handle.abandon();
    world.objects.limit_capacity(None);
    let handle = world.start(&job);
    assert!(sink.staged().is_empty());
    tap.open_to(u64::MAX);
    handle.wait().unwrap();
    assert_counted(&tap, &sink.texts());
}

/// Two checkpoints; the second is published or not. Returns the world, its sink and what it reads.
fn two_checkpoints(publishes: bool) -> (World, MemorySink, Tap) {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let tap = few_keys(2, 500).opened_to(100);
    let handle = world.start(&counting(&tap, &sink, WIDE));
    for open in [100, 200] {
        tap.open_to(open);
        assert!(handle.wait_until(LONG, |handle| handle.metrics().operator("out").unwrap().records_in == open * 2));
        if open == 200 && !publishes {
            sink.fail_to_publish(1_000_000, "the target is away");
        }
        handle.checkpoint(LONG).unwrap();
        if open == 100 || publishes {
            assert!(handle.wait_until(LONG, |handle| handle.checkpoints()[0].published_at.is_some()));
        }
    }
    handle.abandon();
    sink.fail_to_publish(0, "");
    tap.open_to(u64::MAX);
    (world, sink, tap)
}

#[test]
fn a_damaged_newest_manifest_is_passed_over_where_nothing_of_it_was_visible() {
    let (world, sink, tap) = two_checkpoints(false);
    let newest = *world.log.list().unwrap().last().unwrap();
    world.log.damage(newest);
    let handle = world.start(&counting(&tap, &sink, WIDE));
    assert_eq!(handle.identity().unwrap().restored, Some(Epoch(1)));
    handle.wait().unwrap();
    assert_counted(&tap, &sink.texts());
}

#[test]
fn a_damaged_newest_manifest_is_refused_where_its_output_is_visible() {
    let (world, sink, tap) = two_checkpoints(true);
    let newest = *world.log.list().unwrap().last().unwrap();
    world.log.damage(newest);
    let error = world.try_start(&counting(&tap, &sink, WIDE)).unwrap_err();
    assert_eq!(error.code(), Some("E0437"), "{error}");
    assert_eq!(sink.texts().len(), 400);
}

#[test]
fn a_listing_that_lags_behind_is_not_believed() {
    let (world, sink, tap) = two_checkpoints(true);
    world.log.list_without_newest(2);
    let handle = world.start(&counting(&tap, &sink, WIDE));
    assert_eq!(handle.identity().unwrap().restored, Some(Epoch(2)));
    handle.wait().unwrap();
    assert_counted(&tap, &sink.texts());
}

#[test]
fn each_dead_letter_is_visible_once_whatever_was_killed() {
    let (world, letters) = (World::new(), MemorySink::default().exactly_once());
    let sink = MemorySink::default().exactly_once();
    let tap = Tap::new(2, 400, |split, at| {
        let kind = if at % 10 == 3 { "poison-reject" } else { "fine" };
        drop_of(format!("{kind} {split} {at}"))
    });
    let tap = tap.opened_to(0);
    let job = Job::new()
        .source("tap", tap.clone())
        .function("picky", &["tap"], picky(), |node| node.on_error = OnError::DeadLetter)
        .sink("out", &["picky"], sink.clone())
        .dead_letters(&letters);
    for open in [90, 210, 300] {
        let handle = world.start(&job);
        tap.open_to(open);
        assert!(handle.wait_until(LONG, |handle| handle.metrics().operator("picky").unwrap().dead_letters > 5));
        handle.checkpoint(LONG).unwrap();
        handle.abandon();
    }
    tap.open_to(u64::MAX);
    world.finish(&job);
    assert_eq!((sink.texts().len(), letters.texts().len()), (720, 80));
    let mut positions: Vec<_> = letters.records().iter().map(|letter| letter.origin).collect();
    positions.sort();
    positions.dedup();
    assert_eq!(positions.len(), 80);
}

#[test]
fn processing_time_goes_on_from_the_checkpoint_though_the_machine_was_set_back() {
    let ttl = Ttl { millis: 1_000, clock: TtlClock::ProcessingTime, refresh: Refresh::OnWrite };
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let tap = Tap::new(1, 3, |_, _| drop_of("k")).opened_to(1);
    let job = Job::new()
        .source("tap", tap.clone())
        .function("count", &["tap"], count_with(StateDescriptor { ttl: Some(ttl), ..count_state() }), |_| ())
        .sink("out", &["count"], sink.clone());
    let arrived =
        |count: u64| move |handle: &runtime::JobHandle| handle.metrics().operator("out").unwrap().records_in == count;
    world.clock.set_now(HostTime(5_000));
    let handle = world.start(&job);
    assert!(handle.wait_until(LONG, arrived(1)));
    world.clock.set_now(HostTime(5_900));
    handle.checkpoint(LONG).unwrap();
    handle.abandon();
    // Set back by more than the time to live: the entry is neither older nor younger for that.
    world.clock.set_now(HostTime(1_000));
    let handle = world.start(&job);
    tap.open_to(2);
    assert!(handle.wait_until(LONG, arrived(1)));
    assert!(handle.conditions().iter().any(|condition| condition.kind == ConditionKind::ClockJumped));
    world.clock.set_now(HostTime(7_000));
    tap.open_to(3);
    handle.wait().unwrap();
    assert_eq!(sink.texts(), ["k 1", "k 2", "k 1"]);
}
