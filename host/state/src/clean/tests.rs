use contract::KeyedState;
use proptest::prelude::*;

use super::{Facts, SHORT_SEGMENTS, choose};
use crate::soundness;
use crate::tests::{batch, empty, load_all, write_all};

const SEGMENT: usize = 1_000;

/// Facts of segments of 1000 bytes, of which so many are needed.
fn facts(needed: &[usize]) -> impl Iterator<Item = Facts> {
    let facts = |(segment, &needed): (usize, &usize)| Facts { segment, used: SEGMENT, needed, oversize: false };
    needed.iter().enumerate().map(facts)
}

#[test]
fn a_segment_of_which_nothing_is_needed_goes_first() {
    assert_eq!(choose(facts(&[10, 1_000, 0, 20]), SEGMENT), Some(2));
}

#[test]
fn the_deadest_segment_goes_when_too_much_is_dead() {
    assert_eq!(choose(facts(&[300, 500, 200, 900]), SEGMENT), Some(2));
}

#[test]
fn little_dead_is_left_alone() {
    assert_eq!(choose(facts(&[900, 700, 800, 900]), SEGMENT), None);
    assert_eq!(choose(facts(&[500]), SEGMENT), None, "less than a segment is dead");
}

#[test]
fn an_oversize_segment_is_not_moved() {
    let oversize = Facts { segment: 7, used: 90_000, needed: 10, oversize: true };
    assert_eq!(choose(std::iter::once(oversize), SEGMENT), None);
}

#[test]
fn many_short_segments_are_put_together() {
    let short = |segment| Facts { segment, used: 10 + segment % 7, needed: 10 + segment % 7, oversize: false };
    assert_eq!(choose((0..SHORT_SEGMENTS).map(short), SEGMENT), None);
    assert_eq!(choose((0..=SHORT_SEGMENTS).map(short), SEGMENT), Some(0));
}

#[test]
fn segments_of_one_long_entry_are_left_alone() {
    let long = |segment| Facts { segment, used: SEGMENT / 8 + 1, needed: SEGMENT / 8 + 1, oversize: false };
    assert_eq!(choose((0..1_000).map(long), SEGMENT), None);
}

#[test]
fn cleaning_ends_whatever_the_length_of_the_entries() {
    const SEGMENT_BYTES: usize = 16 << 10;
    for marks in [false, true] {
        for eighths in [1, 2, 3, 5, 8, 12] {
            for more in [-80_i64, -40, -24, -8, 0, 8] {
                let length = (SEGMENT_BYTES as i64 * eighths / 8 + more) as usize;
                let mut table = empty(SEGMENT_BYTES);
                for key in 0..3 * SHORT_SEGMENTS as u32 {
                    write_all(&mut table, &batch(key..key + 1), Some(&vec![1; length]), 1);
                    if marks {
                        table.mark();
                    }
                }
                let ends = (0..1_000).any(|_| table.maintain(1 << 20).unwrap() == 0);
                assert!(ends, "values of {length} bytes, marks {marks}");
                soundness::check(&table);
            }
        }
    }
}

proptest! {
    #[test]
    fn what_is_chosen_frees_room(needed in prop::collection::vec(0..=SEGMENT, 0..40)) {
        if let Some(chosen) = choose(facts(&needed), SEGMENT) {
            prop_assert!(needed[chosen] < SEGMENT);
        } else {
            let total: usize = needed.iter().sum();
            prop_assert!(needed.len() * SEGMENT - total <= total / 2 + SEGMENT);
        }
    }
}

/// What the bound on memory is, with room for the segments being filled.
fn within_bound(stats: contract::StateStats, segment_bytes: u64) -> bool {
    // Live entries as they lie: keys, values and 24 to 31 bytes of head and padding.
    let live = stats.live_bytes + 31 * stats.live_entries;
    stats.memory_bytes <= 2 * live + 4 * segment_bytes
}

#[test]
fn memory_stays_bounded_while_values_grow_and_keys_come_and_go() {
    const SEGMENT_BYTES: usize = 16 << 10;
    for marks in [false, true] {
        let mut table = empty(SEGMENT_BYTES);
        for round in 0..200u32 {
            let first = round * 37 % 3_000;
            let value = vec![round as u8; (round * 13 % 90) as usize];
            write_all(&mut table, &batch(first..first + 600), Some(&value), 1);
            write_all(&mut table, &batch(first + 100..first + 400), None, 1);
            if marks && round % 5 == 0 {
                table.mark();
            }
            // As an owner does: as much as was written, and a bit.
            table.maintain(200_000).unwrap();
            let tombstones = table.log.kept as u64;
            let mut stats = table.stats();
            stats.memory_bytes -= tombstones;
            assert!(within_bound(stats, SEGMENT_BYTES as u64), "round {round}, marks {marks}: {stats:?}");
        }
        soundness::check(&table);
    }
}

#[test]
fn a_table_that_empties_gives_its_memory_back() {
    for marks in [false, true] {
        let mut table = empty(16 << 10);
        let all = batch(0..20_000);
        write_all(&mut table, &all, Some(b"value"), 1);
        if marks {
            table.mark();
        }
        let full = table.stats().memory_bytes;
        write_all(&mut table, &all, None, 2);
        if marks {
            table.mark();
        }
        while table.maintain(10_000).unwrap() > 0 {}
        soundness::check(&table);
        let left = table.stats().memory_bytes;
        assert!(left < full / 20, "marks {marks}: {left} of {full} bytes are left");
    }
}

#[test]
fn a_call_does_about_as_much_as_its_budget() {
    let mut table = empty(16 << 10);
    write_all(&mut table, &batch(0..5_000), Some(b"value"), 1);
    table.mark();
    write_all(&mut table, &batch(0..4_000), Some(b"newer"), 1);
    let (mut calls, mut done) = (0, 0);
    loop {
        let touched = table.maintain(640).unwrap();
        assert!(touched < 640 + 100, "{touched} bytes in one call");
        done += touched;
        calls += 1;
        if touched == 0 {
            break;
        }
    }
    assert!(calls > 100 && done < table.stats().live_bytes as usize * 4, "{done} bytes in {calls} calls");
    assert_eq!(load_all(&mut table, &batch(3_999..4_001)), [Some(b"newer".to_vec()), Some(b"value".to_vec())]);
}
