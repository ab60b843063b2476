//! Any bytes given as segments of state are restored or refused, without a panic; what is restored can be written and
//! restored again, and says the same: `cargo +nightly fuzz run segment fuzz/corpus/segment fuzz/seeds/segment`.
#![no_main]

use std::sync::Arc;

use contract::{KeyedState, StateBackend, StatePart, StateScope};
use libfuzzer_sys::fuzz_target;
use model::{KeyGroup, KeyGroupRange, OperatorUid, StateDescriptor, StateId, StateKind};
use state::MemoryBackend;

const KEY_GROUPS: u16 = 128;

fn scope() -> StateScope {
    let kinds = [StateKind::Value, StateKind::MapEntries, StateKind::Appended];
    let states = (1..).zip(kinds).map(|(id, kind)| StateDescriptor {
        id: StateId(id),
        name: format!("state-{id}"),
        kind,
        schema: "\"u64\"".to_owned(),
        version: 1,
        ttl: None,
    });
    StateScope {
        operator: OperatorUid::new("fuzzed").expect("a name"),
        key_groups: KeyGroupRange { first: KeyGroup(0), end: KeyGroup(KEY_GROUPS) },
        key_group_count: KEY_GROUPS,
        states: states.collect(),
    }
}

/// State of one entry: which, its hash, key, entry key, value.
type Shown = (u16, u64, Vec<u8>, Option<Vec<u8>>, Vec<u8>);

fn shown(table: &mut dyn KeyedState) -> Vec<Shown> {
    let mut entries = Vec::new();
    table
        .export(&mut |entry| {
            let entry_key = entry.entry_key.map(<[u8]>::to_vec);
            entries.push((entry.state.0, entry.hash, entry.key.to_vec(), entry_key, entry.value.to_vec()));
            Ok(())
        })
        .expect("what was restored can be exported");
    entries.sort();
    entries
}

fn restored(segments: Vec<Arc<Vec<u8>>>) -> Option<Box<dyn KeyedState>> {
    let key_groups = scope().key_groups;
    let mut parts = [Ok(StatePart { key_groups, segments })].into_iter();
    MemoryBackend::default().restore(scope(), &mut parts).ok()
}

fuzz_target!(|data: &[u8]| {
    // The first byte says where the second segment begins.
    let Some((at, data)) = data.split_first() else { return };
    let at = if *at == 0 { data.len() } else { data.len() * usize::from(*at) / 256 };
    let (one, other) = data.split_at(at);
    let segments = [one, other].into_iter().filter(|it| !it.is_empty()).map(|it| Arc::new(it.to_vec()));
    let Some(mut table) = restored(segments.collect()) else { return };
    let before = shown(&mut *table);
    let image = table.image().expect("an image can be made").map(|it| it.expect("a segment"));
    let mut again = restored(image.collect()).expect("what was written can be restored");
    assert_eq!(shown(&mut *again), before);
});
