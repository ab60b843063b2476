//! Timers that fail, and functions that ask for what cannot be.

use contract::doubles::{ClosureFactory, MemoryItem, MemoryRecord, MemorySink, MemorySource};
use contract::{FailureKind, TimerRequest};
use model::job::OnError;
use model::{Descriptor, SlotIndex, TimerClock};

use super::support::{is_of_timers, key_of, padded, told};
use crate::support::{Job, descriptor, sorted};

fn records(values: &[&str]) -> MemorySource {
    let items = (0_i64..).zip(values);
    MemorySource::default().with_split(items.map(|(at, value)| MemoryItem::Record(MemoryRecord::new(*value).at(at))))
}

/// Every key sets a timer at 100, and one at 50 that it takes back. A timer of a key that begins with `bad` sends
/// something, sets another timer, and then traps or rejects.
fn fragile() -> ClosureFactory {
    padded(|pad, turn| {
        for (row, &slot) in (0u32..).zip(&turn.batch.slots) {
            let key = key_of(turn, slot);
            if is_of_timers(turn) {
                pad.sent.push((row, format!("{key} fired")));
                if key.starts_with("bad") {
                    pad.timers.push((TimerClock::EventTime, slot, 200, true));
                    let kind = if key.contains("trap") { FailureKind::Trap } else { FailureKind::Rejected };
                    return told(kind, "it is bad");
                }
            } else {
                pad.timers.push((TimerClock::EventTime, slot, 50, true));
                pad.timers.push((TimerClock::EventTime, slot, 100, true));
                pad.timers.push((TimerClock::EventTime, slot, 50, false));
            }
        }
        Ok(())
    })
}

const KEYS: [&str; 6] = ["a", "bad-trap", "b", "bad-reject", "c", "d"];

#[test]
fn a_timer_that_fails_meets_on_error_alone_and_is_gone() {
    for rows in [1, 7, 512] {
        let (sink, letters) = (MemorySink::default(), MemorySink::default());
        let summary = Job::new()
            .source("in", records(&KEYS))
            .function("fragile", &["in"], fragile(), |node| node.on_error = OnError::DeadLetter)
            .sink("out", &["fragile"], sink.clone())
            .dead_letters(&letters)
            .batch_rows(rows)
            .finish();
        assert_eq!(sink.texts(), ["a fired", "b fired", "c fired", "d fired"], "batches of {rows}");
        let fragile = summary.operator("fragile").unwrap();
        assert_eq!((fragile.timers.fired, fragile.timers.pending, fragile.dead_letters), (4, 0, 2));
        let letters = letters.texts();
        assert_eq!(letters.len(), 2);
        let letter: serde_json::Value = serde_json::from_str(&letters[1]).unwrap();
        assert_eq!(letter["timer"], serde_json::json!({ "clock": "event-time", "at": 100 }));
        assert_eq!((letter["key"].as_str(), letter["operator"].as_str()), (Some("bad-trap"), Some("fragile")));
        assert_eq!(letter["error"]["code"], "E0511");
        let message = letter["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("event-time timer at 100 of key `bad-trap`: trapped"), "{message}");
    }
}

#[test]
fn skipped_timers_are_gone_and_a_failing_one_stops_a_job_that_fails() {
    let sink = MemorySink::default();
    let job = |policy, sink: &MemorySink| {
        Job::new()
            .source("in", records(&KEYS))
            .function("fragile", &["in"], fragile(), |node| node.on_error = policy)
            .sink("out", &["fragile"], sink.clone())
    };
    let summary = job(OnError::Skip, &sink).finish();
    assert_eq!(summary.operator("fragile").unwrap().skipped, 2);
    assert_eq!(sink.texts().len(), 4);
    let failure = job(OnError::Fail, &MemorySink::default()).run().unwrap_err();
    assert_eq!(failure.code.as_deref(), Some("E0510"));
    assert!(failure.message.contains("timer at 100 of key `bad-reject`"), "{failure}");
}

#[test]
fn a_batch_with_a_trap_leaves_timers_as_they_were() {
    // The last record of the batch traps after all of them set timers: only its own are not set.
    let function = padded(|pad, turn| {
        for (row, &slot) in (0u32..).zip(&turn.batch.slots) {
            let key = key_of(turn, slot);
            if is_of_timers(turn) {
                pad.sent.push((row, key));
                continue;
            }
            pad.timers.push((TimerClock::EventTime, slot, 100, true));
            if key == "trap" {
                return told(FailureKind::Trap, "told to");
            }
        }
        Ok(())
    });
    let sink = MemorySink::default();
    let summary = Job::new()
        .source("in", records(&["a", "b", "trap"]))
        .function("fails", &["in"], function, |node| node.on_error = OnError::Skip)
        .sink("out", &["fails"], sink.clone())
        .finish();
    assert_eq!(sorted(sink.texts()), ["a", "b"]);
    assert_eq!(summary.operator("fails").unwrap().timers.set, 2);
}

#[test]
fn a_function_that_asks_for_what_cannot_be_breaks_its_contract() {
    let ask = |slot: u32, times: Vec<i64>| TimerRequest {
        clock: TimerClock::EventTime,
        set: true,
        slots: vec![SlotIndex(slot)],
        at_millis: times,
    };
    let keyed = Descriptor { keyed: true, timers: true, ..descriptor(&["out"]) };
    let silent = Descriptor { timers: false, ..keyed.clone() };
    for (descriptor, request, said) in [
        (keyed.clone(), ask(9, vec![1]), "a timer of slot 9: the batch has 1 keys"),
        (keyed.clone(), ask(0, vec![1, 2]), "2 times for 1 slots"),
        (keyed, ask(0, vec![i64::MIN]), "the smallest time"),
        (silent, ask(0, vec![1]), "does not say that it sets them"),
    ] {
        let function = ClosureFactory::new(descriptor, move |turn| {
            turn.staged.timers.push(request.clone());
            Ok(())
        });
        let failure = Job::new()
            .source("in", records(&["a"]))
            .function("asks", &["in"], function, |_| ())
            .sink("out", &["asks"], MemorySink::default())
            .run()
            .unwrap_err();
        assert_eq!(failure.code.as_deref(), Some("E0515"));
        assert!(failure.message.contains(said), "{failure}");
    }
}

#[test]
fn the_last_time_there_is_comes_with_the_end_of_the_input() {
    let function = padded(|pad, turn| {
        for (row, &slot) in (0u32..).zip(&turn.batch.slots) {
            if is_of_timers(turn) {
                pad.sent.push((row, key_of(turn, slot)));
            } else {
                pad.timers.push((TimerClock::EventTime, slot, i64::MAX, true));
                pad.timers.push((TimerClock::EventTime, slot, i64::MIN + 1, true));
            }
        }
        Ok(())
    });
    let sink = MemorySink::default();
    Job::new()
        .source("in", records(&["a"]))
        .function("far", &["in"], function, |_| ())
        .sink("out", &["far"], sink.clone())
        .finish();
    assert_eq!(sink.texts(), ["a", "a"]);
}
