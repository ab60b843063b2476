//! How the room of what has expired comes back.

use std::sync::Arc;

use contract::compliance::state as suite;
use contract::{KeyedState, SlotKeys, StateScope};
use model::{EventTime, HostTime, Refresh, Ttl, TtlClock};

use crate::tests::batch;
use crate::{Options, StateLog, soundness};

const LIFE: i64 = 60_000;
const SEGMENT_BYTES: usize = 16 << 10;

fn table(clock: TtlClock) -> StateLog {
    let ttl = Ttl { millis: LIFE as u64, clock, refresh: Refresh::OnWrite };
    StateLog::new(suite::mortal_scope(Some(ttl)), Options { segment_bytes: SEGMENT_BYTES })
}

/// The slots of numbered keys that look at `time` by both clocks.
fn batch_at(keys: std::ops::Range<u32>, time: i64) -> Arc<SlotKeys> {
    let mut slots = SlotKeys::clone(&batch(keys.clone()));
    slots.looks.earliest = keys.clone().map(|_| EventTime(time)).collect();
    slots.looks.latest.clone_from(&slots.looks.earliest);
    slots.looks.now = HostTime(time);
    Arc::new(slots)
}

fn write(table: &mut StateLog, keys: std::ops::Range<u32>, time: i64) {
    let slots = batch_at(keys, time);
    let writes: Vec<_> = (0..slots.keys.len() as u32).map(|slot| (slot, Some(&b"seen"[..]))).collect();
    table.apply(&slots, &[suite::values(suite::VALUE, &writes)], HostTime(time)).unwrap();
}

#[test]
fn an_hour_of_unique_keys_that_live_a_minute_levels_off() {
    for clock in [TtlClock::EventTime, TtlClock::ProcessingTime] {
        for marks in [true, false] {
            if clock == TtlClock::EventTime && !marks {
                continue;
            }
            let mut table = table(clock);
            let mut most = (0, 0);
            for second in 0..3_600u32 {
                let time = i64::from(second) * 1_000;
                write(&mut table, second * 20..second * 20 + 20, time);
                if marks && second % 10 == 9 {
                    table.snapshot().unwrap();
                    table.completed(EventTime(time));
                }
                table.maintain(10_000).unwrap();
                if second >= 300 {
                    let stats = table.stats();
                    most = (most.0.max(stats.live_entries), most.1.max(stats.memory_bytes));
                }
            }
            soundness::check(&table);
            // A minute and an epoch of keys are alive; a portion of a sixteenth may wait.
            assert!(most.0 <= 20 * 80, "{clock:?}, marks {marks}: {} entries at most", most.0);
            let live_bytes = most.0 * 80;
            let bound = 3 * live_bytes + 6 * SEGMENT_BYTES as u64;
            assert!(most.1 <= bound, "{clock:?}, marks {marks}: {} of {bound} bytes at most", most.1);
        }
    }
}

#[test]
fn what_is_never_touched_again_is_purged_within_the_budget() {
    for clock in [TtlClock::EventTime, TtlClock::ProcessingTime] {
        let mut table = table(clock);
        write(&mut table, 0..20_000, 0);
        table.snapshot().unwrap();
        let full = table.stats();
        table.completed(EventTime(3 * LIFE));
        // Time passes; one key that has nothing to do with them is looked at.
        write(&mut table, 50_000..50_001, 3 * LIFE);
        let known = table.stats().expired_entries;
        assert!(known > 19_000, "{known} of 20000 are known to have expired");
        let mut calls = 0;
        loop {
            let touched = table.maintain(5_000).unwrap();
            assert!(touched < 5_000 + 200, "{touched} bytes in one call");
            if touched == 0 {
                break;
            }
            calls += 1;
        }
        soundness::check(&table);
        let stats = table.stats();
        assert_eq!((stats.live_entries, stats.expired_entries), (1, 0), "{clock:?}");
        assert!(
            stats.memory_bytes < full.memory_bytes / 10,
            "{} of {} bytes are left",
            stats.memory_bytes,
            full.memory_bytes
        );
        assert!(calls > 100, "{calls} calls");
    }
}

#[test]
fn a_purge_adds_nothing_to_a_delta_of_what_earlier_epochs_wrote() {
    let mut table = table(TtlClock::EventTime);
    write(&mut table, 0..1_000, 0);
    table.snapshot().unwrap();
    table.completed(EventTime(LIFE));
    while table.maintain(10_000).unwrap() > 0 {}
    assert_eq!(table.stats().live_entries, 0);
    assert!(table.snapshot().unwrap().segments.is_empty());
}

#[test]
fn what_the_running_epoch_wrote_over_and_expires_in_it_leaves_a_tombstone() {
    let mut table = table(TtlClock::ProcessingTime);
    write(&mut table, 0..10, 0);
    let mut deltas = vec![table.snapshot().unwrap()];
    write(&mut table, 0..10, 1_000);
    write(&mut table, 100..101, 2 * LIFE);
    while table.maintain(10_000).unwrap() > 0 {}
    soundness::check(&table);
    assert_eq!(table.stats().live_entries, 1);
    deltas.push(table.snapshot().unwrap());
    let forever = suite::mortal_scope(None);
    let restored = suite::restored(&crate::MemoryBackend::default(), forever, &deltas);
    assert_eq!(restored.stats().live_entries, 1, "they do not come back though nothing expires any more");
}

#[test]
fn what_expires_little_by_little_is_swept_a_bounded_number_of_times() {
    let mut table = table(TtlClock::EventTime);
    // The entries of one segment expire over a whole life.
    for nth in 0..150 {
        write(&mut table, nth..nth + 1, i64::from(nth) * LIFE / 150);
    }
    table.snapshot().unwrap();
    let mut touched = 0;
    for millis in (LIFE..2 * LIFE).step_by(10) {
        table.completed(EventTime(millis));
        touched += table.maintain(1 << 20).unwrap();
    }
    let bytes = 150 * 72;
    assert!((bytes..20 * bytes).contains(&touched), "{touched} bytes touched for {bytes}");
    assert!(table.stats().live_entries < 15, "{:?}", table.stats());
}

#[test]
fn states_with_and_without_a_time_to_live_share_segments() {
    let ttl = Ttl { millis: LIFE as u64, clock: TtlClock::EventTime, refresh: Refresh::OnWrite };
    let scope: StateScope = suite::mortal_scope(Some(ttl));
    let mut table = StateLog::new(scope, Options { segment_bytes: SEGMENT_BYTES });
    let slots = batch_at(0..1_000, 0);
    let all: Vec<_> = (0..1_000).map(|slot| (slot, Some(&b"v"[..]))).collect();
    let writes = [suite::values(suite::VALUE, &all), suite::values(suite::OTHER_VALUE, &all)];
    table.apply(&slots, &writes, HostTime(0)).unwrap();
    table.snapshot().unwrap();
    table.completed(EventTime(LIFE));
    assert_eq!(table.stats().expired_entries, 1_000);
    while table.maintain(10_000).unwrap() > 0 {}
    soundness::check(&table);
    assert_eq!((table.stats().live_entries, table.stats().expired_entries), (1_000, 0));
}
