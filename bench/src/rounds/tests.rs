use super::{Spread, order, percentile};

#[test]
fn two_variants_meet_in_the_order_a_b_b_a() {
    let runs: Vec<usize> = (0..4).flat_map(|round| order(2, round)).collect();
    assert_eq!(runs, [0, 1, 1, 0, 0, 1, 1, 0]);
}

#[test]
fn the_median_of_an_even_number_lies_between_the_two_in_the_middle() {
    let spread = Spread::of(&[4.0, 1.0, 3.0, 2.0]).unwrap();
    assert_eq!(spread, Spread { median: 2.5, lowest: 1.0, highest: 4.0 });
}

#[test]
fn nothing_has_no_spread() {
    assert_eq!(Spread::of(&[]), None);
}

#[test]
fn ratios_are_taken_round_by_round() {
    let spread = Spread::of_ratios(&[2.0, 30.0, 8.0], &[1.0, 10.0, 8.0]).unwrap();
    assert_eq!(spread, Spread { median: 2.0, lowest: 1.0, highest: 3.0 });
}

#[test]
fn a_percentile_is_one_of_the_values() {
    let hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
    assert_eq!((percentile(&hundred, 50), percentile(&hundred, 99)), (50.0, 99.0));
    assert_eq!((percentile(&[3.0, 7.0], 99), percentile(&[], 99)), (7.0, 0.0));
}
