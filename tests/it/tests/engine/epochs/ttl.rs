//! State that expires by event time: the verdict on a record depends on its own time, whatever it is batched with.

use std::collections::BTreeMap;

use contract::doubles::{MemoryItem, MemoryRecord, MemorySink, MemorySource};
use model::job::OnError;
use model::{EventTime, Parallelism, Refresh, StateDescriptor, Ttl, TtlClock};

use super::support::{Drop, LONG, Tap, World, count_state, count_with};
use crate::support::Job;

const TTL: i64 = 100;

fn expiring() -> StateDescriptor {
    let ttl = Ttl { millis: TTL.unsigned_abs(), clock: TtlClock::EventTime, refresh: Refresh::OnWrite };
    StateDescriptor { ttl: Some(ttl), ..count_state() }
}

/// Records of few keys whose times wander: forwards on the whole, back by less and by more than a time to live.
fn wandering(end: u64) -> Tap {
    Tap::new(1, end, |_, at| {
        let mixed = (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let time = i64::try_from(at * 9 + mixed % 230).unwrap();
        Drop { text: format!("k{}", mixed % 11), time: EventTime(time) }
    })
}

/// What becomes of the records one by one.
fn model_of(tap: &Tap) -> Vec<String> {
    let mut entries: BTreeMap<String, (u64, i64)> = BTreeMap::new();
    let mut texts = Vec::new();
    for drop in tap.drops() {
        let time = drop.time.0;
        let there = entries.get(&drop.text).copied().filter(|(_, written)| time < written + TTL);
        let (count, written) = there.map_or((1, time), |(count, written)| (count + 1, written.max(time)));
        entries.insert(drop.text.clone(), (count, written));
        texts.push(format!("{} {count}", drop.text));
    }
    texts
}

#[test]
fn a_batch_is_cut_where_records_of_a_key_see_otherwise() {
    let tap = wandering(1500);
    let expected = model_of(&tap);
    // The model itself restarts counts, or this would show nothing.
    assert!(expected.iter().filter(|text| text.ends_with(" 1")).count() > 100);
    for rows in [1, 7, 512] {
        let mut tap = tap.clone();
        tap.max_rows = rows;
        let sink = MemorySink::default();
        let job = Job::new()
            .source("tap", tap)
            .function("count", &["tap"], count_with(expiring()), |_| ())
            .sink("out", &["count"], sink.clone())
            .batch_rows(rows);
        job.finish();
        assert_eq!(sink.texts(), expected, "batches of {rows}");
    }
}

#[test]
fn a_crash_changes_no_verdict_of_state_that_expires() {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let tap = wandering(1500).opened_to(0);
    let job = Job::new().source("tap", tap.clone()).function("count", &["tap"], count_with(expiring()), |_| ()).sink(
        "out",
        &["count"],
        sink.clone(),
    );
    for open in [300, 700, 1100] {
        let handle = world.start(&job);
        tap.open_to(open);
        assert!(handle.wait_until(LONG, |handle| handle.metrics().operator("out").unwrap().records_in > 50));
        handle.checkpoint(LONG).unwrap();
        handle.checkpoint(LONG).unwrap();
        handle.abandon();
    }
    tap.open_to(u64::MAX);
    world.finish(&job);
    assert_eq!(sink.texts(), model_of(&tap));
}

#[test]
fn a_record_without_event_time_meets_the_on_error_of_a_function_that_needs_it() {
    let record = |key: &str, time: Option<i64>| {
        let record = MemoryRecord::new(key);
        MemoryItem::Record(time.map_or(record.clone(), |time| record.at(time)))
    };
    let items = [record("a", Some(5)), record("b", None), record("a", Some(6))];
    let (sink, letters) = (MemorySink::default(), MemorySink::default());
    let job = Job::new()
        .source("in", MemorySource::default().with_split(items))
        .function("count", &["in"], count_with(expiring()), |node| {
            node.on_error = OnError::DeadLetter;
            node.parallelism = Parallelism(2);
        })
        .sink("out", &["count"], sink.clone())
        .dead_letters(&letters);
    let summary = job.finish();
    assert_eq!(sink.texts(), ["a 1", "a 2"]);
    assert_eq!(summary.operator("count").unwrap().faults["no-event-time"], 1);
    let letter = letters.texts().remove(0);
    assert!(letter.contains("E0517") && letter.contains("has no event time"), "{letter}");
}
