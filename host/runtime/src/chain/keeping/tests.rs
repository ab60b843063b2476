use std::sync::Arc;

use contract::doubles::MapBackend;
use contract::{SlotKeys, StateBackend, StateScope, StateWrites};
use model::{HostTime, KeyGroup, OperatorUid, OptionalColumn, SlotIndex, StateDescriptor, StateId, StateKind};

use protocol::assignment_of_parts::MAX_DELTAS;

use super::*;

fn range() -> KeyGroupRange {
    KeyGroupRange { first: KeyGroup(0), end: KeyGroup(1) }
}

fn table() -> Box<dyn KeyedState> {
    let state = StateDescriptor {
        id: StateId(0),
        name: "s".to_owned(),
        kind: StateKind::Value,
        schema: "{}".to_owned(),
        version: 1,
        ttl: None,
    };
    let operator = OperatorUid::new("op").unwrap();
    let scope = StateScope { operator, key_groups: range(), key_group_count: 1, states: vec![state] };
    MapBackend.open(scope).unwrap()
}

fn write(table: &mut dyn KeyedState, key: &str, value: &[u8]) {
    let slots = SlotKeys { keys: [key].iter().collect(), hashes: vec![1], ..SlotKeys::default() };
    let mut values = OptionalColumn::default();
    values.push(Some(value));
    let writes = StateWrites { state: StateId(0), slots: vec![SlotIndex(0)], values, ..StateWrites::default() };
    table.apply(&Arc::new(slots), &[writes], HostTime(0)).unwrap();
}

fn barrier(epoch: u64, watermark: i64) -> Barrier {
    Barrier { epoch: Epoch(epoch), watermark: EventTime(watermark) }
}

#[test]
fn an_image_comes_where_deltas_outweigh_what_lives_and_seldom_where_they_do_not() {
    let (mut table, mut keeping) = (table(), Keeping::new(range(), Vec::new()));
    write(table.as_mut(), "large", &[7; 100_000]);
    // All that lives is new: the first delta is as large as an image.
    assert!(keeping.keep(table.as_mut(), barrier(1, 0)).unwrap().image.is_some());
    let mut images = 0;
    let until_an_image = MAX_DELTAS as u64 + 1;
    for epoch in 2..2 + 2 * until_an_image {
        write(table.as_mut(), "small", b"x");
        images += u32::from(keeping.keep(table.as_mut(), barrier(epoch, 0)).unwrap().image.is_some());
    }
    assert_eq!(images, 2);
}

#[test]
fn an_epoch_without_changes_has_no_delta_and_no_image() {
    let (mut table, mut keeping) = (table(), Keeping::new(range(), Vec::new()));
    let kept = keeping.keep(table.as_mut(), barrier(1, 0)).unwrap();
    assert!(kept.delta.segments.is_empty() && kept.image.is_none());
}

#[test]
fn a_table_may_purge_below_the_newest_complete_barrier_it_passed() {
    let (mut table, mut keeping) = (table(), Keeping::new(range(), Vec::new()));
    for (epoch, watermark) in [(1, 10), (2, 20), (3, 30)] {
        keeping.keep(table.as_mut(), barrier(epoch, watermark)).unwrap();
    }
    assert_eq!(keeping.completed(Epoch(0)), None);
    assert_eq!(keeping.completed(Epoch(2)), Some(EventTime(20)));
    assert_eq!(keeping.completed(Epoch(2)), None);
    keeping.keep(table.as_mut(), Barrier { epoch: Epoch(4), watermark: EventTime::END }).unwrap();
    // Nobody knows anything of event time: nothing may be purged by it.
    assert_eq!(keeping.completed(Epoch(4)), None);
}
