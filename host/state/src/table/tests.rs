//! What a mark hands out.

use contract::compliance::state as suite;
use contract::{KeyedState, SlotKeys};
use model::HostTime;

use crate::entry::{self, Item, SEGMENT_HEADER};
use crate::tests::{batch, empty, load_all, write_all};
use crate::{Options, StateLog, soundness};

/// The entries of a delta: key, and value or tombstone.
fn entries(delta: &[std::sync::Arc<Vec<u8>>]) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    for bytes in delta {
        let mut at = SEGMENT_HEADER.len();
        while at < bytes.len() {
            let item = entry::decode(bytes, at).unwrap();
            if let Item::Entry(head) = item {
                found.push((head.name(bytes, at).key.to_vec(), entry::value(bytes, at).map(<[u8]>::to_vec)));
            }
            at += item.size();
        }
    }
    found
}

fn set(table: &mut StateLog, slots: &std::sync::Arc<SlotKeys>, slot: u32, value: Option<&[u8]>) {
    table.apply(slots, &[suite::values(suite::VALUE, &[(slot, value)])], HostTime(1)).unwrap();
}

#[test]
fn a_delta_holds_one_entry_for_what_an_epoch_wrote_many_times() {
    let mut table = empty(1 << 20);
    let slots = suite::slots(&["key"]);
    for length in [3, 30, 300, 2, 40, 8] {
        set(&mut table, &slots, 0, Some(&vec![b'v'; length]));
    }
    assert_eq!(entries(&table.mark()), [(b"key".to_vec(), Some(b"vvvvvvvv".to_vec()))]);
}

#[test]
fn what_an_epoch_wrote_and_deleted_leaves_nothing_in_its_delta() {
    let mut table = empty(1 << 20);
    let slots = suite::slots(&["gone", "stays"]);
    set(&mut table, &slots, 0, Some(b"value"));
    set(&mut table, &slots, 1, Some(b"value"));
    set(&mut table, &slots, 0, None);
    assert_eq!(entries(&table.mark()), [(b"stays".to_vec(), Some(b"value".to_vec()))]);
    set(&mut table, &slots, 0, Some(b"value"));
    set(&mut table, &slots, 0, None);
    assert_eq!(entries(&table.mark()), []);
}

#[test]
fn what_an_earlier_epoch_wrote_is_deleted_by_a_tombstone_in_the_delta() {
    let mut table = empty(1 << 20);
    let slots = suite::slots(&["key"]);
    set(&mut table, &slots, 0, Some(b"value"));
    table.mark();
    set(&mut table, &slots, 0, None);
    assert_eq!(entries(&table.mark()), [(b"key".to_vec(), None)]);
    // It is said once.
    set(&mut table, &slots, 0, None);
    assert_eq!(entries(&table.mark()), []);
    // What was deleted and came back, and is deleted in its own epoch, needs no tombstone either.
    set(&mut table, &slots, 0, Some(b"again"));
    set(&mut table, &slots, 0, None);
    assert_eq!(entries(&table.mark()), []);
}

#[test]
fn a_tombstone_that_is_overwritten_keeps_its_epoch_from_forgetting() {
    let mut table = empty(1 << 20);
    let slots = suite::slots(&["key"]);
    set(&mut table, &slots, 0, Some(b"value"));
    let mut deltas = table.mark();
    for value in [None, Some(&b"a much longer value than before"[..]), None] {
        set(&mut table, &slots, 0, value);
        soundness::check(&table);
    }
    deltas.extend(table.mark());
    let mut restored = StateLog::restore(suite::scope(), Options::default(), deltas).unwrap();
    assert_eq!(load_all(&mut restored, &slots), [None]);
}

#[test]
fn a_delta_does_not_change_after_its_mark() {
    let mut table = empty(4096);
    let slots = batch(0..500);
    write_all(&mut table, &slots, Some(b"first"), 1);
    let delta = table.mark();
    let copy: Vec<Vec<u8>> = delta.iter().map(|segment| segment.to_vec()).collect();
    write_all(&mut table, &slots, Some(b"later"), 2);
    write_all(&mut table, &batch(0..250), None, 3);
    while table.maintain(1_000).unwrap() > 0 {}
    assert!(delta.iter().zip(&copy).all(|(segment, copy)| segment.as_slice() == copy.as_slice()));
    assert_eq!(table.stats().live_entries, 250);
}

#[test]
fn an_epoch_that_wrote_nothing_has_an_empty_delta() {
    let mut table = empty(4096);
    assert!(table.mark().is_empty());
    write_all(&mut table, &batch(0..3), Some(b"value"), 1);
    assert_eq!(table.mark().len(), 1);
    load_all(&mut table, &batch(0..3));
    assert!(table.mark().is_empty());
}

#[test]
fn cleaning_adds_nothing_to_a_delta() {
    let mut table = empty(4096);
    write_all(&mut table, &batch(0..2_000), Some(b"value"), 1);
    table.mark();
    // Half of every segment dies; the other half is moved.
    for first in (0..2_000).step_by(2) {
        write_all(&mut table, &batch(first..first + 1), Some(b"newer"), 2);
    }
    table.mark();
    while table.maintain(1_000).unwrap() > 0 {}
    soundness::check(&table);
    assert!(table.mark().is_empty());
}

#[test]
fn cleaning_a_running_epoch_keeps_its_tombstones() {
    let mut table = empty(4096);
    write_all(&mut table, &batch(0..1_000), Some(b"value"), 1);
    let mut deltas = table.mark();
    // Between the tombstones lies what comes and goes, so their segments are worth cleaning.
    for key in 0..1_000 {
        write_all(&mut table, &batch(key..key + 1), None, 2);
        write_all(&mut table, &batch(key + 5_000..key + 5_001), Some(&[b'v'; 100]), 2);
        write_all(&mut table, &batch(key + 5_000..key + 5_001), None, 2);
    }
    let before = table.stats().memory_bytes;
    while table.maintain(1_000).unwrap() > 0 {}
    soundness::check(&table);
    assert!(table.stats().memory_bytes < before * 3 / 4);
    deltas.extend(table.mark());
    let restored = StateLog::restore(suite::scope(), Options::default(), deltas).unwrap();
    assert_eq!(restored.stats().live_entries, 0);
}
