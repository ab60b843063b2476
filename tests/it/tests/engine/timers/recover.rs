//! A crash, a rescale, a pending epoch: every session ends once.

use std::time::Duration;

use contract::doubles::{Fault, MemorySink, StoreCall};
use model::TimerClock;

use super::support::{assert_sessions, is_of_timers, key_of, padded, sessions_job, sessions_of, timer, visits, width};
use crate::epochs::support::{LONG, Tap, World, few_keys};
use crate::support::{Job, sorted};

fn records_in(handle: &runtime::JobHandle, operator: &str) -> u64 {
    handle.metrics().operator(operator).unwrap().records_in
}

/// Lets `open` records of every split through, and a checkpoint after some of them.
fn some(handle: &runtime::JobHandle, tap: &Tap, open: u64) {
    tap.open_to(open);
    assert!(handle.wait_until(LONG, |handle| records_in(handle, "sessions") > 0));
    handle.checkpoint(LONG).unwrap_or_else(|error| panic!("no checkpoint: {error}"));
}

#[test]
fn timers_outlive_crashes_between_any_two_checkpoints() {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let tap = visits(3, 900).opened_to(0);
    for open in [40, 90, 200, 350, 351, 700] {
        let handle = world.start(&sessions_job(&tap, &sink, width(2, 3, 1)));
        some(&handle, &tap, open);
        // What comes after the checkpoint is lost with the process.
        let before = records_in(&handle, "tap");
        tap.open_to(open + 60);
        assert!(handle.wait_until(LONG, |handle| records_in(handle, "tap") > before));
        handle.abandon();
    }
    tap.open_to(u64::MAX);
    world.finish(&sessions_job(&tap, &sink, width(2, 3, 1)));
    assert_sessions(&tap, sink.texts());
}

#[test]
fn a_restored_job_has_the_pending_timers_and_no_others() {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let tap = visits(1, 600).opened_to(30);
    let handle = world.start(&sessions_job(&tap, &sink, width(1, 1, 1)));
    assert!(handle.wait_until(LONG, |handle| records_in(handle, "sessions") == 30));
    handle.checkpoint(LONG).unwrap();
    let before = handle.metrics().operator("sessions").unwrap().timers;
    assert!(before.pending > 0 && before.fired > 0);
    handle.abandon();
    for parallelism in [1, 4] {
        let handle = world.start(&sessions_job(&tap, &sink, width(1, parallelism, 1)));
        let pending = |handle: &runtime::JobHandle| handle.metrics().operator("sessions").unwrap().timers.pending;
        assert!(handle.wait_until(LONG, |handle| pending(handle) == before.pending), "{}", pending(&handle));
        assert_eq!(handle.metrics().operator("sessions").unwrap().timers.fired, 0);
        handle.abandon();
    }
}

/// From 1 to 8 to 3 to 7 subtasks, with timers, state that expires, and epochs that wait to be published.
#[test]
fn rescaled_from_one_to_eight_to_three_to_seven_every_session_ends_once() {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let tap = visits(4, 1_600).opened_to(0);
    let mut open = 0;
    for counts in [1, 8, 3, 7] {
        let handle = world.start(&sessions_job(&tap, &sink, width(2, counts, 2)));
        for _ in 0..2 {
            open += 150;
            some(&handle, &tap, open);
        }
        sink.fail_to_publish(1_000, "the target is away");
        open += 50;
        some(&handle, &tap, open);
        handle.abandon();
        sink.fail_to_publish(0, "");
    }
    tap.open_to(u64::MAX);
    world.finish(&sessions_job(&tap, &sink, width(2, 7, 2)));
    assert_sessions(&tap, sink.texts());
}

#[test]
fn a_manifest_of_which_nothing_is_known_changes_no_session() {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let tap = visits(2, 500).opened_to(0);
    for open in [60, 130, 260] {
        let handle = world.start(&sessions_job(&tap, &sink, width(1, 3, 1)));
        some(&handle, &tap, open);
        world.log.inject(StoreCall::Create, Fault::AnswerLost, 1);
        handle.checkpoint(Duration::from_millis(20)).ok();
        handle.abandon();
    }
    tap.open_to(u64::MAX);
    world.finish(&sessions_job(&tap, &sink, width(1, 3, 1)));
    assert_sessions(&tap, sink.texts());
}

#[test]
fn input_that_is_appended_after_the_end_goes_on_from_where_event_time_was() {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let mut tap = visits(1, 100);
    world.finish(&sessions_job(&tap, &sink, width(1, 2, 1)));
    let first = sessions_of(&tap);
    assert_eq!(sorted(sink.texts()), first, "the end of the input ends every session");
    tap.end = 200;
    world.finish(&sessions_job(&tap, &sink, width(1, 2, 1)));
    // Sessions that were open at the end have ended there: what follows begins others, and none of these is late.
    let after = sink.texts();
    assert!(after.len() > first.len());
    assert!(after.iter().all(|text| !text.contains("no session")), "{after:?}");
}

#[test]
fn timers_of_the_hosts_clock_stay_when_the_input_ends_and_fire_after_the_restart() {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let waits = || {
        padded(|pad, turn| {
            for (row, &slot) in (0u32..).zip(&turn.batch.slots) {
                if is_of_timers(turn) {
                    let (_, at) = timer(turn, row as usize);
                    pad.sent.push((row, format!("{} fired for {at}", key_of(turn, slot))));
                } else {
                    pad.timers.push((TimerClock::ProcessingTime, slot, 61_000, true));
                }
            }
            Ok(())
        })
    };
    let job = |tap: &Tap| {
        Job::new().source("tap", tap.clone()).function("waits", &["tap"], waits(), |node| node.parallelism.0 = 2).sink(
            "out",
            &["waits"],
            sink.clone(),
        )
    };
    let mut tap = few_keys(1, 3);
    world.finish(&job(&tap));
    assert!(sink.texts().is_empty());
    // The time goes on while the job is down.
    world.clock.advance(Duration::from_secs(60));
    tap.end = 4;
    tap.open_to(3);
    let handle = world.start(&job(&tap));
    let fired = |handle: &runtime::JobHandle| handle.metrics().operator("waits").unwrap().timers.fired;
    assert!(handle.wait_until(LONG, |handle| fired(handle) == 3));
    handle.checkpoint(LONG).unwrap();
    assert!(handle.wait_until(LONG, |_| sink.texts().len() == 3), "{:?}", sink.texts());
    assert!(sink.texts().iter().all(|text| text.ends_with("fired for 61000")));
    handle.abandon();
}
