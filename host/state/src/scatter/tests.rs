use std::sync::Arc;

use contract::{KeyedState, StateBackend, StateEntry, StatePart, StateScope};
use model::{KeyGroupRange, StateDescriptor, StateId, StateKind};

use super::*;
use crate::MemoryBackend;

const GROUPS: u16 = 8;

fn scope(key_groups: Range<u16>) -> StateScope {
    let state = StateDescriptor {
        id: StateId(0),
        name: "seen".to_owned(),
        kind: StateKind::Value,
        schema: "{}".to_owned(),
        version: 1,
        ttl: None,
    };
    StateScope {
        operator: OperatorUid::new("keeps").unwrap(),
        key_groups: KeyGroupRange { first: KeyGroup(key_groups.start), end: KeyGroup(key_groups.end) },
        key_group_count: GROUPS,
        states: vec![state],
    }
}

fn entries(table: &mut dyn KeyedState) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut entries = Vec::new();
    let visit = &mut |entry: StateEntry<'_>| {
        entries.push((entry.key.to_vec(), entry.value.to_vec()));
        Ok(())
    };
    table.export(visit).unwrap();
    entries.sort();
    entries
}

#[test]
fn what_is_taken_apart_by_key_group_is_together_what_it_was() {
    let mut table = MemoryBackend::default().open(scope(0..GROUPS)).unwrap();
    for at in 0..4000_u64 {
        let (key, value) = (at.to_be_bytes(), [at as u8; 40]);
        let hash = at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let entry =
            StateEntry { state: StateId(0), hash, key: &key, entry_key: None, value: &value, written_millis: 1 };
        table.import(entry).unwrap();
    }
    let segments = table.snapshot().unwrap().segments;
    let operator = OperatorUid::new("keeps").unwrap();
    let mut found = Vec::new();
    for range in [0..3, 3..8] {
        let mut piece = HEAD.to_vec();
        for (number, bytes) in segments.iter().enumerate() {
            entries_of::<Error>(&operator, number, bytes, GROUPS, |group, at| {
                piece.extend_from_slice(bytes.get(at).filter(|_| range.contains(&group.0)).unwrap_or_default());
                Ok(())
            })
            .unwrap();
        }
        let part = StatePart { key_groups: scope(0..GROUPS).key_groups, segments: vec![Arc::new(piece)] };
        let mut part = std::iter::once(Ok(part));
        found.extend(entries(MemoryBackend::default().restore(scope(range), &mut part).unwrap().as_mut()));
    }
    found.sort();
    assert_eq!(found, entries(table.as_mut()));
}

#[test]
fn damage_is_named_and_not_visited() {
    let operator = OperatorUid::new("keeps").unwrap();
    let read = |bytes: &[u8]| entries_of::<Error>(&operator, 3, bytes, GROUPS, |_, _| panic!("nothing is there"));
    assert!(matches!(read(b"nonsense"), Err(Error::Damaged { segment: 3, .. })));
    let longer = [&HEAD[..], &[1; 8]].concat();
    assert!(matches!(read(&longer), Err(Error::Damaged { at: 8, .. })));
}
