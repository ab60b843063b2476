use model::Routing;
use proptest::prelude::*;

use super::{SlotTable, restore};

/// Keys with hashes of which many collide.
fn routing(keys: &[String], distinct_hashes: u64) -> Routing {
    let hashes =
        keys.iter().map(|key| (key.len() as u64 * 7 + u64::from(key.bytes().next().unwrap_or(0))) % distinct_hashes);
    Routing { keys: keys.iter().collect(), hashes: hashes.collect() }
}

proptest! {
    #[test]
    fn rows_share_a_slot_exactly_when_they_share_a_key(
        batches in prop::collection::vec(prop::collection::vec("[a-c]{0,3}", 0..60), 1..4),
        distinct_hashes in 1u64..50,
    ) {
        let mut table = SlotTable::default();
        for keys in batches {
            let mut slots = Vec::new();
            let before = routing(&keys, distinct_hashes);
            let mut after = before.clone();
            let slot_keys = table.assign(&mut after, &mut slots);
            prop_assert_eq!(slots.len(), keys.len());
            let mut next = 0;
            for (row, &slot) in slots.iter().enumerate() {
                prop_assert_eq!(slot_keys.keys.get(slot as usize), keys[row].as_bytes());
                prop_assert_eq!(slot_keys.hashes[slot as usize], before.hashes[row]);
                prop_assert!(slot <= next, "slots are numbered by first appearance");
                next = next.max(slot + 1);
            }
            prop_assert_eq!(slot_keys.keys.len(), next as usize);
            restore(&mut after, &slot_keys, keys.len());
            prop_assert_eq!(after, before);
        }
    }
}
