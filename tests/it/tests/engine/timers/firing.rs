//! When timers fire, and in what order.

use std::sync::Arc;
use std::time::Duration;

use contract::doubles::{ClosureFactory, ManualClock, MemoryItem, MemoryRecord, MemorySink, MemorySource};
use model::{HostTime, TimerClock};

use super::support::{assert_sessions, is_of_timers, key_of, padded, sessions_job, timer, visits, width};
use crate::epochs::support::LONG;
use crate::support::{Job, sorted};

fn at(value: &str, millis: i64) -> MemoryItem {
    MemoryItem::Record(MemoryRecord::new(value).at(millis))
}

/// Sets the timers of event time that its first record names after the key, as in `a:10,20`; the key is the whole. Says
/// of every timer what it is, and of the record what the watermark was.
fn named() -> ClosureFactory {
    padded(|pad, turn| {
        for (row, &slot) in (0u32..).zip(&turn.batch.slots) {
            let key = key_of(turn, slot);
            if is_of_timers(turn) {
                let (clock, at) = timer(turn, row as usize);
                pad.sent.push((row, format!("{key} {} {at}", clock.name())));
                continue;
            }
            let (_, times) = key.split_once(':').unwrap();
            for time in times.split(',').filter(|time| !time.is_empty()) {
                pad.timers.push((TimerClock::EventTime, slot, time.parse().unwrap(), true));
            }
            pad.sent.push((row, key));
        }
        Ok(())
    })
}

fn run(items: Vec<MemoryItem>, rows: usize) -> Vec<String> {
    let sink = MemorySink::default();
    Job::new()
        .source("in", MemorySource::default().with_split(items).with_max_rows(rows))
        .function("named", &["in"], named(), |_| ())
        .sink("out", &["named"], sink.clone())
        .batch_rows(rows)
        .finish();
    sink.texts()
}

#[test]
fn timers_fire_by_time_then_key_after_the_records_that_let_the_watermark_rise() {
    let items = || vec![at("b:20,10", 0), at("a:20,30", 1), at("c:", 20), at("d:", 25), at("e:", 99)];
    for rows in [1, 2] {
        let texts = run(items(), rows);
        let fired: Vec<_> = texts.iter().filter(|text| text.contains("event-time")).cloned().collect();
        let expected =
            ["b:20,10 event-time 10", "a:20,30 event-time 20", "b:20,10 event-time 20", "a:20,30 event-time 30"];
        assert_eq!(fired, expected, "batches of {rows}");
        let place = |text: &str| texts.iter().position(|found| found == text).unwrap();
        assert!(place("c:") < place("b:20,10 event-time 20"), "batches of {rows}: {texts:?}");
    }
    // One record at a time: what is due fires before the next one.
    let texts = run(items(), 1);
    let expected =
        ["b:20,10", "a:20,30", "c:", "b:20,10 event-time 10", "a:20,30 event-time 20", "b:20,10 event-time 20", "d:"];
    assert_eq!(texts[..7], expected);
}

#[test]
fn a_timer_that_is_late_already_fires_after_its_batch() {
    let texts = run(vec![at("x:", 100), at("a:5", 101), at("y:", 102)], 1);
    assert_eq!(texts, ["x:", "a:5", "a:5 event-time 5", "y:"]);
}

#[test]
fn what_timers_send_has_their_time_and_key_and_goes_on_to_the_next_function() {
    let sink = MemorySink::default();
    // The second function sets a timer for what the first sends: it knows the watermark only after that.
    let second = padded(|pad, turn| {
        for (row, &slot) in (0u32..).zip(&turn.batch.slots) {
            let time = turn.batch.records.timestamps[row as usize].0;
            if is_of_timers(turn) {
                pad.sent.push((row, format!("{} again {time}", key_of(turn, slot))));
            } else if key_of(turn, slot).contains("event-time") {
                assert!(turn.batch.watermark.0 < time, "what a timer sends is not late");
                pad.timers.push((TimerClock::EventTime, slot, time + 1, true));
            }
        }
        Ok(())
    });
    for parallelism in [1, 3] {
        let job = Job::new()
            .source(
                "in",
                MemorySource::default().with_split([at("a:10,20", 0), at("b:", 15), at("c:", 40)]).with_max_rows(1),
            )
            .function("first", &["in"], named(), |node| node.parallelism.0 = parallelism)
            .function("second", &["first"], second.clone(), |node| node.parallelism.0 = parallelism)
            .sink("out", &["second"], sink.clone());
        job.finish();
    }
    let expected = ["a:10,20 event-time 10 again 11", "a:10,20 event-time 20 again 21"];
    assert_eq!(sorted(sink.texts()), sorted([expected, expected].concat().into_iter().map(str::to_owned).collect()));
}

#[test]
fn sessions_are_those_of_a_model_whatever_the_width() {
    for (sources, counts) in [(1, 1), (1, 4), (3, 5)] {
        let (tap, sink) = (visits(4, 600), MemorySink::default());
        let summary = sessions_job(&tap, &sink, width(sources, counts, 1)).finish();
        assert_sessions(&tap, sink.texts());
        let timers = summary.operator("sessions").unwrap().timers;
        assert!(timers.set >= timers.fired && timers.fired > 100);
        assert_eq!(timers.pending, 0);
    }
}

#[test]
fn timers_of_the_hosts_clock_fire_while_nothing_comes() {
    let clock = Arc::new(ManualClock::new(HostTime(1_000)));
    let sink = MemorySink::default();
    let function = padded(|pad, turn| {
        for (row, &slot) in (0u32..).zip(&turn.batch.slots) {
            if is_of_timers(turn) {
                pad.sent.push((row, format!("{} fired", key_of(turn, slot))));
            } else {
                pad.timers.push((TimerClock::ProcessingTime, slot, turn.batch.now.0 + 60_000, true));
            }
        }
        Ok(())
    });
    let tap = crate::epochs::support::few_keys(1, u64::MAX).opened_to(3);
    let job = Job::new().source("tap", tap).function("waits", &["tap"], function, |node| node.parallelism.0 = 2).sink(
        "out",
        &["waits"],
        sink.clone(),
    );
    let shared: Arc<dyn contract::Clock> = Arc::<ManualClock>::clone(&clock);
    let handle = runtime::start(&job.0, shared).unwrap();
    assert!(handle.wait_until(LONG, |handle| handle.metrics().operator("waits").unwrap().timers.pending == 3));
    assert_eq!(handle.metrics().operator("waits").unwrap().timers.fired, 0);
    clock.advance(Duration::from_secs(60));
    assert!(handle.wait_until(LONG, |_| sink.texts().len() == 3));
    assert_eq!(handle.metrics().operator("waits").unwrap().timers.pending, 0);
    handle.cancel();
    handle.wait().unwrap();
}

#[test]
fn a_job_that_is_told_to_stop_fires_no_timer_for_that() {
    let (tap, sink) = (visits(2, 600).opened_to(5), MemorySink::default());
    let handle = sessions_job(&tap, &sink, width(2, 2, 1)).start();
    assert!(handle.wait_until(LONG, |handle| handle.metrics().operator("sessions").unwrap().records_in == 10));
    handle.cancel();
    handle.wait().unwrap();
    assert!(sink.texts().is_empty());
}

#[test]
fn a_timer_that_sets_the_next_for_ever_does_not_hold_up_the_end() {
    let sink = MemorySink::default();
    let heartbeat = padded(|pad, turn| {
        for (row, &slot) in (0u32..).zip(&turn.batch.slots) {
            let next = if is_of_timers(turn) { timer(turn, row as usize).1 + 10 } else { 0 };
            pad.timers.push((TimerClock::EventTime, slot, next, true));
            pad.sent.push((row, "beat".to_owned()));
        }
        Ok(())
    });
    let summary = Job::new()
        .source("in", MemorySource::default().with_split([at("a", 1), at("b", 2)]))
        .function("heart", &["in"], heartbeat, |_| ())
        .sink("out", &["heart"], sink.clone())
        .finish();
    // Two records, their timers, those that these set before the end, and as many followers of each as fire after the end.
    let expected = 2 + 2 * (2 + u64::from(protocol::timers::MOST_AFTER_END));
    assert_eq!(summary.operator("out").unwrap().records_in, expected);
    assert_eq!(summary.operator("heart").unwrap().timers.pending, 2);
}
