use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

fn barrier(epoch: u64, watermark: i64) -> Barrier {
    Barrier { epoch: Epoch(epoch), watermark: EventTime(watermark) }
}

#[test]
fn a_barrier_is_aligned_when_the_last_live_input_delivers_it() {
    let mut alignment = Alignment::new(3);
    assert_eq!(alignment.barrier(1, barrier(1, 50)).unwrap(), Step::default());
    assert!(alignment.is_held(1) && !alignment.is_held(0));
    assert_eq!(alignment.barrier(0, barrier(1, 30)).unwrap(), Step::default());
    let step = alignment.barrier(2, barrier(1, 40)).unwrap();
    assert_eq!(step, Step { released: vec![0, 1, 2], aligned: Some(barrier(1, 30)) });
    assert_eq!(alignment.aligning(), None);
}

#[test]
fn end_of_input_counts_as_every_later_barrier() {
    let mut alignment = Alignment::new(2);
    assert_eq!(alignment.end(0).unwrap(), Step::default());
    for epoch in 1..4 {
        assert_eq!(alignment.barrier(1, barrier(epoch, 7)).unwrap().aligned, Some(barrier(epoch, 7)));
    }
    assert_eq!(alignment.end(1).unwrap().aligned, None);
    assert!(alignment.is_over());
}

#[test]
fn the_end_of_the_last_missing_input_aligns() {
    let mut alignment = Alignment::new(2);
    alignment.barrier(0, barrier(4, 9)).unwrap();
    assert_eq!(alignment.end(1).unwrap(), Step { released: vec![0], aligned: Some(barrier(4, 9)) });
}

#[test]
fn abort_releases_held_inputs_in_input_order() {
    let mut alignment = Alignment::new(3);
    alignment.barrier(2, barrier(1, 0)).unwrap();
    alignment.barrier(0, barrier(1, 0)).unwrap();
    assert_eq!(alignment.abort(Epoch(1)), [0, 2]);
    assert_eq!(alignment.aligning(), None);
    // The late barrier of the third input holds nothing.
    assert_eq!(alignment.barrier(1, barrier(1, 0)).unwrap(), Step::default());
    assert!(!alignment.is_held(1));
}

#[test]
fn an_abort_of_an_earlier_epoch_releases_nothing() {
    let mut alignment = Alignment::new(2);
    alignment.barrier(0, barrier(5, 0)).unwrap();
    assert_eq!(alignment.abort(Epoch(4)), Vec::<usize>::new());
    assert_eq!(alignment.aligning(), Some(Epoch(5)));
}

#[test]
fn a_higher_barrier_supersedes_the_one_that_aligns() {
    let mut alignment = Alignment::new(2);
    alignment.barrier(0, barrier(1, 0)).unwrap();
    let step = alignment.barrier(1, barrier(2, 5)).unwrap();
    assert_eq!(step, Step { released: vec![0], aligned: None });
    assert_eq!(alignment.barrier(0, barrier(2, 3)).unwrap().aligned, Some(barrier(2, 3)));
}

#[test]
fn barriers_of_one_input_rise() {
    let mut alignment = Alignment::new(1);
    alignment.barrier(0, barrier(3, 0)).unwrap();
    let error = alignment.barrier(0, barrier(3, 0)).unwrap_err();
    assert_eq!(error.to_string(), "input 0 delivered barrier 3 after barrier 3: expected a higher one");
}

#[test]
fn nothing_comes_from_an_input_that_is_held_or_over() {
    let mut alignment = Alignment::new(2);
    alignment.barrier(0, barrier(1, 0)).unwrap();
    assert_eq!(alignment.barrier(0, barrier(2, 0)), Err(Error::NotPolled { input: 0, why: "is held" }));
    alignment.end(1).unwrap();
    assert_eq!(alignment.end(1), Err(Error::NotPolled { input: 1, why: "has ended" }));
    assert_eq!(alignment.end(9), Err(Error::NotPolled { input: 9, why: "does not exist" }));
}

/// What stands in a channel of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    Record(u64),
    Barrier(Barrier),
    End,
}

/// One channel: records between the barriers that its sender passed on, then perhaps its end.
fn channel() -> impl Strategy<Value = VecDeque<Item>> {
    let stretch = (0..4u64, any::<bool>(), -5..5i64);
    (prop::collection::vec(stretch, 6), any::<bool>()).prop_map(|(stretches, ends)| {
        let mut items = VecDeque::new();
        for (epoch, (records, passes_on, watermark)) in (1..).zip(stretches) {
            items.extend((0..records).map(|number| Item::Record(epoch * 100 + number)));
            if passes_on {
                items.push_back(Item::Barrier(barrier(epoch, watermark)));
            }
        }
        if ends {
            items.push_back(Item::End);
        }
        items
    })
}

proptest! {
    /// Whatever order the channels are polled in and whatever is aborted meanwhile: no record is lost, and a
    /// snapshot of an epoch sees of every live channel all that stands before its barrier and nothing after.
    #[test]
    fn an_aligned_epoch_is_a_cut_and_no_record_is_lost(
        channels in prop::collection::vec(channel(), 1..4),
        choices in prop::collection::vec((0..4usize, any::<bool>()), 0..400),
    ) {
        let whole = channels.clone();
        let mut left = channels;
        let mut alignment = Alignment::new(left.len());
        let mut seen: Vec<Vec<u64>> = vec![Vec::new(); left.len()];
        let mut aligned = Vec::new();
        for (choice, aborts) in choices {
            let input = choice % left.len();
            if aborts && let Some(epoch) = alignment.aligning() {
                let held: Vec<usize> = (0..left.len()).filter(|&at| alignment.is_held(at)).collect();
                prop_assert_eq!(alignment.abort(epoch), held);
            }
            if alignment.is_held(input) || alignment.has_ended(input) {
                continue;
            }
            let step = match left[input].pop_front() {
                None => continue,
                Some(Item::Record(record)) => {
                    seen[input].push(record);
                    continue;
                }
                Some(Item::Barrier(barrier)) => alignment.barrier(input, barrier).unwrap(),
                Some(Item::End) => alignment.end(input).unwrap(),
            };
            prop_assert!(step.released.is_sorted());
            if let Some(cut) = step.aligned {
                aligned.push(cut.epoch);
                let mut least = None;
                for (at, items) in whole.iter().enumerate() {
                    let place = items.iter().position(|item| matches!(item, Item::Barrier(b) if b.epoch == cut.epoch));
                    let before = place.unwrap_or(items.len());
                    let expected: Vec<u64> = items.iter().take(before).filter_map(|item| match item {
                        Item::Record(record) => Some(*record),
                        _ => None,
                    }).collect();
                    prop_assert_eq!(&seen[at], &expected, "input {}", at);
                    if let Some(Item::Barrier(barrier)) = place.map(|place| items[place]) {
                        least = Some(least.map_or(barrier.watermark, |known: EventTime| known.min(barrier.watermark)));
                    }
                }
                prop_assert_eq!(Some(cut.watermark), least);
            }
        }
        prop_assert!(aligned.is_sorted_by(|one, next| one < next));
        for (at, items) in whole.iter().enumerate() {
            let records = items.iter().filter_map(|item| match item { Item::Record(record) => Some(*record), _ => None });
            let expected: Vec<u64> = records.take(seen[at].len()).collect();
            prop_assert_eq!(&seen[at], &expected);
        }
    }
}
