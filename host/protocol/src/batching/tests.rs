use std::time::Duration;

use model::BatchLimits;
use proptest::prelude::*;

use super::{Close, Gathered, close};

fn gathered() -> impl Strategy<Value = Gathered> {
    (0..10_000usize, 0..1_000_000usize, 0..3_000u64).prop_map(|(rows, bytes, micros)| Gathered {
        rows,
        bytes,
        age: Duration::from_micros(micros),
    })
}

proptest! {
    #[test]
    fn an_empty_batch_is_never_closed(bytes: usize, micros: u64, idle: bool) {
        let gathered = Gathered { rows: 0, bytes, age: Duration::from_micros(micros) };
        prop_assert_eq!(close(&BatchLimits::default(), &gathered, idle), None);
    }

    #[test]
    fn a_batch_that_stays_open_is_below_every_limit(gathered in gathered()) {
        let limits = BatchLimits::default();
        if close(&limits, &gathered, false).is_none() && gathered.rows > 0 {
            prop_assert!(gathered.rows < limits.max_rows);
            prop_assert!(gathered.bytes < limits.max_bytes);
            prop_assert!(gathered.age < limits.max_age);
        }
    }

    #[test]
    fn idle_input_closes_whatever_has_rows(gathered in gathered()) {
        prop_assert_eq!(close(&BatchLimits::default(), &gathered, true).is_some(), gathered.rows > 0);
    }
}

#[test]
fn the_first_limit_reached_is_named() {
    let limits = BatchLimits::default();
    let full = Gathered { rows: limits.max_rows, bytes: limits.max_bytes, age: limits.max_age };
    assert_eq!(close(&limits, &full, true), Some(Close::Rows));
    assert_eq!(close(&limits, &Gathered { rows: 1, ..full }, true), Some(Close::Bytes));
    assert_eq!(close(&limits, &Gathered { rows: 1, bytes: 1, ..full }, true), Some(Close::Age));
}
