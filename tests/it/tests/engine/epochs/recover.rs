//! A job that is killed and started again.

use std::sync::Arc;

use contract::StateBackend;
use contract::doubles::{MapBackend, MemorySink};
use model::Epoch;

use super::support::{LONG, Width, World, assert_counted, counting, counting_in, few_keys};

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
