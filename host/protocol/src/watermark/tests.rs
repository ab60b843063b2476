use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn it_is_the_least_of_the_last_words_and_never_falls(
        inputs in 1_usize..5,
        said in proptest::collection::vec((0_usize..5, -5_i64..20), 0..60),
    ) {
        let mut merge = WatermarkMerge::new(inputs);
        let mut greatest = vec![i64::MIN; inputs];
        let mut last = i64::MIN;
        for (input, watermark) in said {
            let raised = merge.note(input, EventTime(watermark));
            if let Some(known) = greatest.get_mut(input) {
                *known = watermark.max(*known);
            }
            let least = greatest.iter().copied().min().unwrap_or(i64::MIN);
            prop_assert_eq!(raised, (least > last).then_some(EventTime(least)));
            last = least;
        }
    }
}

#[test]
fn an_input_that_was_read_to_its_end_holds_nothing_back() {
    let mut merge = WatermarkMerge::new(2);
    assert_eq!(merge.note(0, EventTime(7)), None);
    assert_eq!(merge.note(1, EventTime::END), Some(EventTime(7)));
    assert_eq!(merge.note(0, EventTime(6)), None);
    assert_eq!(merge.note(0, EventTime::END), Some(EventTime::END));
}
