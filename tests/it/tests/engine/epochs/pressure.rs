//! What is slow, full or away holds a job up: it says so, fails nothing, and goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use contract::doubles::{ClosureFactory, MapBackend, MemorySink, StoreCall};
use contract::{Delivery, Error, Publisher, Sink, SinkWriter, StagedOutput, WriterTask};
use model::{Epoch, Generation, LineageId, Parallelism};
use protocol::manifest::CheckpointKind;
use runtime::{Condition, ConditionKind, FunctionNode, JobHandle};

use super::support::{LONG, Tap, Width, World, assert_counted, count, counting, drop_of, few_keys};
use crate::support::{Job, descriptor};

const WIDE: Width = Width { sources: 2, counts: 3, sinks: 3 };

fn condition(handle: &JobHandle, kind: ConditionKind) -> Option<Condition> {
    handle.conditions().into_iter().find(|condition| condition.kind == kind)
}

fn records_in(handle: &JobHandle, uid: &str) -> u64 {
    handle.metrics().operator(uid).unwrap().records_in
}

/// Puts are held until the switch is off. Says whether one was met.
fn hold_puts(world: &World) -> (Arc<AtomicBool>, Arc<AtomicBool>) {
    let (is_held, is_met) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(false)));
    let (held, met) = (Arc::clone(&is_held), Arc::clone(&is_met));
    world.objects.before_calls(move |call, _| {
        while call == StoreCall::Put && held.load(Ordering::SeqCst) {
            met.store(true, Ordering::SeqCst);
            std::thread::yield_now();
        }
    });
    (is_held, is_met)
}

#[test]
fn a_store_slower_than_every_timeout_together_completes_its_checkpoint() {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let tap = few_keys(2, 500).opened_to(200);
    let handle = world.start(&counting(&tap, &sink, WIDE));
    assert!(handle.wait_until(LONG, |handle| records_in(handle, "out") == 400));
    let (is_held, is_met) = hold_puts(&world);
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| handle.checkpoint(LONG));
        assert!(handle.wait_until(LONG, |_| is_met.load(Ordering::SeqCst) && sink.staged().len() == 400));
        // More often than failures are tolerated.
        for _ in 0..10 {
            world.clock.advance(world.options.timeout);
            std::thread::park_timeout(Duration::from_millis(5));
        }
        let why = asked.join().unwrap().unwrap_err();
        assert!(why.contains("`count`/") && why.contains("goes on"), "{why}");
    });
    assert!(handle.wait_until(LONG, |handle| condition(handle, ConditionKind::CheckpointSlow).is_some()));
    let slow = condition(&handle, ConditionKind::CheckpointSlow).unwrap();
    assert!(slow.message.contains("epoch 1 waits until what 3 of 8 subtasks handed over is durable"), "{slow:?}");
    is_held.store(false, Ordering::SeqCst);
    assert!(handle.wait_until(LONG, |handle| handle.checkpoint_counts().unwrap().complete == 1));
    assert_eq!(handle.checkpoint_counts().unwrap().aborted, 0);
    assert!(handle.wait_until(LONG, |handle| handle.conditions().is_empty()));
    handle.abandon();
    tap.open_to(u64::MAX);
    world.finish(&counting(&tap, &sink, WIDE));
    assert_counted(&tap, &sink.texts());
}

#[test]
fn a_subtask_that_does_not_pass_the_barrier_is_named_and_what_others_handed_over_is_not_lost() {
    let world = World::new();
    let (is_held, met) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (held, seen) = (Arc::clone(&is_held), Arc::clone(&met));
    let sink = MemorySink::default().exactly_once().on_write(move |_| {
        while held.load(Ordering::SeqCst) {
            seen.store(true, Ordering::SeqCst);
            std::thread::yield_now();
        }
    });
    let tap = few_keys(2, 500).opened_to(200);
    let job = counting(&tap, &sink, Width { sinks: 1, ..WIDE });
    let handle = world.start(&job);
    assert!(handle.wait_until(LONG, |handle| records_in(handle, "out") == 400));
    is_held.store(true, Ordering::SeqCst);
    tap.open_to(300);
    assert!(handle.wait_until(LONG, |_| met.load(Ordering::SeqCst)));
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| handle.checkpoint(LONG));
        assert!(handle.wait_until(LONG, |_| handle.epoch_in_progress() == Some(Epoch(2))));
        let is_named = |handle: &JobHandle| {
            let slow = condition(handle, ConditionKind::CheckpointSlow);
            slow.is_some_and(|slow| slow.message.contains("1 of 6 subtasks to pass the barrier, the first is `out`/0"))
        };
        world.clock.advance(world.options.timeout / 2);
        assert!(handle.wait_until(LONG, is_named), "{:?}", handle.conditions());
        world.clock.advance(world.options.timeout);
        let why = asked.join().unwrap().unwrap_err();
        assert!(why.contains("timed out: 1 of 6 subtasks") && why.contains("`out`/0"), "{why}");
    });
    let aborted = condition(&handle, ConditionKind::CheckpointsAborted).unwrap();
    assert!(aborted.message.contains("`out`/0"), "{aborted:?}");
    is_held.store(false, Ordering::SeqCst);
    assert_eq!(handle.checkpoint(LONG).unwrap(), Epoch(2));
    assert!(handle.wait_until(LONG, |handle| handle.conditions().is_empty()), "{:?}", handle.conditions());
    handle.abandon();
    tap.open_to(u64::MAX);
    world.finish(&job);
    assert_counted(&tap, &sink.texts());
}

#[test]
fn a_sink_without_room_holds_records_and_checkpoints_up_and_fails_nothing() {
    for sink in [MemorySink::default().exactly_once(), MemorySink::default()] {
        let (world, stages) = (World::new(), sink.delivery() == Delivery::ExactlyOnce);
        let tap = few_keys(2, 200_000).opened_to(200);
        let job = counting(&tap, &sink, WIDE);
        let handle = world.start(&job);
        assert!(handle.wait_until(LONG, |handle| records_in(handle, "out") == 400));
        sink.fill(true);
        tap.open_to(u64::MAX);
        let is_said = |handle: &JobHandle| condition(handle, ConditionKind::SinkWaits).is_some();
        assert!(handle.wait_until(LONG, is_said));
        let said = condition(&handle, ConditionKind::SinkWaits).unwrap();
        assert!(said.message.contains("nothing more fits") && said.operator.unwrap().as_str() == "out");
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| handle.checkpoint(LONG));
            for _ in 0..10 {
                world.clock.advance(world.options.timeout);
                std::thread::park_timeout(Duration::from_millis(5));
            }
            assert!(!handle.wait_for(Duration::ZERO), "it goes on");
            assert!(handle.metrics().operator("tap").unwrap().records_out < 400_000, "sources wait");
            assert!(!asked.is_finished(), "checkpoints wait");
            sink.fill(false);
            asked.join().unwrap().unwrap();
        });
        assert_eq!(handle.checkpoint_counts().unwrap().aborted, 0);
        handle.wait().unwrap();
        assert_counted(&tap, &sink.texts());
        assert!(!stages || sink.staged().is_empty());
    }
}

#[test]
fn what_there_is_no_room_to_stage_becomes_durable_when_there_is() {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let tap = few_keys(2, 500).opened_to(200);
    let job = counting(&tap, &sink, WIDE);
    let handle = world.start(&job);
    assert!(handle.wait_until(LONG, |handle| records_in(handle, "out") == 400));
    sink.fill(true);
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| handle.checkpoint(LONG));
        assert!(handle.wait_until(LONG, |handle| condition(handle, ConditionKind::NotStaged).is_some()));
        let said = condition(&handle, ConditionKind::NotStaged).unwrap();
        assert!(said.message.contains("epoch 1: nothing more fits") && said.subtask.is_some(), "{said:?}");
        assert!(!asked.is_finished());
        sink.fill(false);
        assert_eq!(asked.join().unwrap().unwrap(), Epoch(1));
    });
    assert!(handle.wait_until(LONG, |handle| handle.conditions().is_empty()));
    assert!(handle.wait_until(LONG, |_| sink.texts().len() == 400));
    tap.open_to(u64::MAX);
    handle.wait().unwrap();
    assert_counted(&tap, &sink.texts());
}

#[test]
fn a_job_whose_sink_has_no_room_can_be_stopped_and_loses_nothing() {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let tap = few_keys(2, 500).opened_to(200);
    let job = counting(&tap, &sink, WIDE);
    sink.fill(true);
    let handle = world.start(&job);
    assert!(handle.wait_until(LONG, |handle| condition(handle, ConditionKind::SinkWaits).is_some()));
    handle.abandon();
    sink.fill(false);
    tap.open_to(u64::MAX);
    world.finish(&job);
    assert_counted(&tap, &sink.texts());
}

#[test]
fn a_sink_that_is_away_keeps_no_room_from_another() {
    let mut world = World::new();
    world.backlog_bytes = 12_000;
    let away = MemorySink::default().exactly_once();
    let here = MemorySink::default().exactly_once();
    away.fail_to_publish(usize::MAX, "the target is away");
    // Each record makes one of 14 bytes at each sink.
    let tap = Tap::new(2, 1_000, |split, at| drop_of(format!("key-{split}-{at:06}"))).opened_to(0);
    let job = Job::new()
        .source_node("tap", tap.clone(), |node| node.parallelism = Parallelism(2))
        .function("count", &["tap"], count(), |node: &mut FunctionNode| node.state = Some(Arc::new(MapBackend)))
        .sink("away", &["count"], away.clone())
        .sink("here", &["count"], here.clone());
    let handle = world.start(&job);
    // Each time the backlog is full, what of it a checkpoint can make visible is worth one.
    for (round, open) in [(1, 250), (2, 375), (3, 420)] {
        tap.open_to(open);
        assert!(handle.wait_until(LONG, |_| here.published().len() >= round), "{:?}", handle.conditions());
    }
    tap.open_to(u64::MAX);
    assert!(away.texts().is_empty());
    away.fail_to_publish(0, "");
    handle.wait().unwrap();
    assert_counted(&tap, &here.texts());
    assert_counted(&tap, &away.texts());
}

/// A sink whose publisher hangs in its first call until it is let go.
#[derive(Clone)]
struct Hanging {
    sink: MemorySink,
    is_held: Arc<AtomicBool>,
    is_met: Arc<AtomicBool>,
}

struct HangingPublisher {
    inner: Box<dyn Publisher>,
    hanging: Hanging,
}

impl Sink for Hanging {
    fn delivery(&self) -> Delivery {
        self.sink.delivery()
    }

    fn open(&self, task: &WriterTask) -> Result<Box<dyn SinkWriter>, Error> {
        self.sink.open(task)
    }

    fn publisher(&self, lineage: LineageId) -> Result<Option<Box<dyn Publisher>>, Error> {
        let inner = self.sink.publisher(lineage)?.unwrap();
        Ok(Some(Box::new(HangingPublisher { inner, hanging: self.clone() })))
    }
}

impl Publisher for HangingPublisher {
    fn publish(&mut self, epoch: Epoch, staged: &[StagedOutput]) -> Result<(), Error> {
        if !self.hanging.is_met.swap(true, Ordering::SeqCst) {
            while self.hanging.is_held.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
        }
        self.inner.publish(epoch, staged)
    }

    fn last_published(&mut self) -> Result<Option<Epoch>, Error> {
        self.inner.last_published()
    }

    fn discard_orphans(&mut self, listed: &[StagedOutput], generation: Generation) -> Result<u64, Error> {
        self.inner.discard_orphans(listed, generation)
    }
}

#[test]
fn a_publisher_that_hangs_is_left_behind_and_doubles_nothing_when_it_goes_on() {
    let mut world = World::new();
    world.parting = Duration::from_millis(10);
    let sink = MemorySink::default().exactly_once();
    let held = || Arc::new(AtomicBool::new(true));
    let hanging = Hanging { sink: sink.clone(), is_held: held(), is_met: Arc::new(AtomicBool::new(false)) };
    let tap = few_keys(2, 500).opened_to(200);
    let job = Job::new()
        .source_node("tap", tap.clone(), |node| node.parallelism = Parallelism(2))
        .function("count", &["tap"], count(), |node: &mut FunctionNode| node.state = Some(Arc::new(MapBackend)))
        .sink("out", &["count"], hanging.clone());
    let handle = world.start(&job);
    assert!(handle.wait_until(LONG, |handle| records_in(handle, "out") == 400));
    handle.checkpoint(LONG).unwrap();
    assert!(handle.wait_until(LONG, |_| hanging.is_met.load(Ordering::SeqCst)));
    // It returns though the call does not.
    handle.abandon();
    let again = world.start(&job);
    assert!(again.wait_until(LONG, |_| sink.texts().len() == 400), "the next one publishes what was listed");
    hanging.is_held.store(false, Ordering::SeqCst);
    tap.open_to(u64::MAX);
    again.wait().unwrap();
    assert_counted(&tap, &sink.texts());
}

#[test]
fn a_barrier_does_not_wait_for_seconds_behind_a_slow_function() {
    let mut world = World::new();
    world.options.interval = Some(Duration::from_millis(500));
    // A record of 1000 bytes takes a millisecond: a queue of the default length would hold a second of them.
    let tap = Tap::new(2, 4_000, |_, _| drop_of("x".repeat(1_000)));
    let clock = Arc::clone(&world.clock);
    let slow = ClosureFactory::new(descriptor(&["out"]), move |turn| {
        for _ in 0..turn.batch.records.len() {
            clock.advance(Duration::from_millis(1));
            // The coordinator follows.
            std::thread::park_timeout(Duration::from_micros(100));
        }
        Ok(())
    });
    let job = Job::new()
        .source_node("tap", tap, |node| node.parallelism = Parallelism(2))
        .function("slow", &["tap"], slow, |_| ())
        .sink("out", &["slow"], MemorySink::default());
    let handle = world.start(&job);
    let delays = |handle: &JobHandle| -> Vec<Duration> {
        let checkpoints = handle.checkpoints().into_iter();
        let periodic = checkpoints.filter(|it| it.kind == CheckpointKind::Periodic && it.completed_at.is_some());
        let of_slow = periodic.flat_map(|it| it.subtasks).filter(|it| it.operator.as_str() == "slow");
        of_slow.map(|it| it.start_delay + it.alignment).collect()
    };
    assert!(handle.wait_until(LONG, |handle| delays(handle).len() >= 5), "{:?}", delays(&handle));
    let delays = delays(&handle);
    handle.abandon();
    println!("a barrier waited {delays:?}");
    assert!(delays.iter().all(|delay| *delay < Duration::from_millis(500)), "{delays:?}");
}
