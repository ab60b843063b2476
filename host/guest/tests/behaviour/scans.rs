//! `scans` reads entries and values of state.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use contract::doubles::ScriptedState;
use contract::{FailureKind, KeyedState, Turn};
use guest::{GuestFunction, Limits, caps};

use crate::kit::*;

fn roomy() -> GuestFunction {
    function_within("scans", Limits { fuel_per_record: Some(1_000_000_000), memory_bytes: 256 << 20, ..tight() })
}

fn step(function: &mut GuestFunction, state: Box<dyn KeyedState>, command: &str) -> Turn {
    run_turn(function, keyed_turn(&[command], &["k"], state)).unwrap()
}

fn filled(function: &mut GuestFunction, count: u32, bytes: u32) -> Box<dyn KeyedState> {
    let state = table(module("scans").descriptor());
    commit(step(function, state, &format!("fill {count} {bytes}")))
}

#[test]
fn a_scan_finds_all_entries_in_order_however_many_are_asked_of_the_state_at_a_time() {
    let mut function = roomy();
    let mut state = filled(&mut function, 1000, 3);
    for (limit, found) in [(1, 1), (128, 128), (129, 129), (1000, 1000), (u32::MAX, 1000)] {
        let turn = step(&mut function, state, &format!("scan {limit}"));
        assert_eq!(pushed(&turn), [found.to_string()]);
        state = turn.state.unwrap();
    }
}

#[test]
fn entries_are_loaded_in_the_order_asked_for_however_many() {
    let mut function = roomy();
    let mut state = filled(&mut function, 1, 3);
    for count in [1, 128, 129, 1000] {
        let turn = step(&mut function, state, &format!("again {count}"));
        assert_eq!(pushed(&turn), [count.to_string()]);
        state = turn.state.unwrap();
    }
}

#[test]
fn more_state_than_a_guest_could_hold_is_refused_in_one_call() {
    let mut function = roomy();
    let state = filled(&mut function, 50, 1 << 20 >> 1);
    let failed = run_turn(&mut function, keyed_turn(&["again 1000000"], &["k"], state));
    check_failure(failed, FailureKind::Memory, &["state.load-entries", "67108864 bytes of state"]);
}

#[test]
fn every_slot_has_an_answer_when_many_slots_are_loaded() {
    let mut function = roomy();
    let keys: Vec<String> = (0..1000).map(|key| key.to_string()).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let mut state = table(module("scans").descriptor());
    for _ in 0..2 {
        let turn = run_turn(&mut function, keyed_turn(&vec!["values"; 1000], &keys, state)).unwrap();
        assert_eq!(pushed(&turn), ["1000"]);
        state = turn.state.unwrap();
    }
}

/// A state whose keys `large…` have the longest values and whose other keys have none. Counts what it
/// hands out.
fn large_values(loaded_bytes: &Arc<AtomicUsize>) -> Box<ScriptedState> {
    let loaded_bytes = Arc::clone(loaded_bytes);
    let value = vec![b'v'; caps::VALUE_BYTES];
    Box::new(ScriptedState::new(move |slots, out| {
        for key in slots.keys.iter() {
            let value = key.starts_with(b"large").then_some(value.as_slice());
            loaded_bytes.fetch_add(value.map_or(0, <[u8]>::len), Ordering::Relaxed);
            out.push(value);
        }
        Ok(())
    }))
}

#[test]
fn large_values_are_not_copied_far_beyond_the_cap_whatever_was_loaded_before() {
    const KEYS: usize = 1000;
    let mut function = roomy();
    let loaded_bytes = Arc::new(AtomicUsize::new(0));
    let state = large_values(&loaded_bytes);
    let keys = |word: &str| (0..KEYS).map(|key| format!("{word}-{key}")).collect::<Vec<_>>();
    let turn_of = |keys: &[String], state| {
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        keyed_turn(&vec!["values"; KEYS], &keys, state)
    };
    let absent = run_turn(&mut function, turn_of(&keys("absent"), state)).unwrap();
    assert_eq!(pushed(&absent), [KEYS.to_string()]);
    let failed = run_turn(&mut function, turn_of(&keys("large"), absent.state.unwrap()));
    check_failure(failed, FailureKind::Memory, &["state.load", "67108864 bytes of state"]);
    let loaded = loaded_bytes.load(Ordering::Relaxed);
    assert!(loaded <= caps::LOADED_BYTES + caps::LOAD_CHUNK * caps::VALUE_BYTES, "{loaded} bytes were copied");
}
