use std::sync::Arc;

use contract::KeyedState;
use contract::compliance::state as suite;
use model::{HostTime, KeyGroup, KeyGroupRange, StateKind};
use proptest::prelude::*;

use crate::tests::{batch, empty, load_all, write_all};
use crate::{Error, Flaw, Options, StateLog, soundness};

const GOLDEN: &[u8] = include_bytes!("../../tests/golden/segment-v1.bin");

fn restore(segments: &[Vec<u8>]) -> Result<StateLog, Error> {
    StateLog::restore(suite::scope(), Options::default(), segments.iter().cloned().map(Arc::new))
}

#[test]
fn a_segment_cut_anywhere_is_refused_or_ends_between_entries() {
    for length in 0..GOLDEN.len() {
        match restore(&[GOLDEN[..length].to_vec()]) {
            Ok(table) => soundness::check(&table),
            Err(error) => assert!(matches!(error, Error::Damaged { segment: 0, .. }), "{error}"),
        }
    }
}

#[test]
fn what_is_no_segment_is_refused_with_its_place() {
    let error = restore(&[GOLDEN.to_vec(), b"PK\x03\x04 an archive".to_vec()]).unwrap_err();
    let flaw = Flaw::NotASegment { found: *b"PK\x03\x04" };
    assert!(matches!(&error, Error::Damaged { segment: 1, at: 0, flaw: found, .. } if *found == flaw), "{error}");
    let seam = contract::Error::from(error);
    assert_eq!(seam.code(), Some("E0601"));
    let mut unknown = GOLDEN.to_vec();
    unknown[8] |= 0x80;
    let error = restore(&[unknown]).unwrap_err();
    assert!(error.to_string().ends_with("damaged at byte 8: unknown flags 0x89"), "{error}");
}

#[test]
fn a_newer_format_is_refused() {
    let mut newer = GOLDEN.to_vec();
    newer[4] = 2;
    let error = restore(&[newer]).unwrap_err();
    assert!(matches!(error, Error::NewerVersion { found: 2, newest: 1, .. }), "{error}");
}

#[test]
fn entries_of_another_kind_are_refused_and_undeclared_ones_kept() {
    let mut scope = suite::scope();
    scope.states.retain(|state| state.id != suite::MAP);
    let kept = StateLog::restore(scope.clone(), Options::default(), [Arc::new(GOLDEN.to_vec())]).unwrap();
    assert_eq!(kept.stats().live_entries, restore(&[GOLDEN.to_vec()]).unwrap().stats().live_entries);
    for state in &mut scope.states {
        state.kind = StateKind::MapEntries;
    }
    let error = StateLog::restore(scope, Options::default(), [Arc::new(GOLDEN.to_vec())]).unwrap_err();
    assert!(matches!(error, Error::OtherKind { state: suite::VALUE, .. }), "{error}");
}

#[test]
fn every_new_owner_takes_its_part_of_old_segments() {
    let slots = batch(0..3_000);
    let mut table = empty(4096);
    write_all(&mut table, &slots, Some(b"value"), 1);
    let mut delta = table.mark();
    write_all(&mut table, &batch(0..1_000), None, 2);
    delta.extend(table.mark());
    let part = |first, end| {
        let mut scope = suite::scope();
        scope.key_groups = KeyGroupRange { first: KeyGroup(first), end: KeyGroup(end) };
        let mut part = StateLog::restore(scope, Options::default(), delta.clone()).unwrap();
        while part.maintain(1_000).unwrap() > 0 {}
        soundness::check(&part);
        part.stats()
    };
    let (low, high) = (part(0, 3), part(3, 8));
    assert_eq!(low.live_entries + high.live_entries, 2_000);
    assert!(low.live_entries > 400 && high.live_entries > 800, "{low:?} {high:?}");
}

#[test]
fn a_restored_table_goes_on_as_the_old_one_would() {
    let slots = batch(0..100);
    let mut table = empty(4096);
    write_all(&mut table, &slots, Some(b"value"), 1);
    let mut deltas = table.mark();
    let mut restored = StateLog::restore(suite::scope(), Options::default(), deltas.clone()).unwrap();
    let deletes: Vec<_> = (0..50).map(|slot| (slot, None)).collect();
    restored.apply(&slots, &[suite::values(suite::VALUE, &deletes)], HostTime(2)).unwrap();
    deltas.extend(restored.mark());
    let mut again = StateLog::restore(suite::scope(), Options::default(), deltas).unwrap();
    assert_eq!(load_all(&mut again, &slots), load_all(&mut restored, &slots));
    assert_eq!(again.stats().live_entries, 50);
}

proptest! {
    #[test]
    fn damaged_bytes_give_an_error_or_a_sound_table(
        damage in prop::collection::vec((8..GOLDEN.len(), any::<u8>()), 1..6),
    ) {
        let mut bytes = GOLDEN.to_vec();
        for (at, byte) in damage {
            bytes[at] = byte;
        }
        if let Ok(mut table) = restore(&[bytes, GOLDEN.to_vec()]) {
            soundness::check(&table);
            write_all(&mut table, &batch(0..9), Some(b"value"), 1);
            while table.maintain(1_000).unwrap() > 0 {}
            soundness::check(&table);
        }
    }
}
