//! Epochs of a job that nothing happens to.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use contract::CheckpointStore;
use contract::doubles::MemorySink;
use model::{Epoch, Parallelism};
use protocol::manifest::CheckpointKind;
use protocol::retention::ObjectName;
use runtime::Outcome;

use super::support::{LONG, Tap, Width, World, assert_counted, count, counting, drop_of, few_keys};
use crate::support::{Job, sorted};

const WIDE: Width = Width { sources: 2, counts: 3, sinks: 3 };
const NARROW: Width = Width { sources: 1, counts: 1, sinks: 1 };

#[test]
fn finite_input_is_published_before_the_job_has_finished() {
    for width in [NARROW, WIDE] {
        let (world, sink) = (World::new(), MemorySink::default().exactly_once());
        let tap = few_keys(4, 500);
        let summary = world.finish(&counting(&tap, &sink, width));
        assert_eq!(summary.outcome, Outcome::Finished);
        assert_counted(&tap, &sink.texts());
        assert_eq!(sink.published().len(), 1);
    }
}

#[test]
fn a_cancelled_job_publishes_what_it_read() {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let mut tap = few_keys(2, u64::MAX).opened_to(300);
    let handle = world.start(&counting(&tap, &sink, WIDE));
    assert!(handle.wait_until(LONG, |handle| handle.metrics().operator("out").unwrap().records_in == 600));
    handle.cancel();
    assert_eq!(handle.wait().unwrap().outcome, Outcome::Cancelled);
    tap.end = 300;
    assert_counted(&tap, &sink.texts());
}

#[test]
fn a_source_at_its_end_takes_part_in_checkpoints_until_the_others_are_told_to_stop() {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let short = Tap::new(1, 10, |_, at| drop_of(format!("s{at}")));
    let long = Tap::new(2, u64::MAX, |split, at| drop_of(format!("l{split}-{at}"))).opened_to(100);
    let job = Job::new()
        .source("short", short)
        .source("long", long.clone())
        .function("count", &["short", "long"], count(), |node| node.parallelism = Parallelism(2))
        .sink_node("out", &["count"], sink.clone(), |node| node.parallelism = Parallelism(2));
    let handle = world.start(&job);
    let arrived = |handle: &runtime::JobHandle| handle.metrics().operator("out").unwrap().records_in;
    for (epoch, open) in [(1, 100), (2, 150)] {
        long.open_to(open);
        assert!(handle.wait_until(LONG, |handle| arrived(handle) == 10 + 2 * open));
        assert_eq!(handle.checkpoint(LONG).unwrap(), Epoch(epoch));
        let newest = handle.checkpoints().remove(0);
        assert!(newest.subtasks.iter().any(|subtask| subtask.operator.as_str() == "short"));
    }
    long.open_to(200);
    assert!(handle.wait_until(LONG, |handle| arrived(handle) == 410));
    handle.cancel();
    assert_eq!(handle.wait().unwrap().outcome, Outcome::Cancelled);
    let texts = sorted(sink.texts());
    assert_eq!(texts.len(), 410);
    assert!(texts.iter().all(|text| text.ends_with(" 1")) && texts.windows(2).all(|pair| pair[0] != pair[1]));
}

#[test]
fn each_checkpoint_makes_visible_what_came_before_it_and_nothing_after() {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let tap = few_keys(2, 1000).opened_to(0);
    let handle = world.start(&counting(&tap, &sink, WIDE));
    for (number, open) in [(1u64, 100u64), (2, 350), (3, 350), (4, 900)] {
        tap.open_to(open);
        let arrived = open * 2;
        assert!(handle.wait_until(LONG, |handle| handle.metrics().operator("out").unwrap().records_in == arrived));
        assert_eq!(handle.checkpoint(LONG).unwrap(), Epoch(number));
        assert!(handle.wait_until(LONG, |handle| handle.checkpoints()[0].published_at.is_some()));
        assert_eq!(sink.texts().len() as u64, arrived);
    }
    tap.open_to(u64::MAX);
    handle.wait().unwrap();
    assert_counted(&tap, &sink.texts());
    // The third had nothing to publish, and cost the target nothing.
    let published: Vec<_> = sink.published().iter().map(|(_, epoch)| epoch.0).collect();
    assert_eq!(published, [1, 2, 4, 5]);
}

#[test]
fn a_job_without_records_takes_checkpoints_that_cost_nothing() {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let tap = few_keys(2, 10).opened_to(0);
    let handle = world.start(&counting(&tap, &sink, WIDE));
    for epoch in 1..=10 {
        assert_eq!(handle.checkpoint(LONG).unwrap(), Epoch(epoch));
    }
    assert_eq!(sink.publish_calls(), 0);
    let history = handle.checkpoints();
    assert!(history.iter().all(|checkpoint| checkpoint.aborted.is_none()));
    assert!(history.iter().flat_map(|checkpoint| &checkpoint.subtasks).all(|subtask| subtask.bytes == 0));
    handle.abandon();
}

#[test]
fn the_history_names_every_subtask_and_what_it_cost() {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let tap = few_keys(2, 1000).opened_to(50);
    let handle = world.start(&counting(&tap, &sink, WIDE));
    assert!(handle.wait_until(LONG, |handle| handle.metrics().operator("out").unwrap().records_in == 100));
    handle.checkpoint(LONG).unwrap();
    let newest = handle.checkpoints().remove(0);
    assert_eq!((newest.epoch, newest.kind), (Epoch(1), CheckpointKind::OnDemand));
    let mut subtasks: Vec<_> =
        newest.subtasks.iter().map(|subtask| format!("{}/{}", subtask.operator, subtask.subtask)).collect();
    subtasks.sort();
    assert_eq!(subtasks, ["count/0", "count/1", "count/2", "out/0", "out/1", "out/2", "tap/0", "tap/1"]);
    assert!(newest.subtasks.iter().any(|subtask| subtask.operator.as_str() == "count" && subtask.bytes > 0));
    assert!(handle.conditions().is_empty());
    let counts = handle.checkpoint_counts().unwrap();
    assert_eq!((counts.complete, counts.aborted, counts.last_complete_at), (1, 0, newest.completed_at));
    assert!(counts.last_bytes > 0);
    handle.abandon();
}

#[test]
fn a_sink_that_does_not_stage_has_what_came_before_a_checkpoint() {
    let (world, sink) = (World::new(), MemorySink::default());
    let tap = few_keys(1, 1000).opened_to(100);
    let handle = world.start(&counting(&tap, &sink, NARROW));
    assert!(handle.wait_until(LONG, |handle| handle.metrics().operator("out").unwrap().records_in == 100));
    handle.checkpoint(LONG).unwrap();
    assert!(sink.flushed() >= 100);
    handle.abandon();
}

#[test]
fn a_second_run_finds_nothing_new_and_publishes_nothing() {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let tap = few_keys(2, 100);
    world.finish(&counting(&tap, &sink, WIDE));
    let calls = sink.publish_calls();
    world.finish(&counting(&tap, &sink, WIDE));
    assert_eq!(sink.publish_calls(), calls);
    assert_counted(&tap, &sink.texts());
    // What has grown since is read.
    let mut longer = tap.clone();
    longer.end = 150;
    world.finish(&counting(&longer, &sink, WIDE));
    assert_counted(&longer, &sink.texts());
}

#[test]
fn a_checkpoint_over_two_sources_holds_the_fast_one_until_the_slow_one_is_there() {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let fast = few_keys(1, 2_000).opened_to(100);
    let (is_slow, is_met) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(false)));
    let (holds, met) = (Arc::clone(&is_slow), Arc::clone(&is_met));
    let mut slow = Tap::new(1, 50, move |_, at| {
        while at == 30 && holds.load(Ordering::SeqCst) {
            met.store(true, Ordering::SeqCst);
            std::thread::yield_now();
        }
        drop_of(format!("k{}", at % 7))
    });
    slow.max_rows = 1;
    let job = Job::new()
        .source("fast", fast.clone())
        .source("slow", slow.clone())
        .function("count", &["fast", "slow"], count(), |node| node.parallelism = Parallelism(2))
        .sink_node("out", &["count"], sink.clone(), |node| node.parallelism = Parallelism(2));
    let handle = world.start(&job);
    let arrived = |handle: &runtime::JobHandle| handle.metrics().operator("out").unwrap().records_in;
    assert!(handle.wait_until(LONG, |handle| arrived(handle) >= 100));
    assert!(handle.wait_until(LONG, |_| is_met.load(Ordering::SeqCst)));
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| handle.checkpoint(LONG));
        assert!(handle.wait_until(LONG, |handle| !handle.checkpoints().is_empty()));
        let passed = |handle: &runtime::JobHandle| {
            let subtasks = &handle.checkpoints()[0].subtasks;
            subtasks.iter().any(|subtask| subtask.operator.as_str() == "fast")
        };
        assert!(handle.wait_until(LONG, passed));
        // What the fast one sends now belongs to the next epoch: nobody sees it before the slow one is there.
        fast.open_to(1_000);
        assert!(handle.wait_until(LONG, |handle| handle.metrics().operator("fast").unwrap().records_out == 1_000));
        assert!(arrived(&handle) <= 130);
        is_slow.store(false, Ordering::SeqCst);
        assert_eq!(asked.join().unwrap().unwrap(), Epoch(1));
    });
    assert!(handle.wait_until(LONG, |handle| handle.checkpoints()[0].published_at.is_some()));
    assert!((130..=131).contains(&sink.texts().len()), "{}", sink.texts().len());
    handle.abandon();
    fast.open_to(u64::MAX);
    world.finish(&job);
    let expected = |texts: Vec<String>| {
        let mut counts = std::collections::BTreeMap::<String, u64>::new();
        let counted = texts.into_iter().map(move |text| {
            let count = counts.entry(text.clone()).or_default();
            *count += 1;
            format!("{text} {count}")
        });
        sorted(counted.collect())
    };
    let all = fast.drops().into_iter().chain(slow.drops()).map(|drop| drop.text).collect();
    assert_eq!(sorted(sink.texts()), expected(all));
}

#[test]
fn old_checkpoints_are_removed_and_what_is_kept_can_be_restored() {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let tap = few_keys(2, 3_000).opened_to(0);
    let job = counting(&tap, &sink, NARROW);
    let handle = world.start(&job);
    let mut most = (0, 0);
    for epoch in 1..=60u64 {
        tap.open_to(epoch * 20);
        assert!(handle.wait_until(LONG, |handle| handle.metrics().operator("out").unwrap().records_in == epoch * 40));
        handle.checkpoint(LONG).unwrap();
        let stored = (world.log.list().unwrap().len(), world.objects.names().len());
        most = (most.0.max(stored.0), most.1.max(stored.1));
    }
    // What is named otherwise is never collected.
    assert!(world.objects.names().iter().all(|name| ObjectName::parse(name).is_some()));
    // A few manifests, and for the one subtask an image and the deltas since, for as many manifests as are kept.
    assert!(most.0 <= 8 && most.1 <= 48, "{most:?}");
    handle.abandon();
    tap.open_to(u64::MAX);
    world.finish(&job);
    assert_counted(&tap, &sink.texts());
}
