//! `timers` asks for timers, and is called for some.

use contract::{FailureKind, RowKind, TimerRequest, Turn};
use model::{EventTime, SlotIndex, TimerClock};

use crate::kit::*;

#[test]
fn timers_are_staged_in_the_order_of_the_calls() {
    let turn = run_keyed("timers", &["set"]).unwrap();
    let request = |clock, set, at: &[i64]| TimerRequest {
        clock,
        set,
        slots: vec![SlotIndex(0); at.len()],
        at_millis: at.to_vec(),
    };
    let (event, wall) = (TimerClock::EventTime, TimerClock::ProcessingTime);
    let expected = [request(event, true, &[1, 2]), request(wall, true, &[3]), request(event, false, &[1])];
    assert_eq!(turn.staged.timers, expected);
}

#[test]
fn what_cannot_be_asked_for_is_refused_by_name() {
    for (word, parts) in [
        ("slot", ["timers.enable", "slot 4294967295", "has 1 keys"]),
        ("cancel-slot", ["timers.cancel", "slot 1", "has 1 keys"]),
        ("lengths", ["timers.enable", "times has 0 items", "expected 1"]),
        ("none", ["timers.enable", "timer at 0", "the smallest time stands for none"]),
        ("many", ["timers.enable", "staged", "timers: at most 1048576"]),
    ] {
        check_failure(run_keyed("timers", &[word]), FailureKind::Contract, &parts);
    }
}

#[test]
fn the_first_and_the_last_time_there_are_can_be_asked_for() {
    let turn = run_keyed("timers", &["ends"]).unwrap();
    assert_eq!(turn.staged.timers[0].at_millis, [i64::MIN + 1, i64::MAX]);
}

/// A turn of timers that fired, as the engine makes it.
fn fired(clock: TimerClock, times: &[i64], watermark: i64) -> Turn {
    let keys: Vec<String> = (0..times.len()).map(|key| format!("k{key}")).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let mut turn = keyed_turn(&vec![""; times.len()], &keys, table(module("timers").descriptor()));
    let kind = if clock == TimerClock::EventTime { RowKind::EventTimer } else { RowKind::ProcessingTimer };
    turn.batch.kinds = vec![kind; times.len()];
    turn.batch.watermark = EventTime(watermark);
    turn.batch.records.origins = model::Origins::default();
    times.iter().for_each(|at| turn.batch.records.origins.push_timer(clock, *at));
    turn
}

#[test]
fn a_timer_is_told_the_time_it_was_set_for() {
    for (clock, name) in [(TimerClock::EventTime, "event"), (TimerClock::ProcessingTime, "wall")] {
        let turn = run_turn(&mut function("timers"), fired(clock, &[5, -7], 40)).unwrap();
        let [contract::Emit::Push { records, .. }] = turn.staged.emits.as_slice() else { panic!("one push") };
        let texts: Vec<_> = records.values.iter().flatten().map(|text| String::from_utf8_lossy(text)).collect();
        assert_eq!(texts, [format!("{name} 5"), format!("{name} -7")]);
    }
}

#[test]
fn a_timer_is_no_record_that_could_be_sent_on() {
    let parts = ["emit.forward", "a timer is no record"];
    let outcome = run_turn(&mut function("timers"), fired(TimerClock::EventTime, &[5], 99));
    check_failure(outcome, FailureKind::Contract, &parts);
}
