use proptest::prelude::*;

use super::*;

const MILLI: Duration = Duration::from_millis(1);

fn steady(bytes: usize, took: Duration, times: usize) -> Drain {
    let mut drain = Drain::default();
    (0..times).for_each(|_| drain.note(bytes, took));
    drain
}

#[test]
fn who_is_not_known_yet_is_given_the_least() {
    assert_eq!(Drain::default().limit(1, 1 << 20), LEAST_BYTES);
    assert_eq!(Drain::default().limit(1, 1000), 1000);
    assert_eq!(steady(1, Duration::ZERO, 1).limit(1, 1 << 20), 1 << 20, "too fast to be measured");
}

#[test]
fn who_slows_down_a_hundred_times_is_known_by_it_soon_and_sooner_when_fast_again() {
    let mut drain = steady(256 * 1024, MILLI, 1000);
    assert_eq!(drain.limit(1, 1 << 20), 1 << 20);
    (0..20).for_each(|_| drain.note(256 * 1024, MILLI * 100));
    // At 2.6 MB/s the target is 65 kB.
    assert!(drain.limit(1, 1 << 20) < 80_000, "{}", drain.limit(1, 1 << 20));
    (0..200).for_each(|_| drain.note(256 * 1024, MILLI));
    assert_eq!(drain.limit(1, 1 << 20), 1 << 20);
}

fn measured() -> impl Strategy<Value = Vec<(usize, u64)>> {
    prop::collection::vec((0usize..4_000_000, 0u64..2_000_000_000), 0..60)
}

proptest! {
    #[test]
    fn the_bound_lies_between_the_least_and_the_most(
        measured in measured(), queues in 0usize..2000, most in 0usize..1 << 31,
    ) {
        let mut drain = Drain::default();
        for (bytes, nanos) in measured {
            drain.note(bytes, Duration::from_nanos(nanos));
            let limit = drain.limit(queues, most);
            prop_assert!(limit <= most && limit >= LEAST_BYTES.min(most));
        }
    }

    #[test]
    fn the_faster_is_given_no_less(measured in measured(), more in 1usize..10, queues in 1usize..100) {
        let (mut slow, mut fast) = (Drain::default(), Drain::default());
        for (bytes, nanos) in measured {
            slow.note(bytes, Duration::from_nanos(nanos));
            fast.note(bytes * more, Duration::from_nanos(nanos));
            prop_assert!(fast.limit(queues, 1 << 30) >= slow.limit(queues, 1 << 30));
        }
    }

    #[test]
    fn at_a_steady_rate_all_queues_together_are_drained_in_time(
        bytes in 1usize..1_000_000, micros in 1u64..100_000, times in 1usize..500, queues in 1usize..64,
    ) {
        let took = Duration::from_micros(micros);
        let limit = steady(bytes, took, times).limit(queues, 1 << 30);
        let drained = took.as_secs_f64() * (limit * queues) as f64 / bytes as f64;
        prop_assert!(limit == LEAST_BYTES || drained <= TARGET.as_secs_f64() * 1.01, "{drained} s");
        // And no less than could be: the rate is not forgotten by rounding.
        let is_most = limit == 1 << 30;
        let slack = took.as_secs_f64() * queues as f64 / bytes as f64 + 0.01 * TARGET.as_secs_f64();
        prop_assert!(is_most || drained >= TARGET.as_secs_f64() - slack || bytes < 1000, "{drained} s");
    }
}
