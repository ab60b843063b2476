//! The table against the promises of the seam, and against a sorted map through random histories.

use std::sync::Arc;

use contract::compliance::{self, state as suite};
use contract::doubles::MapState;
use contract::{KeyedState, SlotKeys, StateWrites};
use model::{Column, HostTime, OptionalColumn, SlotIndex, StateId};
use proptest::prelude::*;

use crate::{MemoryBackend, Options, StateLog, soundness};

#[test]
fn the_state_log_keeps_the_promises_of_keyed_state() {
    compliance::state::check(&MemoryBackend::default());
}

#[test]
fn the_state_log_keeps_its_promises_with_tiny_segments() {
    for segment_bytes in [0, 256, 4096] {
        compliance::state::check(&MemoryBackend { options: Options { segment_bytes } });
    }
}

/// Keys, numbered, under the hashes that the suite gives them.
pub(crate) fn batch(keys: std::ops::Range<u32>) -> Arc<SlotKeys> {
    suite::slots(&keys.map(|key| format!("{key:036}")).collect::<Vec<_>>())
}

/// Writes one value, or deletes, for every slot.
pub(crate) fn write_all(table: &mut StateLog, slots: &Arc<SlotKeys>, value: Option<&[u8]>, now: i64) {
    let writes: Vec<_> = (0..slots.keys.len() as u32).map(|slot| (slot, value)).collect();
    table.apply(slots, &[suite::values(suite::VALUE, &writes)], HostTime(now)).unwrap();
}

/// The value of every slot.
pub(crate) fn load_all(table: &mut StateLog, slots: &SlotKeys) -> Vec<Option<Vec<u8>>> {
    let mut values = OptionalColumn::default();
    table.load(suite::VALUE, slots, &mut values).unwrap();
    values.iter().map(|value| value.map(<[u8]>::to_vec)).collect()
}

/// An empty table of the suite's scope.
pub(crate) fn empty(segment_bytes: usize) -> StateLog {
    StateLog::new(suite::scope(), Options { segment_bytes })
}

#[test]
fn an_entry_of_a_36_byte_key_takes_76_bytes_all_told() {
    const ENTRIES: u32 = 200_000;
    let mut table = empty(1 << 20);
    for first in (0..ENTRIES).step_by(2_000) {
        write_all(&mut table, &batch(first..first + 2_000), Some(&[1]), 1);
    }
    let stats = table.stats();
    let per_entry = (stats.memory_bytes - (1 << 20)) as f64 / f64::from(ENTRIES);
    assert!(per_entry <= 76.0, "{per_entry} bytes, {stats:?}");
}

#[test]
fn a_map_of_one_entry_takes_twice_its_entry_at_most() {
    const MAPS: u32 = 100_000;
    let mut table = empty(1 << 20);
    for first in (0..MAPS).step_by(2_000) {
        let entry_key = 1u64.to_be_bytes();
        let writes: Vec<_> = (0..2_000).map(|slot| (slot, &entry_key[..], Some(&b"8 bytes."[..]))).collect();
        table.apply(&batch(first..first + 2_000), &[suite::entries(suite::MAP, &writes)], HostTime(1)).unwrap();
    }
    let stats = table.stats();
    let per_entry = (stats.memory_bytes - (1 << 20)) as f64 / f64::from(MAPS);
    let entry = (table.log.live / table.log.entries) as f64;
    assert!(per_entry <= 2.0 * entry, "{per_entry} bytes for an entry of {entry}, {stats:?}");
}

#[test]
fn a_key_of_another_subtask_is_refused() {
    let mut scope = suite::scope();
    scope.key_groups.end = model::KeyGroup(4);
    let mut table = StateLog::new(scope, Options::default());
    let slots = Arc::new(SlotKeys {
        keys: ["mine", "theirs"].iter().collect(),
        hashes: vec![0, u64::MAX],
        ..SlotKeys::default()
    });
    let writes = [suite::values(suite::VALUE, &[(0, Some(b"1")), (1, Some(b"1"))])];
    let refused = table.apply(&slots, &writes, HostTime(1)).unwrap_err();
    assert_eq!(refused.to_string(), "key group 7 was asked for, the subtask owns 0 to 4 (exclusive)");
    let mut values = OptionalColumn::default();
    assert!(table.load(suite::VALUE, &slots, &mut values).is_err());
    assert!(values.is_empty());
    assert_eq!(table.stats().live_entries, 0);
}

#[test]
fn slots_beyond_the_batch_are_refused() {
    let slots = keys();
    let mut tables: [Box<dyn KeyedState>; 2] = [Box::new(empty(4096)), Box::new(MapState::new(suite::scope()))];
    for table in &mut tables {
        for (first, end) in [(0, KEYS + 1), (KEYS + 1, KEYS + 1), (3, 2)] {
            let mut values = OptionalColumn::default();
            let range = SlotIndex(first)..SlotIndex(end);
            let refused = table.load_range(suite::VALUE, &slots, range, &mut values).unwrap_err();
            assert_eq!(refused.blame(), model::Blame::Host, "{refused}");
            assert!(values.is_empty());
        }
    }
}

/// Keys of the random histories; several share a hash.
const KEYS: u32 = 12;

fn keys() -> Arc<SlotKeys> {
    let keys: Column = (0..KEYS).map(|key| vec![b'k'; key as usize]).collect();
    let hashes = (0..u64::from(KEYS)).map(|key| (key % 5).wrapping_mul(0x3fff_ffff_0000_0011)).collect();
    Arc::new(SlotKeys { keys, hashes, ..SlotKeys::default() })
}

/// One write: state, key, entry key, value.
type Write = (StateId, u32, u32, Option<(u8, usize)>);

#[derive(Clone, Debug)]
enum Step {
    Apply(Vec<Write>),
    Mark,
    Clean(usize),
    Restore,
}

fn writes() -> impl Strategy<Value = Write> {
    let state = prop_oneof![3 => Just(suite::VALUE), 1 => Just(suite::OTHER_VALUE), 4 => Just(suite::MAP)];
    let length = prop_oneof![8 => 0..20usize, 4 => 0..300usize, 1 => 65_530..65_540usize];
    let value = prop::option::weighted(0.7, (any::<u8>(), length));
    (state, 0..KEYS, 0..40u32, value)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => prop::collection::vec(writes(), 1..30).prop_map(Step::Apply),
        2 => Just(Step::Mark),
        3 => (1..5_000usize).prop_map(Step::Clean),
        1 => Just(Step::Restore),
    ];
    prop::collection::vec(step, 1..40)
}

/// Writes of one state follow each other, as a function's do; all keep their order.
fn staged(writes: &[Write]) -> Vec<StateWrites> {
    let same_state = |one: &Write, other: &Write| one.0 == other.0;
    let set = |writes: &[Write]| {
        let state = writes[0].0;
        let mut values = OptionalColumn::default();
        for write in writes {
            values.push(write.3.map(|(byte, length)| vec![byte; length]).as_deref());
        }
        let entry_keys = (state == suite::MAP).then(|| writes.iter().map(|write| format!("{}", write.2)).collect());
        StateWrites {
            state,
            slots: writes.iter().map(|write| SlotIndex(write.1)).collect(),
            entry_keys,
            values,
            written: Vec::new(),
        }
    };
    writes.chunk_by(same_state).map(set).collect()
}

/// Everything that reads can see.
fn seen(
    table: &mut dyn KeyedState,
    slots: &SlotKeys,
    page: usize,
) -> (Vec<OptionalColumn>, Vec<Vec<(Column, Column)>>) {
    let mut loaded = Vec::new();
    for state in [suite::VALUE, suite::OTHER_VALUE] {
        let mut values = OptionalColumn::default();
        table.load(state, slots, &mut values).unwrap();
        let mut pieces = OptionalColumn::default();
        for (first, end) in [(0, 0), (0, 5), (5, 6), (6, KEYS)] {
            table.load_range(state, slots, SlotIndex(first)..SlotIndex(end), &mut pieces).unwrap();
        }
        assert_eq!(pieces, values, "in pieces");
        loaded.push(values);
    }
    let which: Vec<_> = (0..KEYS * 40).map(|row| SlotIndex(row / 40)).collect();
    let entry_keys = (0..KEYS * 40).map(|row| format!("{}", row % 40)).collect();
    let mut values = OptionalColumn::default();
    table.load_entries(suite::MAP, slots, &which, &entry_keys, &mut values).unwrap();
    loaded.push(values);
    let mut scan = |slot| {
        let mut pages: Vec<(Column, Column)> = Vec::new();
        loop {
            let after = pages.last().and_then(|(keys, _)| keys.iter().last()).map(<[u8]>::to_vec);
            let found = table.scan(suite::MAP, slots, SlotIndex(slot), after.as_deref(), page).unwrap();
            let full = found.0.len() == page;
            pages.push(found);
            if !full {
                return pages;
            }
        }
    };
    let scanned = (0..KEYS).map(&mut scan).collect();
    (loaded, scanned)
}

proptest! {
    #[test]
    fn a_table_is_what_a_sorted_map_says_through_marks_cleaning_and_restores(
        steps in steps(),
        segment_bytes in prop_oneof![Just(64usize), Just(512), Just(4096)],
        page in 1..50usize,
    ) {
        let (slots, options) = (keys(), Options { segment_bytes });
        let mut table = StateLog::new(suite::scope(), options);
        let mut model = MapState::new(suite::scope());
        let mut deltas = Vec::new();
        for (step, now) in steps.iter().zip(0..) {
            match step {
                Step::Apply(writes) => {
                    let writes = staged(writes);
                    table.apply(&slots, &writes, HostTime(now)).unwrap();
                    model.apply(&slots, &writes, HostTime(now)).unwrap();
                }
                Step::Mark => deltas.extend(table.mark()),
                Step::Clean(budget) => {
                    table.maintain(*budget).unwrap();
                }
                Step::Restore => {
                    deltas.extend(table.mark());
                    table = StateLog::restore(suite::scope(), options, deltas.iter().cloned()).unwrap();
                }
            }
            soundness::check(&table);
        }
        prop_assert_eq!(seen(&mut table, &slots, page), seen(&mut model, &slots, page));
        let (table, model) = (table.stats(), model.stats());
        prop_assert_eq!((table.live_entries, table.live_bytes), (model.live_entries, model.live_bytes));
    }
}
