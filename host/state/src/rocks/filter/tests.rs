use model::StateId;

use super::*;

fn print(nth: u64) -> u64 {
    // Hashes of one key group of 128: the high bits are alike.
    let hash = xxh3_64_with_seed(&nth.to_le_bytes(), 1) >> 7 | 5 << 57;
    print_of(&EntryName { state: StateId(1), hash, key: b"", entry_key: None })
}

#[test]
fn what_was_added_is_held_and_one_in_a_hundred_others() {
    const NAMES: u64 = 3_000_000;
    let filter = Filter::default();
    assert!(filter.is_empty() && !filter.may_hold(print(0)));
    (0..NAMES).for_each(|nth| filter.add(print(nth)));
    assert!((0..NAMES).all(|nth| filter.may_hold(print(nth))));
    let wrong = (NAMES..NAMES + 1_000_000).filter(|&nth| filter.may_hold(print(nth))).count();
    assert!(wrong <= 20_000, "{wrong} of a million are held by mistake, in several layers");
    let added = filter.names();
    assert!((NAMES * 98 / 100..=NAMES).contains(&added), "{added} of {NAMES} are counted");
    let bits = filter.bytes() as u64 * 8 / NAMES;
    assert!(bits <= 4 * BITS + 12, "{bits} bits a name after the last layer was added");
}

#[test]
fn a_first_layer_errs_less_than_once_in_a_hundred() {
    let filter = Filter::default();
    (0..FIRST_NAMES).for_each(|nth| filter.add(print(nth)));
    let wrong = (FIRST_NAMES..FIRST_NAMES + 1_000_000).filter(|&nth| filter.may_hold(print(nth))).count();
    assert!(wrong <= 10_000, "{wrong} of a million are held by mistake");
}

#[test]
fn a_map_an_entry_of_it_and_a_value_are_three_names() {
    let name = |entry_key| EntryName { state: StateId(1), hash: 9, key: b"key", entry_key };
    let (of_value, of_entry, of_empty) =
        (print_of(&name(None)), print_of(&name(Some(&b"entry"[..]))), print_of(&name(Some(&b""[..]))));
    assert_eq!(print_of_key(&name(Some(b"entry"))), of_value, "a state is a value or a map, never both");
    assert!(of_value != of_entry && of_entry != of_empty && of_value != of_empty);
}
