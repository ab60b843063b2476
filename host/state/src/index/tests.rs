use std::collections::BTreeMap;

use proptest::prelude::*;

use super::Index;

/// What a random test does to an index; tags are small, so that many are the same.
#[derive(Clone, Debug)]
enum Step {
    Insert(u32),
    Remove(usize),
    Set(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let tags = prop_oneof![0..4u32, 0..1u32 << 28, (1u32 << 28) - 3..1 << 28];
    let step = prop_oneof![
        3 => tags.prop_map(Step::Insert),
        2 => any::<usize>().prop_map(Step::Remove),
        1 => any::<usize>().prop_map(Step::Set),
    ];
    prop::collection::vec(step, 0..400)
}

proptest! {
    #[test]
    fn an_index_finds_what_was_inserted_and_nothing_else(steps in steps()) {
        let mut index = Index::default();
        let mut model: BTreeMap<u64, u32> = BTreeMap::new();
        for (step, reference) in steps.into_iter().zip(1u64..) {
            match step {
                Step::Insert(tag) => {
                    index.insert(tag, reference);
                    model.insert(reference, tag);
                }
                Step::Remove(nth) | Step::Set(nth) if !model.is_empty() => {
                    let (&old, &tag) = model.iter().nth(nth % model.len()).unwrap();
                    let position = index.find(tag, |found| found == old).unwrap();
                    model.remove(&old);
                    if matches!(step, Step::Set(_)) {
                        index.set(position, reference);
                        model.insert(reference, tag);
                    } else {
                        index.remove(position);
                    }
                }
                Step::Remove(_) | Step::Set(_) => {}
            }
            prop_assert!(index.is_sound());
        }
        for (&reference, &tag) in &model {
            prop_assert!(index.find(tag, |found| found == reference).is_some());
            prop_assert!(index.find(tag, |found| found == reference + 1_000).is_none());
        }
    }
}

#[test]
fn a_thousand_slots_with_one_tag_are_all_found() {
    for tag in [0, 1 << 20, (1 << 28) - 1] {
        let mut index = Index::default();
        (1..=1000).for_each(|reference| index.insert(tag, reference));
        assert!(index.is_sound());
        assert!((1..=1000).all(|reference| index.find(tag, |found| found == reference).is_some()));
    }
}

#[test]
fn an_index_that_empties_gives_its_memory_back() {
    let mut index = Index::default();
    let tag = |reference: u64| (reference as u32).wrapping_mul(0x9E37_79B9) >> 4;
    (1..=100_000).for_each(|reference| index.insert(tag(reference), reference));
    let full = index.bytes();
    assert!((10.0..13.0).contains(&(full as f64 / 100_000.0)), "{full} bytes");
    for reference in 1..=99_000 {
        let position = index.find(tag(reference), |found| found == reference).unwrap();
        index.remove(position);
    }
    assert!(index.bytes() < full / 20, "{} of {full} bytes are left", index.bytes());
}
