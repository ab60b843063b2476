use std::collections::BTreeSet;

use super::{Churn, key_of, sum_entry, value_of};
use crate::tally::Tally;

#[test]
fn two_numbers_have_two_keys() {
    let keys: BTreeSet<_> = (0..10_000).map(key_of).collect();
    assert_eq!(keys.len(), 10_000);
}

#[test]
fn another_epoch_writes_another_value() {
    assert_ne!(value_of(7, 1), value_of(7, 2));
    assert_ne!(value_of(7, 1), value_of(8, 1));
}

#[test]
fn an_epoch_changes_as_many_entries_as_it_should_and_none_twice() {
    for (state_bytes, churn_bytes) in [(100_000, 10_000), (99_700, 99_700), (1_000, 100)] {
        let churn = Churn::new(state_bytes, churn_bytes);
        for epoch in 1..5 {
            let changed: BTreeSet<u64> = churn.of_epoch(epoch).collect();
            assert_eq!(changed.len() as u64, churn.per_epoch);
            assert!(changed.iter().all(|&number| number < churn.entries));
        }
    }
}

#[test]
fn every_entry_gets_its_turn() {
    let churn = Churn::new(100_000, 25_000);
    let changed: BTreeSet<u64> = (1..=4).flat_map(|epoch| churn.of_epoch(epoch)).collect();
    assert_eq!(changed.len() as u64, churn.entries);
}

#[test]
fn what_is_there_is_what_was_written_last() {
    let churn = Churn::new(300, 100);
    let changed = churn.of_epoch(1).next().unwrap();
    let mut expected = Tally::default();
    for number in 0..3 {
        sum_entry(&mut expected, &key_of(number), &value_of(number, u32::from(number == changed)));
    }
    assert_eq!(churn.tally_after(1), expected);
    assert_ne!(churn.tally_after(0), expected);
}
