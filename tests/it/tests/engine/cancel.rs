//! A cancelled job ends in good order: what was read is handled, and the positions say how far.

use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::Duration;

use contract::doubles::{MemoryItem, MemorySink, MemorySource};
use model::Parallelism;
use runtime::Outcome;

use crate::support::{Job, dedup, numbered, pass, record, values};

#[test]
fn what_was_read_before_a_cancel_reaches_the_sink() {
    let (arrived, first) = mpsc::channel();
    let sink = MemorySink::default().on_write(move |_| {
        arrived.send(()).ok();
    });
    let source = MemorySource::default().with_items(|index| Some(record(&format!("value-{index}"))));
    let delivered = source.delivered();
    let job = Job::new()
        .source("endless", source)
        .function("dedup", &["endless"], dedup(), |node| node.parallelism = Parallelism(2))
        .function("pass", &["dedup"], pass(), |_| ())
        .sink("out", &["pass"], sink.clone());
    let handle = job.start();
    first.recv().unwrap();
    handle.cancel();
    let summary = handle.wait().unwrap();
    assert_eq!(summary.outcome, Outcome::Cancelled);
    let read = delivered.load(Ordering::SeqCst);
    assert_eq!(sink.records().len() as u64, read);
    assert_eq!(summary.positions[0].position.0, read);
    assert_eq!(sink.opened_and_closed(), (1, 1));
}

#[test]
fn an_idle_source_is_woken_by_a_cancel() {
    let (arrived, first) = mpsc::channel();
    let sink = MemorySink::default().on_write(move |_| {
        arrived.send(()).ok();
    });
    let pause = Duration::from_secs(3600);
    let source = MemorySource::default()
        .with_items(move |index| Some(if index == 0 { record("one") } else { MemoryItem::Idle(pause) }));
    let job = Job::new()
        .source("idle", source)
        .function("dedup", &["idle"], dedup(), |node| node.parallelism = Parallelism(3))
        .sink("out", &["dedup"], sink.clone());
    let handle = job.start();
    // The one record crosses although nothing follows it: an idle input closes batches.
    first.recv().unwrap();
    let canceller = handle.canceller();
    canceller.cancel();
    assert_eq!(handle.wait().unwrap().outcome, Outcome::Cancelled);
    assert_eq!(sink.texts(), ["one"]);
}

#[test]
fn a_cancel_after_the_end_changes_nothing() {
    let job = Job::new().source("lines", values(numbered("a", 10))).sink("out", &["lines"], MemorySink::default());
    let handle = job.start();
    while !handle.wait_for(Duration::from_secs(60)) {}
    handle.cancel();
    assert_eq!(handle.wait().unwrap().outcome, Outcome::Finished);
}

#[test]
fn a_dropped_handle_cancels_its_job() {
    let (ended, end) = mpsc::channel();
    let sink = MemorySink::default();
    let seen = sink.clone();
    let source = MemorySource::default().with_items(|index| Some(record(&format!("value-{index}"))));
    let job = Job::new().source("endless", source).sink("out", &["endless"], sink);
    drop(job.start());
    // The writer closes at the end of a cancelled job; the watcher sees it through the sink.
    std::thread::spawn(move || {
        while seen.opened_and_closed().1 == 0 {
            std::thread::yield_now();
        }
        ended.send(()).ok();
    });
    end.recv_timeout(Duration::from_secs(60)).unwrap();
}

#[test]
fn metrics_can_be_asked_for_while_the_job_runs() {
    let (arrived, first) = mpsc::channel();
    let sink = MemorySink::default().on_write(move |_| {
        arrived.send(()).ok();
    });
    let source = MemorySource::default().with_items(|index| Some(record(&format!("value-{index}"))));
    let handle = Job::new().source("endless", source).sink("out", &["endless"], sink).start();
    first.recv().unwrap();
    first.recv().unwrap();
    let snapshot = handle.metrics();
    assert!(snapshot.operator("out").unwrap().records_in > 0);
    assert!(snapshot.operator("endless").unwrap().records_out > 0);
    handle.cancel();
    handle.wait().unwrap();
}
