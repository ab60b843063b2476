//! Stores, targets and owners that do not do what was hoped for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use contract::doubles::{Fault, MemoryCheckpoints, MemorySink, StoreCall};
use contract::{
    CheckpointStore, Creation, Delivery, Error, Nonce, ObjectNumber, Publisher, Randomness, Sink, SinkWriter,
    StoredObject, WriterTask,
};
use model::{Epoch, LineageId, Retry};
use runtime::ConditionKind;

use super::support::{LONG, Width, World, assert_counted, count, counting, few_keys};
use crate::support::Job;

const WIDE: Width = Width { sources: 2, counts: 3, sinks: 3 };

#[test]
fn an_answer_of_publish_that_is_lost_doubles_nothing() {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let tap = few_keys(2, 500).opened_to(200);
    let handle = world.start(&counting(&tap, &sink, WIDE));
    sink.lose_answers(3);
    for open in [200, 300, 400] {
        tap.open_to(open);
        assert!(handle.wait_until(LONG, |handle| handle.metrics().operator("out").unwrap().records_in == open * 2));
        handle.checkpoint(LONG).unwrap();
    }
    tap.open_to(u64::MAX);
    handle.wait().unwrap();
    assert_counted(&tap, &sink.texts());
    assert!(sink.publish_calls() > sink.published().len());
}

#[test]
fn a_target_that_is_away_delays_publication_and_is_a_condition() {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let tap = few_keys(2, 500).opened_to(200);
    let handle = world.start(&counting(&tap, &sink, WIDE));
    sink.fail_to_publish(3, "the target is away");
    assert!(handle.wait_until(LONG, |handle| handle.metrics().operator("out").unwrap().records_in == 400));
    handle.checkpoint(LONG).unwrap();
    let says_so = |handle: &runtime::JobHandle| {
        handle.conditions().iter().any(|condition| {
            condition.kind == ConditionKind::NotPublished && condition.message.contains("the target is away")
        })
    };
    assert!(handle.wait_until(LONG, says_so));
    assert!(handle.wait_until(LONG, |handle| handle.conditions().is_empty()));
    tap.open_to(u64::MAX);
    handle.wait().unwrap();
    assert_counted(&tap, &sink.texts());
}

#[test]
fn an_answer_of_the_log_that_is_lost_is_asked_for_again() {
    let (mut world, sink) = (World::new(), MemorySink::default().exactly_once());
    // Time passes fast here: nothing is given up for that.
    world.options.timeout = LONG * 1_000;
    let tap = few_keys(2, 500).opened_to(200);
    let handle = world.start(&counting(&tap, &sink, WIDE));
    for fault in [Fault::AnswerLost, Fault::NoAnswer] {
        world.log.inject(StoreCall::Create, fault, 2);
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| handle.checkpoint(LONG));
            while !asked.is_finished() {
                world.clock.advance(world.options.create_again_after);
                std::thread::park_timeout(std::time::Duration::from_millis(1));
            }
            asked.join().unwrap().unwrap();
        });
    }
    assert_eq!(handle.checkpoints()[0].epoch, Epoch(2));
    tap.open_to(u64::MAX);
    handle.wait().unwrap();
    assert_counted(&tap, &sink.texts());
}

#[test]
fn a_job_that_another_process_started_again_is_fenced_and_makes_nothing_visible() {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let tap = few_keys(2, 500).opened_to(200);
    let job = counting(&tap, &sink, WIDE);
    let zombie = world.start(&job);
    assert!(zombie.wait_until(LONG, |handle| handle.metrics().operator("out").unwrap().records_in == 400));
    let owner = world.start(&job);
    zombie.checkpoint(LONG).unwrap_err();
    let failure = zombie.wait().unwrap_err();
    assert_eq!(failure.code.as_deref(), Some("E0433"), "{failure}");
    assert!(sink.texts().is_empty());
    tap.open_to(u64::MAX);
    owner.wait().unwrap();
    assert_counted(&tap, &sink.texts());
}

/// A sink whose publisher takes as long to open as a test says.
struct SlowToOpen {
    sink: MemorySink,
    is_held: Arc<AtomicBool>,
    is_met: Arc<AtomicBool>,
}

impl Sink for SlowToOpen {
    fn delivery(&self) -> Delivery {
        self.sink.delivery()
    }

    fn open(&self, task: &WriterTask) -> Result<Box<dyn SinkWriter>, Error> {
        self.sink.open(task)
    }

    fn publisher(&self, lineage: LineageId) -> Result<Option<Box<dyn Publisher>>, Error> {
        self.is_met.store(true, Ordering::SeqCst);
        while self.is_held.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        self.sink.publisher(lineage)
    }
}

#[test]
fn a_start_that_is_overtaken_removes_nothing_that_the_newer_owner_staged() {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let tap = few_keys(2, 500).opened_to(200);
    let (is_held, is_met) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(false)));
    let slow = SlowToOpen { sink: sink.clone(), is_held: Arc::clone(&is_held), is_met: Arc::clone(&is_met) };
    let slow = Job::new().source("tap", tap.clone()).function("count", &["tap"], count(), |_| ()).sink_node(
        "out",
        &["count"],
        slow,
        |_| (),
    );
    let owner = std::thread::scope(|scope| {
        let overtaken = scope.spawn(|| world.try_start(&slow));
        while !is_met.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        let owner = world.start(&counting(&tap, &sink, WIDE));
        assert!(owner.wait_until(LONG, |handle| handle.metrics().operator("out").unwrap().records_in == 400));
        sink.fail_to_publish(1_000_000, "the target is away");
        owner.checkpoint(LONG).unwrap();
        is_held.store(false, Ordering::SeqCst);
        overtaken.join().unwrap().unwrap().abandon();
        owner
    });
    assert_eq!(sink.staged().len(), 400);
    sink.fail_to_publish(0, "");
    tap.open_to(u64::MAX);
    owner.wait().unwrap();
    assert_counted(&tap, &sink.texts());
}

/// A log whose program panics once, after a record was created.
struct PanicsAfterCreating {
    log: Arc<MemoryCheckpoints>,
    is_due: Arc<AtomicBool>,
}

impl CheckpointStore for PanicsAfterCreating {
    fn create(&self, number: ObjectNumber, nonce: Nonce, body: &[u8]) -> Result<Creation, Error> {
        let created = self.log.create(number, nonce, body);
        assert!(!self.is_due.swap(false, Ordering::SeqCst), "told to");
        created
    }

    fn list(&self) -> Result<Vec<ObjectNumber>, Error> {
        self.log.list()
    }

    fn read(&self, number: ObjectNumber) -> Result<Option<StoredObject>, Error> {
        self.log.read(number)
    }

    fn remove(&self, number: ObjectNumber) -> Result<(), Error> {
        self.log.remove(number)
    }
}

#[test]
fn a_manifest_that_may_be_in_the_log_is_not_taken_for_refused() {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let tap = few_keys(2, 500).opened_to(200);
    let job = counting(&tap, &sink, WIDE);
    let is_due = Arc::new(AtomicBool::new(false));
    let mut durability = world.durability();
    durability.log = Arc::new(PanicsAfterCreating { log: Arc::clone(&world.log), is_due: Arc::clone(&is_due) });
    let clock = Arc::clone(&world.clock);
    let handle = runtime::start_durable(&job.0, clock, &durability).unwrap();
    is_due.store(true, Ordering::SeqCst);
    handle.checkpoint(LONG).unwrap_err();
    tap.open_to(u64::MAX);
    let failure = handle.wait().unwrap_err();
    assert_eq!((failure.code.as_deref(), failure.retry), (Some("E0442"), Retry::RestoreFirst), "{failure}");
    world.finish(&job);
    assert_counted(&tap, &sink.texts());
}

/// Draws until it is told to panic.
struct PanicsWhenDue {
    draws: Arc<dyn Randomness>,
    is_due: Arc<AtomicBool>,
}

impl Randomness for PanicsWhenDue {
    fn draw(&self) -> u64 {
        assert!(!self.is_due.load(Ordering::SeqCst), "told to");
        self.draws.draw()
    }
}

#[test]
fn a_coordinator_that_panics_ends_the_job_though_a_target_is_away() {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let tap = few_keys(2, 500).opened_to(200);
    let job = counting(&tap, &sink, WIDE);
    let is_due = Arc::new(AtomicBool::new(false));
    let mut durability = world.durability();
    durability.randomness =
        Arc::new(PanicsWhenDue { draws: Arc::clone(&durability.randomness), is_due: Arc::clone(&is_due) });
    let clock = Arc::clone(&world.clock);
    let handle = runtime::start_durable(&job.0, clock, &durability).unwrap();
    assert!(handle.wait_until(LONG, |handle| handle.metrics().operator("out").unwrap().records_in == 400));
    sink.fail_to_publish(1_000_000, "the target is away");
    handle.checkpoint(LONG).unwrap();
    is_due.store(true, Ordering::SeqCst);
    handle.checkpoint(LONG).unwrap_err();
    assert!(handle.wait_for(LONG), "the publisher that goes on trying is told to stop");
    assert_eq!(handle.wait().unwrap_err().code.as_deref(), Some("E0520"));
    sink.fail_to_publish(0, "");
    tap.open_to(u64::MAX);
    world.finish(&job);
    assert_counted(&tap, &sink.texts());
}

#[test]
fn what_cannot_be_staged_fails_the_job_by_name_and_the_next_start_loses_nothing() {
    let world = World::new();
    let sink = MemorySink::default().exactly_once().failing_to_stage(Epoch(2), "the disk is full");
    let tap = few_keys(2, 500).opened_to(200);
    let job = counting(&tap, &sink, WIDE);
    let handle = world.start(&job);
    assert!(handle.wait_until(LONG, |handle| handle.metrics().operator("out").unwrap().records_in == 400));
    handle.checkpoint(LONG).unwrap();
    tap.open_to(u64::MAX);
    let failure = handle.wait().unwrap_err();
    assert_eq!((failure.operator.as_str(), failure.retry), ("out", Retry::RestoreFirst), "{failure}");
    assert!(failure.message.contains("the disk is full"), "{failure}");
    sink.heal_staging();
    world.finish(&job);
    assert_counted(&tap, &sink.texts());
}

#[test]
fn records_flow_while_the_store_is_full_until_the_backlog_is_full() {
    let (mut world, sink) = (World::new(), MemorySink::default().exactly_once());
    world.backlog_bytes = 2_000;
    let tap = few_keys(2, 2_000).opened_to(50);
    let handle = world.start(&counting(&tap, &sink, WIDE));
    assert!(handle.wait_until(LONG, |handle| handle.metrics().operator("out").unwrap().records_in == 100));
    world.objects.limit_capacity(Some(0));
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| handle.checkpoint(LONG));
        let has = |handle: &runtime::JobHandle, kind| handle.conditions().iter().any(|it| it.kind == kind);
        assert!(handle.wait_until(LONG, |handle| has(handle, ConditionKind::StoreFull)));
        tap.open_to(u64::MAX);
        assert!(handle.wait_until(LONG, |handle| has(handle, ConditionKind::BacklogFull)));
        assert!(handle.metrics().operator("tap").unwrap().records_out < 4_000);
        world.clock.advance(world.options.timeout * 2);
        asked.join().unwrap().unwrap_err();
    });
    // There is room again: what is owed becomes durable, and each time the backlog is full a checkpoint is taken.
    world.objects.limit_capacity(None);
    handle.wait().unwrap();
    assert_counted(&tap, &sink.texts());
}
