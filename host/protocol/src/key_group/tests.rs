use model::{KeyGroup, MAX_KEY_GROUPS, Parallelism, SubtaskIndex};
use proptest::prelude::*;

use super::{Assignment, Error, group_of, hash};

/// An assignment of any legal size.
fn assignments() -> impl Strategy<Value = Assignment> {
    (1..=MAX_KEY_GROUPS)
        .prop_flat_map(|groups| (Just(groups), 1..=u32::from(groups).min(300)))
        .prop_map(|(groups, parallelism)| Assignment::new(groups, Parallelism(parallelism)).unwrap())
}

proptest! {
    #[test]
    fn ranges_cover_every_group_once_for_any_parallelism(assignment in assignments()) {
        let mut next = 0;
        for subtask in 0..assignment.parallelism().0 {
            let range = assignment.range_of(SubtaskIndex(subtask));
            prop_assert_eq!(range.first.0, next);
            prop_assert!(range.end > range.first, "subtask {} owns nothing", subtask);
            next = range.end.0;
        }
        prop_assert_eq!(next, assignment.groups());
    }

    #[test]
    fn ranges_differ_in_size_by_at_most_one(assignment in assignments()) {
        let sizes = (0..assignment.parallelism().0).map(|subtask| assignment.range_of(SubtaskIndex(subtask)).groups().len());
        let (least, most) = sizes.fold((usize::MAX, 0), |(least, most), size| (least.min(size), most.max(size)));
        prop_assert!(most - least <= 1);
    }

    #[test]
    fn the_owner_of_a_group_has_it_in_its_range(assignment in assignments(), group in 0..MAX_KEY_GROUPS) {
        let group = KeyGroup(group % assignment.groups());
        let owner = assignment.subtask_of(group);
        prop_assert!(assignment.range_of(owner).contains(group));
        prop_assert_eq!(assignment.owners()[usize::from(group.0)], owner);
    }

    #[test]
    fn a_key_group_is_one_of_those_there_are(hash: u64, groups in 1..=MAX_KEY_GROUPS) {
        prop_assert!(group_of(hash, groups).0 < groups);
    }

    #[test]
    fn key_groups_rise_with_the_hash(one: u64, other: u64, groups in 1..=MAX_KEY_GROUPS) {
        prop_assert!(group_of(one.min(other), groups) <= group_of(one.max(other), groups));
    }
}

#[test]
fn hashes_are_those_written_to_disk() {
    let hashes = ["", "a", "0193-4f2c-77aa", "a key that is longer than the short-key paths of the hash function"]
        .map(|key| hash(key.as_bytes()));
    assert_eq!(hashes, [0xf26a_5ba0_2f9b_ff70, 0x7508_0e50_85b6_5a25, 0x11e9_8294_96a3_11f5, 0x983e_1915_ba36_8562]);
}

#[test]
fn keys_spread_evenly_over_the_groups() {
    let mut counts = [0u32; 128];
    for key in 0u32..128 * 200 {
        counts[usize::from(group_of(hash(&key.to_be_bytes()), 128).0)] += 1;
    }
    let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
    assert!(*least > 140 && *most < 260, "between {least} and {most} of 200 expected");
}

#[test]
fn more_subtasks_than_key_groups_are_refused() {
    let refused = Assignment::new(4, Parallelism(5));
    assert_eq!(refused, Err(Error::Parallelism { parallelism: Parallelism(5), groups: 4 }));
    assert_eq!(Assignment::new(0, Parallelism(1)), Err(Error::Groups { groups: 0 }));
}
