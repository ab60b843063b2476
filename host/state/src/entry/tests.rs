use contract::KeyedState;
use contract::compliance::state as suite;
use model::{HostTime, OptionalColumn, SlotIndex, StateId};
use proptest::prelude::*;

use super::{EntryName, Head, Item, SEGMENT_HEADER, append, decode, is_called, overwrite, value};
use crate::{Options, StateLog};

/// A segment of version 1. Never edited: later programs must read it, and write the same today.
const GOLDEN: &[u8] = include_bytes!("../../tests/golden/segment-v1.bin");

/// A table in which every form of item occurs.
fn sample() -> StateLog {
    let mut table = StateLog::new(suite::scope(), Options::default());
    let slots = suite::slots(&["a key", "", "shrunk", "deleted"]);
    let long = vec![b'e'; 300];
    let first = suite::values(suite::VALUE, &[(3, Some(b"soon deleted"))]);
    table.apply(&slots, &[first], HostTime(1)).unwrap();
    table.mark();
    let values = [(0, Some(&b"a value"[..])), (1, Some(b"")), (2, Some(b"a value with much room")), (3, None)];
    let entries = [(0, &b""[..], Some(&b"of the empty entry key"[..])), (0, &long, Some(b"long form"))];
    let list = [(1, &7u64.to_be_bytes()[..], Some(&b"item 7"[..]))];
    let writes = [
        suite::values(suite::VALUE, &values),
        suite::entries(suite::MAP, &entries),
        suite::entries(suite::LIST, &list),
    ];
    table.apply(&slots, &writes, HostTime(1_700_000_000_000)).unwrap();
    table.apply(&slots, &[suite::values(suite::VALUE, &[(2, Some(b"less"))])], HostTime(-5)).unwrap();
    table
}

#[test]
fn a_segment_is_written_as_it_was_in_version_1() {
    let segments = sample().mark();
    assert_eq!(segments.len(), 1);
    assert!(segments[0].as_slice() == GOLDEN, "the bytes of a segment have changed: {:02x?}", segments[0]);
}

#[test]
fn a_segment_of_version_1_is_read() {
    let mut table = StateLog::restore(suite::scope(), Options::default(), [GOLDEN.to_vec().into()]).unwrap();
    let slots = suite::slots(&["a key", "", "shrunk", "deleted"]);
    let mut values = OptionalColumn::default();
    table.load(suite::VALUE, &slots, &mut values).unwrap();
    let found: Vec<_> = values.iter().collect();
    assert_eq!(found, [Some(&b"a value"[..]), Some(b""), Some(b"less"), None]);
    let (keys, values) = table.scan(suite::MAP, &slots, SlotIndex(0), None, 9).unwrap();
    assert_eq!(keys.iter().map(<[u8]>::len).collect::<Vec<_>>(), [0, 300]);
    assert_eq!(values.iter().collect::<Vec<_>>(), [&b"of the empty entry key"[..], b"long form"]);
    let (keys, values) = table.scan(suite::LIST, &slots, SlotIndex(1), None, 9).unwrap();
    assert_eq!((keys.get(0), values.get(0)), (&7u64.to_be_bytes()[..], &b"item 7"[..]));
}

#[test]
fn the_sample_holds_every_form_of_item() {
    let mut at = SEGMENT_HEADER.len();
    let (mut gaps, mut flags) = (0, 0);
    while at < GOLDEN.len() {
        let item = decode(GOLDEN, at).unwrap();
        match item {
            Item::Entry(head) => flags |= head.flags,
            Item::Gap(_) => gaps += 1,
        }
        at += item.size();
    }
    assert_eq!(gaps, 1);
    assert_eq!(flags, super::flag::KNOWN);
}

/// Any name: short and long forms, with and without an entry key.
fn names() -> impl Strategy<Value = (u16, u64, Vec<u8>, Option<Vec<u8>>)> {
    let bytes = |long: usize| prop_oneof![4 => prop::collection::vec(any::<u8>(), 0..40), 1 => Just(vec![7; long])];
    (any::<u16>(), any::<u64>(), bytes(0x1_0000), prop::option::of(bytes(256)))
}

fn values() -> impl Strategy<Value = Option<Vec<u8>>> {
    prop::option::of(prop_oneof![5 => prop::collection::vec(any::<u8>(), 0..60), 1 => Just(vec![9; 0x1_0000])])
}

proptest! {
    #[test]
    fn an_entry_is_read_as_it_was_written(
        (state, hash, key, entry_key) in names(), written in values(), now: i64, then in values(),
    ) {
        let name = EntryName { state: StateId(state), hash, key: &key, entry_key: entry_key.as_deref() };
        let mut bytes = SEGMENT_HEADER.to_vec();
        append(&mut bytes, &name, written.as_deref(), 0, HostTime(now));
        let size = bytes.len() - SEGMENT_HEADER.len();
        prop_assert_eq!(size, name.size(written.as_deref().map_or(0, <[u8]>::len)));
        append(&mut bytes, &name, Some(b"the next one"), 0, HostTime(0));
        let at = SEGMENT_HEADER.len();

        let check = |bytes: &[u8], expected: &Option<Vec<u8>>, now: i64| {
            let head = Head::at(bytes, at);
            assert_eq!(decode(bytes, at).unwrap(), Item::Entry(head));
            assert!(is_called(bytes, at, &name));
            assert_eq!((head.state, head.hash, head.written), (StateId(state), hash, HostTime(now)));
            assert_eq!(value(bytes, at), expected.as_deref());
            assert_eq!(value(bytes, at + size), Some(&b"the next one"[..]));
        };
        check(&bytes, &written, now);
        if overwrite(&mut bytes, at, size, then.as_deref(), HostTime(1)) {
            check(&bytes, &then, 1);
            let rest = size - Head::at(&bytes, at).size();
            if rest > 0 {
                prop_assert_eq!(decode(&bytes, at + size - rest).unwrap(), Item::Gap(rest));
            }
        } else {
            check(&bytes, &written, now);
        }
    }

    #[test]
    fn an_entry_answers_to_its_own_name_only(
        (state, hash, key, entry_key) in names(), (other_state, _, other_key, other_entry_key) in names(), mix: [bool; 3],
    ) {
        let mut bytes = Vec::new();
        let name = EntryName { state: StateId(state), hash, key: &key, entry_key: entry_key.as_deref() };
        append(&mut bytes, &name, Some(b"value"), 0, HostTime(0));
        let other = EntryName {
            state: if mix[0] { StateId(other_state) } else { name.state },
            key: if mix[1] { &other_key } else { name.key },
            entry_key: if mix[2] { other_entry_key.as_deref() } else { name.entry_key },
            hash,
        };
        let same = other.state == name.state && other.key == name.key && other.entry_key == name.entry_key;
        prop_assert_eq!(is_called(&bytes, 0, &other), same);
    }

    #[test]
    fn random_bytes_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80), flags in 0..64u8) {
        let mut bytes = bytes;
        if let Some(first) = bytes.first_mut() {
            *first = flags;
        }
        if let Ok(item) = decode(&bytes, 0) {
            prop_assert!(item.size() > 0 && item.size() <= bytes.len());
        }
    }
}
