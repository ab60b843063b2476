//! What is promised of marks, images, restores, and of entries that leave and enter one by one.

use model::{HostTime, KeyGroup, KeyGroupRange, OptionalColumn, SlotIndex, StateId};

use super::{LIST, MAP, OTHER_VALUE, Table, VALUE, entries, hash, scope, slots, values};
use crate::{Error, KeyedState, StateBackend, StateDelta, StateEntry, StatePart, StateScope};

/// An entry that was visited: group, state, key, entry key, value, write time.
pub type Visited = (KeyGroup, u16, Vec<u8>, Option<Vec<u8>>, Vec<u8>, i64);

/// Every entry of a table, in the order of the visit.
///
/// # Panics
/// When the table cannot be visited.
pub fn exported(table: &mut dyn KeyedState, key_group_count: u16) -> Vec<Visited> {
    let mut found = Vec::new();
    let visit = &mut |entry: StateEntry<'_>| {
        let group = KeyGroup::of_hash(entry.hash, key_group_count);
        let entry_key = entry.entry_key.map(<[u8]>::to_vec);
        found.push((group, entry.state.0, entry.key.to_vec(), entry_key, entry.value.to_vec(), entry.written_millis));
        Ok(())
    };
    table.export(visit).expect("every entry is visited");
    found
}

fn sorted(mut visited: Vec<Visited>) -> Vec<Visited> {
    visited.sort();
    visited
}

fn everything(table: &mut Table) -> Vec<Visited> {
    sorted(exported(table.0.as_mut(), scope().key_group_count))
}

/// A table from deltas, all of which count whole.
///
/// # Panics
/// When it cannot be restored.
pub fn restored(backend: &dyn StateBackend, scope: StateScope, deltas: &[StateDelta]) -> Box<dyn KeyedState> {
    let part = |delta: &StateDelta| {
        let segments = delta.segments.clone();
        Ok(StatePart { key_groups: KeyGroupRange { first: KeyGroup(0), end: KeyGroup(8) }, segments })
    };
    backend.restore(scope, &mut deltas.iter().map(part)).expect("what was marked is restored")
}

fn scope_of(first: u16, end: u16) -> StateScope {
    StateScope { key_groups: KeyGroupRange { first: KeyGroup(first), end: KeyGroup(end) }, ..scope() }
}

/// One epoch of a history over the keys of `groups`: what earlier rounds wrote is written over or deleted.
fn write_round(table: &mut dyn KeyedState, groups: &KeyGroupRange, round: u32) {
    let all = (0..60).map(|nth| format!("key {}", nth + 20 * (round % 3)));
    let keys: Vec<String> =
        all.filter(|key| groups.contains(KeyGroup::of_hash(hash(key.as_bytes()), scope().key_group_count))).collect();
    let text = format!("round {round}");
    let value = |nth: u32| (nth % 5 != round % 5).then_some(text.as_bytes());
    let plain: Vec<_> = (0..keys.len() as u32).map(|nth| (nth, value(nth))).collect();
    let names: Vec<String> = plain.iter().map(|write| format!("entry {}", write.0 * 7 % 40)).collect();
    let mapped: Vec<_> = plain.iter().zip(&names).map(|(write, name)| (write.0, name.as_bytes(), write.1)).collect();
    let writes = [values(VALUE, &plain), entries(MAP, &mapped)];
    table.apply(&slots(&keys), &writes, HostTime(i64::from(round))).expect("the writes fit");
}

fn all_groups() -> KeyGroupRange {
    scope().key_groups
}

/// A table after so many epochs, and what each changed.
fn history(backend: &dyn StateBackend, rounds: u32) -> (Table, Vec<StateDelta>) {
    let mut table = Table::new(backend);
    let epochs = |round| {
        write_round(table.0.as_mut(), &all_groups(), round);
        table.0.snapshot().expect("a mark")
    };
    let deltas = (0..rounds).map(epochs).collect();
    (table, deltas)
}

fn image(table: &mut dyn KeyedState) -> StateDelta {
    let segments = table.image().expect("nothing was applied after the mark");
    StateDelta { segments: segments.collect::<Result<_, _>>().expect("an image is made") }
}

pub(super) fn deltas_make_the_same_table(backend: &dyn StateBackend) {
    let (mut table, deltas) = history(backend, 9);
    let mut again = Table(restored(backend, scope(), &deltas));
    assert_eq!(everything(&mut again), everything(&mut table));
    assert_eq!(again.0.stats().live_entries, table.0.stats().live_entries);
    assert!(table.0.snapshot().expect("a mark").segments.is_empty(), "nothing changed since");
    assert!(again.0.snapshot().expect("a mark").segments.is_empty(), "what was restored is no change");
    write_round(again.0.as_mut(), &all_groups(), 9);
    write_round(table.0.as_mut(), &all_groups(), 9);
    let mut all = deltas.clone();
    all.push(again.0.snapshot().expect("a mark"));
    assert_eq!(everything(&mut Table(restored(backend, scope(), &all))), everything(&mut table));
}

pub(super) fn an_image_replaces_what_came_before(backend: &dyn StateBackend) {
    let (mut table, _) = history(backend, 6);
    let mut parts = vec![image(table.0.as_mut())];
    assert_eq!(everything(&mut Table(restored(backend, scope(), &parts))), everything(&mut table));
    for round in 6..10 {
        write_round(table.0.as_mut(), &all_groups(), round);
        parts.push(table.0.snapshot().expect("a mark"));
        table.0.maintain(10_000).expect("room is reclaimed");
    }
    assert_eq!(everything(&mut Table(restored(backend, scope(), &parts))), everything(&mut table));
    let again = [image(table.0.as_mut())];
    assert_eq!(everything(&mut Table(restored(backend, scope(), &again))), everything(&mut table));
}

pub(super) fn an_image_is_of_its_mark(backend: &dyn StateBackend) {
    let (mut table, _) = history(backend, 6);
    let before = everything(&mut table);
    let segments = table.0.image().expect("nothing was applied after the mark");
    let mut made = Vec::new();
    for (round, segment) in (6..).zip(segments) {
        write_round(table.0.as_mut(), &all_groups(), round);
        table.0.snapshot().expect("a mark");
        table.0.maintain(100_000).expect("room is reclaimed");
        made.push(segment.expect("an image is made"));
    }
    let mut again = Table(restored(backend, scope(), &[StateDelta { segments: made }]));
    assert!(everything(&mut again) == before, "what was written while the image was made is not in it");
    assert!(everything(&mut table) != before);
    let empty = image(Table::new(backend).0.as_mut());
    assert_eq!(everything(&mut Table(restored(backend, scope(), &[empty]))), []);
}

pub(super) fn parts_count_for_their_key_groups(backend: &dyn StateBackend) {
    let (mut table, deltas) = history(backend, 6);
    let all = everything(&mut table);
    let of = |first: u16, end: u16| all.iter().filter(move |entry| (first..end).contains(&entry.0.0)).cloned();
    let part = |first, end| {
        let segments = deltas.iter().flat_map(|delta| delta.segments.clone()).collect();
        Ok(StatePart { key_groups: KeyGroupRange { first: KeyGroup(first), end: KeyGroup(end) }, segments })
    };
    let mut some = backend.restore(scope(), &mut [part(2, 5)].into_iter()).expect("a part is restored");
    assert_eq!(sorted(exported(some.as_mut(), 8)), of(2, 5).collect::<Vec<_>>());
    let mut fewer = backend.restore(scope_of(3, 8), &mut [part(2, 5)].into_iter()).expect("a part is restored");
    assert_eq!(sorted(exported(fewer.as_mut(), 8)), of(3, 5).collect::<Vec<_>>());
    let mut none = backend.restore(scope_of(5, 8), &mut [part(2, 5)].into_iter()).expect("a part is restored");
    assert_eq!((exported(none.as_mut(), 8), none.stats().live_entries), (Vec::new(), 0));
}

pub(super) fn key_groups_move_from_owner_to_owner(backend: &dyn StateBackend) {
    // The parts of an owner: those it inherited, restricted to what it owns, and its own.
    let mut owners = vec![(all_groups(), Vec::<StatePart>::new())];
    let mut expected = Table::new(backend);
    let mut round = 0;
    for bounds in [&[0, 8][..], &[0, 2, 5, 8], &[0, 6, 8], &[0, 8]] {
        let mut next = Vec::new();
        for range in bounds.windows(2) {
            let &[first, end] = range else { continue };
            let scope = scope_of(first, end);
            let inherited = owners.iter().flat_map(|owner| &owner.1).map(|part| {
                let first = part.key_groups.first.max(scope.key_groups.first);
                let end = part.key_groups.end.min(scope.key_groups.end).max(first);
                StatePart { key_groups: KeyGroupRange { first, end }, segments: part.segments.clone() }
            });
            let mut parts: Vec<StatePart> = inherited.collect();
            let mut given = parts.iter().cloned().map(Ok);
            let mut table = backend.restore(scope.clone(), &mut given).expect("parts are restored");
            for round in round..round + 3 {
                write_round(table.as_mut(), &scope.key_groups, round);
                let segments = table.snapshot().expect("a mark").segments;
                parts.push(StatePart { key_groups: scope.key_groups.clone(), segments });
                write_round(expected.0.as_mut(), &scope.key_groups, round);
                table.maintain(1 << 20).expect("room is reclaimed");
            }
            let mine = |entry: &Visited| scope.key_groups.contains(entry.0);
            let expected: Vec<_> = everything(&mut expected).into_iter().filter(mine).collect();
            assert!(sorted(exported(table.as_mut(), 8)) == expected, "groups {first} to {end} of {bounds:?}");
            next.push((scope.key_groups, parts));
        }
        owners = next;
        round += 3;
    }
}

pub(super) fn the_error_of_a_part_is_the_error(backend: &dyn StateBackend) {
    let (_, deltas) = history(backend, 1);
    let key_groups = all_groups();
    let good = deltas.into_iter().map(|delta| Ok(StatePart { key_groups: all_groups(), segments: delta.segments }));
    let lost = Error::new(model::Blame::External, model::Retry::Backoff, "the object is not there");
    let mut parts = good.chain([Err(lost)]);
    let error = backend.restore(scope(), &mut parts).err().expect("a part is missing");
    assert_eq!(error.to_string(), "the object is not there");
    let cut = StatePart { key_groups, segments: vec![std::sync::Arc::new(vec![1, 2, 3])] };
    assert!(backend.restore(scope(), &mut [Ok(cut)].into_iter()).is_err(), "bytes that are no segment");
}

pub(super) fn an_export_rises_by_key_group_and_can_be_imported(backend: &dyn StateBackend) {
    let (mut table, _) = history(backend, 4);
    let visited = exported(table.0.as_mut(), 8);
    assert!(visited.is_sorted_by_key(|entry| entry.0), "key groups rise");
    assert_eq!(visited.len() as u64, table.0.stats().live_entries);
    let mut again = Table::new(backend);
    again.set(VALUE, b"key 3", Some(b"written over by the import"));
    let visit = &mut |entry: StateEntry<'_>| again.0.import(entry);
    table.0.export(visit).expect("every entry is taken");
    again.set(VALUE, b"key 3", None);
    table.set(VALUE, b"key 3", None);
    assert_eq!(everything(&mut again), everything(&mut table));
    let delta = again.0.snapshot().expect("a mark");
    assert_eq!(everything(&mut Table(restored(backend, scope(), &[delta]))), everything(&mut table));
    let stop = &mut |_: StateEntry<'_>| Err(Error::new(model::Blame::External, model::Retry::No, "no room"));
    assert_eq!(table.0.export(stop).expect_err("the visit stops").to_string(), "no room");
}

pub(super) fn an_import_fits_the_scope(backend: &dyn StateBackend) {
    let mut table = Table(backend.open(scope_of(1, 7)).expect("a table opens"));
    let entry =
        |state, hash, entry_key| StateEntry { state, hash, key: b"key", entry_key, value: b"value", written_millis: 1 };
    for (why, bad) in [
        ("another subtask's key", entry(VALUE, 0, None)),
        ("an undeclared state", entry(super::UNDECLARED, 1 << 62, None)),
        ("a value with an entry key", entry(VALUE, 1 << 62, Some(&b"x"[..]))),
        ("an entry of a map without one", entry(MAP, 1 << 62, None)),
    ] {
        assert!(table.0.import(bad).is_err(), "{why} is refused");
    }
    assert_eq!(table.0.stats().live_entries, 0);
    table.0.import(entry(OTHER_VALUE, 1 << 62, None)).expect("it fits");
    table.0.import(entry(LIST, 1 << 62, Some(&[0; 8]))).expect("it fits");
    assert_eq!(table.0.stats().live_entries, 2);
}

pub(super) fn a_range_is_a_part_of_the_whole(backend: &dyn StateBackend) {
    let (mut table, _) = history(backend, 3);
    let keys: Vec<String> = (0..70).map(|nth| format!("key {nth}")).collect();
    let slots = slots(&keys);
    let whole = table.load(VALUE, &slots);
    assert!(whole.iter().any(Option::is_some));
    for (first, end) in [(0, 70), (0, 0), (70, 70), (13, 14), (5, 69)] {
        let mut out = OptionalColumn::default();
        table.0.load_range(VALUE, &slots, SlotIndex(first)..SlotIndex(end), &mut out).expect("the slots exist");
        let found: Vec<_> = out.iter().map(|value| value.map(<[u8]>::to_vec)).collect();
        assert_eq!(Some(found.as_slice()), whole.get(first as usize..end as usize), "{first} to {end}");
    }
    let mut out = OptionalColumn::default();
    assert!(table.0.load_range(VALUE, &slots, SlotIndex(3)..SlotIndex(71), &mut out).is_err(), "no slot 70");
    assert!(table.0.load_range(MAP, &slots, SlotIndex(0)..SlotIndex(1), &mut out).is_err(), "a map is not a value");
    assert!(out.is_empty(), "what is refused appends nothing");
}

pub(super) fn a_visit_of_states_finds_all_of_theirs(backend: &dyn StateBackend) {
    let (mut table, _) = history(backend, 7);
    for states in [&[MAP][..], &[VALUE, MAP], &[]] {
        let mut found = Vec::new();
        let visit = &mut |entry: StateEntry<'_>| {
            found.push((entry.state.0, entry.key.to_vec(), entry.entry_key.map(<[u8]>::to_vec), entry.value.to_vec()));
            Ok(())
        };
        table.0.visit_states(states, visit).expect("every entry is visited");
        let of_states = everything(&mut table).into_iter().filter(|visited| states.contains(&StateId(visited.1)));
        let mut expected: Vec<_> =
            of_states.map(|(_, state, key, entry, value, _)| (state, key, entry, value)).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{states:?}");
    }
}
