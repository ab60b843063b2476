use proptest::prelude::*;

use super::*;

type Owned = (u16, Vec<u8>, Option<Vec<u8>>);

fn names() -> impl Strategy<Value = Owned> {
    let bytes = || {
        prop_oneof![
            6 => prop::collection::vec(prop_oneof![Just(0u8), Just(255), any::<u8>()], 0..24),
            1 => prop::collection::vec(any::<u8>(), 250..260),
        ]
    };
    (0..4u16, bytes(), prop::option::of(bytes()))
}

fn name(owned: &Owned) -> EntryName<'_> {
    EntryName { state: StateId(owned.0), hash: 77, key: &owned.1, entry_key: owned.2.as_deref() }
}

fn key(owned: &Owned) -> Vec<u8> {
    let mut key = Vec::new();
    push(&mut key, KeyGroup(3), &name(owned));
    key
}

proptest! {
    #[test]
    fn a_key_says_what_it_was_made_of(owned in names(), value in prop::collection::vec(any::<u8>(), 0..20)) {
        let (key, mut stored) = (key(&owned), Vec::new());
        push_value(&mut stored, &name(&owned), &value, HostTime(-5));
        let found = decode(&key, &stored).expect("it was encoded here");
        prop_assert_eq!((found.name.state, found.name.hash), (StateId(owned.0), 77));
        prop_assert_eq!((found.name.key, found.name.entry_key), (&owned.1[..], owned.2.as_deref()));
        prop_assert_eq!((found.value, found.written), (&value[..], HostTime(-5)));
        prop_assert_eq!(state_and_time(&key, &stored), Some((StateId(owned.0), HostTime(-5))));
    }

    #[test]
    fn sorting_by_head_and_name_is_sorting_by_key(mut all in prop::collection::vec(names(), 0..60)) {
        let mut keys: Vec<_> = all.iter().map(key).collect();
        keys.sort();
        all.sort_by(|one, other| {
            let heads = head(KeyGroup(3), &name(one)).cmp(&head(KeyGroup(3), &name(other)));
            heads.then_with(|| order(&name(one), &name(other)))
        });
        prop_assert_eq!(all.iter().map(key).collect::<Vec<_>>(), keys);
    }

    #[test]
    fn what_lies_under_a_map_is_a_range(all in prop::collection::vec(names(), 1..40)) {
        let sought = name(&all[0]);
        let mut prefix = Vec::new();
        push_prefix(&mut prefix, KeyGroup(3), &sought);
        let end = after_prefix(&prefix);
        for other in &all {
            let key = key(other);
            let is_within = key >= prefix && end.as_ref().is_none_or(|end| key < *end);
            let is_under = other.0 == sought.state.0 && other.1 == sought.key;
            prop_assert_eq!(is_within, is_under, "{:?} and {:?}", other, sought);
        }
    }

    #[test]
    fn bytes_that_are_no_entry_are_refused_or_read(
        key in prop::collection::vec(any::<u8>(), 0..12),
        value in prop::collection::vec(any::<u8>(), 0..24),
    ) {
        if let Some(found) = decode(&key, &value) {
            prop_assert!(found.name.key.len() <= key.len());
        }
    }
}
