//! What every [`StateBackend`] promises.
//!
//! [`check`] runs all promises; each is a function of its own, so that one can be run alone.

mod snapshots;
mod ttl;

use std::sync::Arc;

use model::{
    Blame, Column, HostTime, KeyGroup, KeyGroupRange, OperatorUid, OptionalColumn, SlotIndex, StateDescriptor,
};
use model::{StateId, StateKind};

use crate::{KeyedState, SlotKeys, StateBackend, StateScope, StateWrites};

pub use snapshots::{Visited, exported, restored};
pub use ttl::{life, mortal_scope, slots_at};

/// A state of kind value.
pub const VALUE: StateId = StateId(0);
/// A state of kind map.
pub const MAP: StateId = StateId(1);
/// A state of kind list.
pub const LIST: StateId = StateId(2);
/// Another state of kind value.
pub const OTHER_VALUE: StateId = StateId(7);
/// A state that is not declared.
pub const UNDECLARED: StateId = StateId(9);

/// One promise.
pub type Promise = fn(&dyn StateBackend);

/// Every promise with its name.
pub const PROMISES: &[(&str, Promise)] = &[
    ("what was applied is read, and absence is not emptiness", absence_is_not_emptiness),
    ("a state is reached under its own id only", states_are_apart),
    ("an empty key is a key", an_empty_key_is_a_key),
    ("keys with the same hash are different keys", equal_hashes_are_different_keys),
    ("the later write of a batch wins", the_later_write_wins),
    ("a deleted entry can be written again", deleted_and_written_again),
    ("a huge value comes back whole", a_huge_value_comes_back_whole),
    ("a value may grow and shrink", a_value_may_grow_and_shrink),
    ("entries are found one by one", entries_are_found_one_by_one),
    ("a scan is in byte order and pages", a_scan_pages_in_byte_order),
    ("a scan sees deletes and new entries", a_scan_sees_changes),
    ("a list keeps its order", a_list_keeps_its_order),
    ("loads append to what is there", loads_append),
    ("writes take effect whole or not at all", writes_are_atomic),
    ("what does not fit the scope is refused", what_does_not_fit_is_refused),
    ("keys of groups that the subtask does not own are refused", foreign_keys_are_refused),
    ("keys without a hash of their own are refused", every_key_has_one_hash),
    ("figures follow what is live", figures_follow_what_is_live),
    ("maintenance changes nothing that reads see", maintenance_is_invisible),
    ("an entry is visible before its expiry and not from it on", ttl::expiry_is_exact),
    ("only the clock of a state decides what has expired", ttl::only_the_clock_of_the_state_decides),
    ("states without a time to live live", ttl::states_without_a_time_to_live_live),
    ("what starts a life anew is as declared", ttl::refresh_is_as_declared),
    ("the write time of a visible entry never falls", ttl::a_write_time_never_falls),
    ("a write over what has expired makes a new entry", ttl::a_write_over_what_expired_makes_a_new_entry),
    ("a row names its write time, or its slot does", ttl::a_row_names_its_write_time),
    ("changes are the least time at which rows see otherwise", ttl::changes_are_the_least_time),
    ("nothing is purged early", ttl::nothing_is_purged_early),
    ("what nobody can see is purged", ttl::what_nobody_can_see_is_purged),
    ("what was purged and deleted does not come back", ttl::what_was_purged_does_not_come_back),
    ("a time to live may change over what is there", ttl::a_policy_may_change_over_what_is_there),
    ("write times are restored", ttl::write_times_are_restored),
    ("deltas make the same table", snapshots::deltas_make_the_same_table),
    ("an image replaces what came before", snapshots::an_image_replaces_what_came_before),
    ("an image is of its mark", snapshots::an_image_is_of_its_mark),
    ("parts count for their key groups", snapshots::parts_count_for_their_key_groups),
    ("key groups move from owner to owner", snapshots::key_groups_move_from_owner_to_owner),
    ("the error of a part is the error of the restore", snapshots::the_error_of_a_part_is_the_error),
    ("an export rises by key group and can be imported", snapshots::an_export_rises_by_key_group_and_can_be_imported),
    ("a visit of states finds all of theirs and no others", snapshots::a_visit_of_states_finds_all_of_theirs),
    ("an import fits the scope", snapshots::an_import_fits_the_scope),
    ("a range is a part of the whole", snapshots::a_range_is_a_part_of_the_whole),
];

/// Runs every promise.
///
/// # Panics
/// When one is broken.
pub fn check(backend: &dyn StateBackend) {
    for (name, promise) in PROMISES {
        let kept = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| promise(backend)));
        assert!(kept.is_ok(), "promise broken: {name}");
    }
}

/// The scope the suite uses: all of 8 key groups, the states named above.
///
/// # Panics
/// Never.
#[must_use]
pub fn scope() -> StateScope {
    let state = |id, name: &str, kind| StateDescriptor {
        id,
        name: name.to_owned(),
        kind,
        schema: String::new(),
        version: 1,
        ttl: None,
    };
    StateScope {
        operator: OperatorUid::new("compliance").expect("a valid name"),
        key_groups: KeyGroupRange { first: KeyGroup(0), end: KeyGroup(8) },
        key_group_count: 8,
        states: vec![
            state(VALUE, "value", StateKind::Value),
            state(MAP, "map", StateKind::MapEntries),
            state(LIST, "list", StateKind::Appended),
            state(OTHER_VALUE, "other", StateKind::Value),
        ],
    }
}

/// A hash for the keys of a test; spreads over all key groups.
#[must_use]
pub fn hash(key: &[u8]) -> u64 {
    let fold = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = key.iter().fold(0xcbf2_9ce4_8422_2325, fold);
    (hash ^ (hash >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// The slots of a batch with these keys.
#[must_use]
pub fn slots<K: AsRef<[u8]>>(keys: &[K]) -> Arc<SlotKeys> {
    let hashes = keys.iter().map(|key| hash(key.as_ref())).collect();
    Arc::new(SlotKeys { keys: keys.iter().map(AsRef::as_ref).collect(), hashes, ..SlotKeys::default() })
}

/// Writes to a state of kind value: slot and value.
#[must_use]
pub fn values(state: StateId, writes: &[(u32, Option<&[u8]>)]) -> StateWrites {
    let mut column = OptionalColumn::default();
    writes.iter().for_each(|write| column.push(write.1));
    let slots = writes.iter().map(|write| SlotIndex(write.0)).collect();
    StateWrites { state, slots, entry_keys: None, values: column, written: Vec::new() }
}

/// Slot, entry key and value; absent deletes.
pub type EntryWrite<'a> = (u32, &'a [u8], Option<&'a [u8]>);

/// Writes to a map or list.
#[must_use]
pub fn entries(state: StateId, writes: &[EntryWrite<'_>]) -> StateWrites {
    let plain: Vec<_> = writes.iter().map(|write| (write.0, write.2)).collect();
    let entry_keys = writes.iter().map(|write| write.1).collect();
    StateWrites { entry_keys: Some(entry_keys), ..values(state, &plain) }
}

/// A table and the little a test says to it.
struct Table(Box<dyn KeyedState>);

impl Table {
    fn new(backend: &dyn StateBackend) -> Self {
        Self(backend.open(scope()).expect("a table opens"))
    }

    fn apply(&mut self, slots: &Arc<SlotKeys>, writes: &[StateWrites]) {
        self.0.apply(slots, writes, HostTime(1)).expect("the writes fit the scope");
    }

    fn set(&mut self, state: StateId, key: &[u8], value: Option<&[u8]>) {
        self.apply(&slots(&[key]), &[values(state, &[(0, value)])]);
    }

    fn set_entry(&mut self, state: StateId, key: &[u8], entry_key: &[u8], value: Option<&[u8]>) {
        self.apply(&slots(&[key]), &[entries(state, &[(0, entry_key, value)])]);
    }

    fn load(&mut self, state: StateId, slots: &SlotKeys) -> Vec<Option<Vec<u8>>> {
        let mut out = OptionalColumn::default();
        self.0.load(state, slots, &mut out).expect("the state is a value");
        out.iter().map(|value| value.map(<[u8]>::to_vec)).collect()
    }

    fn get(&mut self, state: StateId, key: &[u8]) -> Option<Vec<u8>> {
        self.load(state, &slots(&[key])).swap_remove(0)
    }

    fn scan(&mut self, state: StateId, key: &[u8], after: Option<&[u8]>, limit: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
        let scanned = self.0.scan(state, &slots(&[key]), SlotIndex(0), after, limit);
        let (keys, values) = scanned.expect("the state is a map or list");
        assert_eq!(keys.len(), values.len(), "a scan gives a value for every key");
        keys.iter().zip(values.iter()).map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
    }
}

fn absence_is_not_emptiness(backend: &dyn StateBackend) {
    let mut table = Table::new(backend);
    let slots = slots(&["a", "b", "c", "d"]);
    assert_eq!(table.load(VALUE, &slots), [None, None, None, None]);
    table.apply(&slots, &[values(VALUE, &[(0, Some(b"one")), (1, Some(b"")), (2, None)])]);
    assert_eq!(table.load(VALUE, &slots), [Some(b"one".to_vec()), Some(Vec::new()), None, None]);
}

fn states_are_apart(backend: &dyn StateBackend) {
    let mut table = Table::new(backend);
    table.set(VALUE, b"key", Some(b"value"));
    table.set(OTHER_VALUE, b"key", Some(b"other"));
    table.set_entry(MAP, b"key", b"", Some(b"entry"));
    table.set_entry(LIST, b"key", &7u64.to_be_bytes(), Some(b"item"));
    table.set(OTHER_VALUE, b"key", None);
    assert_eq!(table.get(VALUE, b"key").as_deref(), Some(&b"value"[..]));
    assert_eq!(table.get(OTHER_VALUE, b"key"), None);
    assert_eq!(table.scan(MAP, b"key", None, 9), [(Vec::new(), b"entry".to_vec())]);
    assert_eq!(table.scan(LIST, b"key", None, 9).len(), 1);
}

fn an_empty_key_is_a_key(backend: &dyn StateBackend) {
    let mut table = Table::new(backend);
    table.set(VALUE, b"", Some(b"of the empty key"));
    assert_eq!(table.get(VALUE, b"").as_deref(), Some(&b"of the empty key"[..]));
    assert_eq!(table.get(VALUE, b"\0"), None);
}

fn equal_hashes_are_different_keys(backend: &dyn StateBackend) {
    const COUNT: u32 = 600;
    for hash in [0, u64::MAX, 0x0123_4567_89ab_cdef] {
        let mut table = Table::new(backend);
        let keys: Column = (0..COUNT).map(|key| key.to_be_bytes()).collect();
        let slots = Arc::new(SlotKeys { keys, hashes: vec![hash; COUNT as usize], ..SlotKeys::default() });
        let texts: Vec<String> = (0..COUNT).map(|key| format!("value of {key}")).collect();
        let writes: Vec<_> = (0..COUNT).zip(&texts).map(|(slot, text)| (slot, Some(text.as_bytes()))).collect();
        let mapped: Vec<_> = writes.iter().map(|&(slot, value)| (slot, &b"entry"[..], value)).collect();
        table.apply(&slots, &[values(VALUE, &writes), entries(MAP, &mapped)]);
        table.apply(&slots, &[values(VALUE, &[(17, None)]), entries(MAP, &[(17, b"entry", None)])]);
        for (slot, found) in table.load(VALUE, &slots).into_iter().enumerate() {
            let expected = texts.get(slot).filter(|_| slot != 17).map(|text| text.clone().into_bytes());
            assert_eq!(found, expected, "slot {slot} of hash {hash:#x}");
            let slot = SlotIndex(slot as u32);
            let (_, scanned) = table.0.scan(MAP, &slots, slot, None, 9).expect("a map is scanned");
            assert_eq!(scanned.iter().next(), expected.as_deref(), "map of slot {slot} of hash {hash:#x}");
        }
    }
}

fn the_later_write_wins(backend: &dyn StateBackend) {
    let mut table = Table::new(backend);
    let slots = slots(&["a", "b"]);
    let first = values(VALUE, &[(0, Some(b"1")), (1, Some(b"1")), (0, Some(b"a longer second")), (1, None)]);
    let then = values(VALUE, &[(1, Some(b"2")), (0, Some(b"3"))]);
    table.apply(&slots, &[first, then]);
    assert_eq!(table.load(VALUE, &slots), [Some(b"3".to_vec()), Some(b"2".to_vec())]);
    let writes: [EntryWrite<'_>; 3] = [(0, b"x", Some(b"1")), (0, b"x", Some(b"2")), (0, b"x", None)];
    table.apply(&slots, &[entries(MAP, &writes)]);
    assert_eq!(table.scan(MAP, b"a", None, 9), []);
}

fn deleted_and_written_again(backend: &dyn StateBackend) {
    let mut table = Table::new(backend);
    for round in 0..20u8 {
        table.set(VALUE, b"key", Some(&[round]));
        table.set_entry(MAP, b"key", b"entry", Some(&[round]));
        assert_eq!(table.get(VALUE, b"key"), Some(vec![round]));
        assert_eq!(table.scan(MAP, b"key", None, 9), [(b"entry".to_vec(), vec![round])]);
        table.set(VALUE, b"key", None);
        table.set_entry(MAP, b"key", b"entry", None);
        assert_eq!(table.get(VALUE, b"key"), None);
        assert_eq!(table.scan(MAP, b"key", None, 9), []);
    }
    assert_eq!(table.0.stats().live_entries, 0);
}

fn a_huge_value_comes_back_whole(backend: &dyn StateBackend) {
    let mut table = Table::new(backend);
    let huge: Vec<u8> = (0..5_000_003u32).map(|at| (at % 251) as u8).collect();
    let long_key = vec![b'k'; 70_000];
    table.set(VALUE, b"before", Some(b"1"));
    table.set(VALUE, &long_key, Some(&huge));
    table.set_entry(MAP, b"key", &long_key, Some(&huge));
    table.set(VALUE, b"after", Some(b"2"));
    assert!(table.get(VALUE, &long_key).as_deref() == Some(&huge), "a value of 5 MB under a key of 70 kB");
    let scanned = table.scan(MAP, b"key", None, 1);
    assert!(scanned == [(long_key.clone(), huge)], "an entry of 5 MB under an entry key of 70 kB");
    table.set(VALUE, &long_key, Some(b"small"));
    assert_eq!(table.get(VALUE, &long_key).as_deref(), Some(&b"small"[..]));
    table.set(VALUE, &long_key, None);
    assert_eq!(table.get(VALUE, &long_key), None);
    assert_eq!(table.get(VALUE, b"before").as_deref(), Some(&b"1"[..]));
    assert_eq!(table.get(VALUE, b"after").as_deref(), Some(&b"2"[..]));
}

fn a_value_may_grow_and_shrink(backend: &dyn StateBackend) {
    let mut table = Table::new(backend);
    let lengths = [0, 1, 7, 8, 9, 3, 64, 0, 255, 256, 257, 65_535, 65_536, 65_537, 12, 70_000, 1];
    for (round, length) in lengths.into_iter().enumerate() {
        let value = vec![round as u8; length];
        table.set(VALUE, b"key", Some(&value));
        table.set(VALUE, b"neighbour", Some(&[round as u8]));
        assert_eq!(table.get(VALUE, b"key"), Some(value));
        assert_eq!(table.get(VALUE, b"neighbour"), Some(vec![round as u8]));
    }
}

fn entries_are_found_one_by_one(backend: &dyn StateBackend) {
    let mut table = Table::new(backend);
    let slots = slots(&["a", "b"]);
    table.apply(&slots, &[entries(MAP, &[(0, b"x", Some(b"ax")), (1, b"x", Some(b"bx")), (0, b"", Some(b""))])]);
    let which = [1, 0, 0, 1, 0].map(SlotIndex);
    let entry_keys: Column = ["x", "x", "", "", "y"].iter().collect();
    let mut out = OptionalColumn::default();
    table.0.load_entries(MAP, &slots, &which, &entry_keys, &mut out).expect("a map has entries");
    let found: Vec<_> = out.iter().collect();
    assert_eq!(found, [Some(&b"bx"[..]), Some(b"ax"), Some(b""), None, None]);
}

fn a_scan_pages_in_byte_order(backend: &dyn StateBackend) {
    const COUNT: u32 = 10_000;
    let mut table = Table::new(backend);
    // Multiplying by an odd number visits every key once, out of order; lengths differ.
    let key = |nth: u32| format!("{:x}", nth.wrapping_mul(2_654_435_761)).into_bytes();
    let mut expected: Vec<_> = (0..COUNT).map(|nth| (key(nth), nth.to_be_bytes().to_vec())).collect();
    for chunk in expected.chunks(997) {
        let writes: Vec<_> = chunk.iter().map(|(key, value)| (0, key.as_slice(), Some(value.as_slice()))).collect();
        table.apply(&slots(&["key"]), &[entries(MAP, &writes)]);
    }
    table.set_entry(MAP, b"another", b"entry", Some(b"not among them"));
    expected.sort();
    let mut scanned: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    loop {
        let after = scanned.last().map(|(key, _)| key.clone());
        let page = table.scan(MAP, b"key", after.as_deref(), 512);
        let full = page.len() == 512;
        scanned.extend(page);
        if !full {
            break;
        }
    }
    assert!(scanned == expected, "{} entries in byte order, {} expected", scanned.len(), COUNT);
    let from_between = table.scan(MAP, b"key", Some(b"7"), 1);
    assert_eq!(from_between.first(), expected.iter().find(|(key, _)| key.as_slice() > b"7"));
    assert_eq!(table.scan(MAP, b"key", Some(b"zzz"), 9), []);
}

fn a_scan_sees_changes(backend: &dyn StateBackend) {
    let mut table = Table::new(backend);
    let names = |table: &mut Table| -> String {
        let scanned = table.scan(MAP, b"key", None, 99);
        scanned.iter().map(|(key, _)| String::from_utf8_lossy(key).into_owned()).collect::<Vec<_>>().join(" ")
    };
    for entry_key in ["m", "c", "x"] {
        table.set_entry(MAP, b"key", entry_key.as_bytes(), Some(b"1"));
    }
    assert_eq!(names(&mut table), "c m x");
    table.set_entry(MAP, b"key", b"d", Some(b"1"));
    table.set_entry(MAP, b"key", b"a", Some(b"1"));
    table.set_entry(MAP, b"key", b"c", None);
    assert_eq!(names(&mut table), "a d m x");
    table.set_entry(MAP, b"key", b"c", Some(b"1"));
    table.set_entry(MAP, b"key", b"x", Some(b"changed"));
    assert_eq!(names(&mut table), "a c d m x");
    assert_eq!(table.scan(MAP, b"key", Some(b"m"), 1), [(b"x".to_vec(), b"changed".to_vec())]);
    for entry_key in ["x", "a", "m", "d", "c"] {
        table.set_entry(MAP, b"key", entry_key.as_bytes(), None);
    }
    assert_eq!(names(&mut table), "");
}

fn a_list_keeps_its_order(backend: &dyn StateBackend) {
    let mut table = Table::new(backend);
    for index in 0..1000u64 {
        let key = if index % 3 == 0 { "thirds" } else { "others" };
        table.set_entry(LIST, key.as_bytes(), &index.to_be_bytes(), Some(&index.to_le_bytes()));
        if index == 500 {
            assert_eq!(table.scan(LIST, b"thirds", None, 9999).len(), 167);
        }
    }
    let thirds = table.scan(LIST, b"thirds", Some(&498u64.to_be_bytes()), 2);
    let item = |index: u64| (index.to_be_bytes().to_vec(), index.to_le_bytes().to_vec());
    assert_eq!(thirds, [item(501), item(504)]);
}

fn loads_append(backend: &dyn StateBackend) {
    let mut table = Table::new(backend);
    table.set(VALUE, b"key", Some(b"value"));
    let mut out = OptionalColumn::default();
    out.push(None);
    out.push(Some(b"before"));
    table.0.load(VALUE, &slots(&["key"]), &mut out).expect("the state is a value");
    let found: Vec<_> = out.iter().collect();
    assert_eq!(found, [None, Some(&b"before"[..]), Some(b"value")]);
}

fn writes_are_atomic(backend: &dyn StateBackend) {
    let mut table = Table::new(backend);
    table.set(VALUE, b"a", Some(b"before"));
    let slots = slots(&["a", "b"]);
    let good = values(VALUE, &[(0, Some(b"after")), (1, Some(b"after"))]);
    let bad_slot = values(VALUE, &[(2, Some(b"after"))]);
    let undeclared = values(UNDECLARED, &[(0, Some(b"after"))]);
    let without_entry_keys = values(MAP, &[(0, Some(b"after"))]);
    let with_entry_keys = entries(VALUE, &[(0, b"entry", Some(b"after"))]);
    let mut too_short = good.clone();
    too_short.slots.push(SlotIndex(0));
    for bad in [bad_slot, undeclared, without_entry_keys, with_entry_keys, too_short] {
        let refused = table.0.apply(&slots, &[good.clone(), bad.clone()], HostTime(2));
        assert!(refused.is_err(), "{bad:?} is refused");
        assert_eq!(table.load(VALUE, &slots), [Some(b"before".to_vec()), None], "nothing of {bad:?} is applied");
    }
}

fn what_does_not_fit_is_refused(backend: &dyn StateBackend) {
    let mut table = Table::new(backend);
    let slots = slots(&["a"]);
    let mut out = OptionalColumn::default();
    assert!(table.0.load(UNDECLARED, &slots, &mut out).is_err(), "an undeclared state");
    assert!(table.0.load(MAP, &slots, &mut out).is_err(), "a map is not a value");
    let entry_keys: Column = ["x"].iter().collect();
    let which = [SlotIndex(0)];
    assert!(table.0.load_entries(VALUE, &slots, &which, &entry_keys, &mut out).is_err(), "a value has no entries");
    assert!(table.0.load_entries(MAP, &slots, &[], &entry_keys, &mut out).is_err(), "one entry key, no slot");
    assert!(table.0.load_entries(MAP, &slots, &[SlotIndex(1)], &entry_keys, &mut out).is_err(), "no slot 1");
    assert!(table.0.scan(VALUE, &slots, SlotIndex(0), None, 1).is_err(), "a value is not scanned");
    assert!(table.0.scan(MAP, &slots, SlotIndex(1), None, 1).is_err(), "no slot 1");
    assert!(out.is_empty(), "what is refused appends nothing");
}

/// Asserts that every call that names slot `bad` is refused, and changes nothing of slot 0.
fn slot_is_refused(table: &mut Table, slots: &Arc<SlotKeys>, bad: u32, why: &str) {
    let mut out = OptionalColumn::default();
    let (slot, entry_keys) = (SlotIndex(bad), ["x"].iter().collect());
    let refused = [
        table.0.load(VALUE, slots, &mut out),
        table.0.load_entries(MAP, slots, &[slot], &entry_keys, &mut out),
        table.0.scan(MAP, slots, slot, None, 1).map(drop),
        table.0.apply(slots, &[values(VALUE, &[(0, Some(b"after")), (bad, Some(b"after"))])], HostTime(2)),
        table.0.apply(slots, &[entries(MAP, &[(0, b"x", Some(b"after")), (bad, b"x", None)])], HostTime(2)),
    ];
    for (call, outcome) in ["load", "load_entries", "scan", "apply to values", "apply to entries"].iter().zip(refused) {
        let error = outcome.err().unwrap_or_else(|| panic!("{call} takes {why}"));
        assert_eq!(error.blame(), Blame::Host, "{call} of {why}");
    }
    assert!(out.is_empty(), "what is refused appends nothing");
    let stats = table.0.stats();
    assert_eq!((stats.live_entries, stats.live_bytes), (1, 4 + 6), "nothing of {why} is applied");
}

fn foreign_keys_are_refused(backend: &dyn StateBackend) {
    // The first and the last group are those of the least and the greatest hash.
    let key_groups = KeyGroupRange { first: KeyGroup(1), end: KeyGroup(7) };
    let mut table = Table(backend.open(StateScope { key_groups, ..scope() }).expect("a table opens"));
    let of_hashes = |hashes: [u64; 2]| {
        Arc::new(SlotKeys { keys: ["mine", "theirs"].iter().collect(), hashes: hashes.to_vec(), ..SlotKeys::default() })
    };
    table.apply(&of_hashes([1 << 63, 1 << 62]), &[values(VALUE, &[(0, Some(b"before"))])]);
    for foreign in [0, u64::MAX] {
        slot_is_refused(&mut table, &of_hashes([1 << 63, foreign]), 1, &format!("a key of hash {foreign:#x}"));
    }
    assert_eq!(table.load(VALUE, &of_hashes([1 << 63, 1 << 62])), [Some(b"before".to_vec()), None]);
}

fn every_key_has_one_hash(backend: &dyn StateBackend) {
    let mut table = Table::new(backend);
    let good = slots(&["mine", "other"]);
    table.apply(&good, &[values(VALUE, &[(0, Some(b"before"))])]);
    for count in [0, 1, 3] {
        let hashes = good.hashes.iter().copied().chain([7]).take(count).collect();
        let bad = Arc::new(SlotKeys { keys: good.keys.clone(), hashes, ..SlotKeys::default() });
        slot_is_refused(&mut table, &bad, 1, &format!("{count} hashes of 2 keys"));
    }
    assert_eq!(table.load(VALUE, &good), [Some(b"before".to_vec()), None]);
}

fn figures_follow_what_is_live(backend: &dyn StateBackend) {
    let mut table = Table::new(backend);
    assert_eq!((table.0.stats().live_entries, table.0.stats().live_bytes), (0, 0));
    table.set(VALUE, b"abc", Some(b"12345"));
    table.set_entry(MAP, b"abc", b"de", Some(b"1"));
    assert_eq!((table.0.stats().live_entries, table.0.stats().live_bytes), (2, 8 + 6));
    table.set(VALUE, b"abc", Some(b"1"));
    table.set_entry(MAP, b"abc", b"de", Some(b"1234567890"));
    assert_eq!((table.0.stats().live_entries, table.0.stats().live_bytes), (2, 4 + 15));
    table.set(VALUE, b"abc", None);
    table.set(VALUE, b"never there", None);
    assert_eq!((table.0.stats().live_entries, table.0.stats().live_bytes), (1, 15));
    assert!(table.0.stats().memory_bytes >= table.0.stats().live_bytes, "memory holds what lives");
}

fn maintenance_is_invisible(backend: &dyn StateBackend) {
    let mut table = Table::new(backend);
    let keys: Vec<String> = (0..400).map(|key| format!("key {key}")).collect();
    let slots = slots(&keys);
    let mut expected = vec![None; keys.len()];
    for round in 0..60usize {
        let value = vec![round as u8; 40 + round * 7];
        let mut column = Vec::new();
        for (slot, expected) in (0u32..).zip(&mut expected).skip(round % 3).step_by(3) {
            let new = (slot as usize % 11 != round % 11).then_some(&value[..]);
            *expected = new.map(<[u8]>::to_vec);
            column.push((slot, new));
        }
        let mapped: Vec<_> = column.iter().map(|&(slot, value)| (slot % 5, keys_entry(&keys, slot), value)).collect();
        table.apply(&slots, &[values(VALUE, &column), entries(MAP, &mapped)]);
        let scans: Vec<_> = (0..5).map(|key| table.scan(MAP, format!("key {key}").as_bytes(), None, 999)).collect();
        table.0.maintain(10_000).expect("room is reclaimed");
        assert!(table.load(VALUE, &slots) == expected, "values after round {round}");
        let again: Vec<_> = (0..5).map(|key| table.scan(MAP, format!("key {key}").as_bytes(), None, 999)).collect();
        assert!(again == scans, "maps after round {round}");
    }
    let bounded = (0..10_000).any(|_| table.0.maintain(100_000).expect("room is reclaimed") == 0);
    assert!(bounded, "maintenance comes to an end");
}

/// The entry key that a test gives to a slot: the text of its key.
fn keys_entry(keys: &[String], slot: u32) -> &[u8] {
    keys.get(slot as usize).map_or(&[], String::as_bytes)
}
