//! Power is lost: what was not synced is gone.

use contract::doubles::MemorySink;
use model::Epoch;

use super::support::{LONG, Tap, Width, World, assert_counted, counting, few_keys};

const WIDE: Width = Width { sources: 2, counts: 3, sinks: 3 };

fn lose_power(world: &World) {
    world.log.lose_power();
    world.objects.lose_power();
}

/// Opens the tap to `open`, takes a checkpoint once everything has arrived, and lets the power go when it is known to
/// be complete and, where it is to be, published. Returns its epoch.
fn acknowledged(world: &World, sink: &MemorySink, tap: &Tap, open: u64, is_published: bool) -> Epoch {
    let handle = world.start(&counting(tap, sink, WIDE));
    tap.open_to(open);
    let arrived = |handle: &runtime::JobHandle| handle.metrics().operator("out").unwrap().records_in >= 200;
    assert!(handle.wait_until(LONG, arrived));
    let epoch = handle.checkpoint(LONG).unwrap();
    assert!(!is_published || handle.wait_until(LONG, |handle| handle.checkpoints()[0].published_at.is_some()));
    handle.abandon();
    lose_power(world);
    epoch
}

#[test]
fn an_acknowledged_checkpoint_outlives_a_loss_of_power() {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let tap = few_keys(2, 1_000).opened_to(0);
    for round in 1..=5 {
        let epoch = acknowledged(&world, &sink, &tap, round * 100, round % 2 == 0);
        let handle = world.start(&counting(&tap, &sink, WIDE));
        assert_eq!(handle.identity().unwrap().restored, Some(epoch));
        handle.abandon();
        lose_power(&world);
    }
    tap.open_to(u64::MAX);
    world.finish(&counting(&tap, &sink, WIDE));
    assert_counted(&tap, &sink.texts());
}

/// The oracle of the test before sees a store that acknowledges what it has not synced.
#[test]
fn a_log_that_does_not_sync_is_seen_by_what_is_restored() {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let tap = few_keys(2, 1_000).opened_to(0);
    let first = acknowledged(&world, &sink, &tap, 100, true);
    sink.fail_to_publish(1_000_000, "the target is away");
    world.log.forget_to_sync(true);
    let second = acknowledged(&world, &sink, &tap, 200, false);
    sink.fail_to_publish(0, "");
    let handle = world.start(&counting(&tap, &sink, WIDE));
    assert_eq!(handle.identity().unwrap().restored, Some(first));
    assert_ne!(first, second);
}

#[test]
fn a_log_that_did_not_sync_what_is_published_is_refused() {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let tap = few_keys(2, 1_000).opened_to(0);
    acknowledged(&world, &sink, &tap, 100, true);
    world.log.forget_to_sync(true);
    acknowledged(&world, &sink, &tap, 200, true);
    world.log.forget_to_sync(false);
    let error = world.try_start(&counting(&tap, &sink, WIDE)).unwrap_err();
    assert_eq!(error.code(), Some("E0437"), "{error}");
    assert_eq!(sink.texts().len(), 400);
}

#[test]
fn objects_that_were_not_synced_fail_the_job_that_needs_them() {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let tap = few_keys(2, 1_000).opened_to(0);
    acknowledged(&world, &sink, &tap, 100, true);
    world.objects.forget_to_sync(true);
    acknowledged(&world, &sink, &tap, 200, true);
    tap.open_to(u64::MAX);
    let failure = world.start(&counting(&tap, &sink, WIDE)).wait().unwrap_err();
    assert!(failure.to_string().contains("it is not there"), "{failure}");
    assert_eq!(sink.texts().len(), 400);
}
