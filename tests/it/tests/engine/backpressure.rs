//! A slow receiver stops its senders: what is in flight is bounded in bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use contract::doubles::{MemorySink, MemorySource};
use model::Parallelism;

use crate::support::{Job, dedup, record};

const VALUE_BYTES: usize = 1_000;
const RECORDS: u64 = 20_000;

fn source() -> MemorySource {
    MemorySource::default()
        .with_items(|index| (index < RECORDS).then(|| record(&format!("{index:0width$}", width = VALUE_BYTES))))
}

#[test]
fn a_slow_sink_keeps_what_is_in_flight_within_the_queues() {
    let source = source();
    let delivered = source.delivered();
    let written = Arc::new(AtomicU64::new(0));
    let most = Arc::new(AtomicU64::new(0));
    let (written_by_sink, most_seen) = (Arc::clone(&written), Arc::clone(&most));
    let sink = MemorySink::default().on_write(move |batch| {
        // Slow in its own way: it lets everybody else run first, as often as they like.
        for _ in 0..64 {
            std::thread::yield_now();
        }
        let in_flight = delivered.load(Ordering::SeqCst) - written_by_sink.load(Ordering::SeqCst);
        most_seen.fetch_max(in_flight, Ordering::SeqCst);
        written_by_sink.fetch_add(batch.len() as u64, Ordering::SeqCst);
    });
    let mut job = Job::new()
        .source("endless", source)
        .function("dedup", &["endless"], dedup(), |node| node.parallelism = Parallelism(2))
        .sink("out", &["dedup"], sink.clone())
        .batch_rows(64);
    job.0.settings.queue_bytes = 256 * 1024;
    let summary = job.finish();
    assert_eq!(sink.records().len() as u64, RECORDS);
    assert_eq!(summary.operator("out").unwrap().records_in, RECORDS);
    // Four queues of 256 KiB, and in each of the four chains at most two batches of 64.
    let bound = (4 * 256 * 1024 + 4 * 2 * 64 * VALUE_BYTES) / VALUE_BYTES;
    let most = most.load(Ordering::SeqCst);
    assert!(most <= bound as u64, "{most} records in flight, at most {bound}");
}

#[test]
fn a_batch_above_the_bound_of_the_queue_passes_alone() {
    let sink = MemorySink::default();
    let mut job = Job::new()
        .source("lines", source())
        .function("dedup", &["lines"], dedup(), |node| node.parallelism = Parallelism(2))
        .sink("out", &["dedup"], sink.clone());
    job.0.settings.queue_bytes = 1;
    job.finish();
    assert_eq!(sink.records().len() as u64, RECORDS);
}
