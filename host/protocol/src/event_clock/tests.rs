use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;

use model::job::WatermarkSpec;
use model::{EventTime, HostTime, SplitIndex};

use super::EventClock;

const NOW: HostTime = HostTime(1_000_000);

/// Ten seconds out of order, one hour ahead.
fn clock(splits: u32) -> EventClock {
    let spec = WatermarkSpec { max_out_of_orderness: Duration::from_secs(10), max_ahead: Duration::from_secs(3600) };
    let mut clock = EventClock::new(&spec);
    (0..splits).for_each(|split| clock.add(SplitIndex(split), EventTime::UNKNOWN));
    clock
}

fn observe(clock: &mut EventClock, split: u32, times: &[i64]) {
    let times: Vec<EventTime> = times.iter().copied().map(EventTime).collect();
    clock.observe(SplitIndex(split), &times, NOW);
}

#[test]
fn the_slowest_split_decides() {
    let mut clock = clock(2);
    observe(&mut clock, 0, &[90_000, 100_000, 95_000]);
    assert_eq!(clock.watermark(), EventTime::UNKNOWN, "nothing is known of the second split");
    observe(&mut clock, 1, &[40_000]);
    assert_eq!(clock.watermark(), EventTime(30_000));
    observe(&mut clock, 1, &[300_000]);
    assert_eq!(clock.watermark(), EventTime(90_000));
}

#[test]
fn a_record_from_the_far_future_moves_nothing_and_is_counted() {
    let mut clock = clock(1);
    observe(&mut clock, 0, &[50_000, NOW.0 + 3_600_001, i64::MAX]);
    assert_eq!((clock.watermark(), clock.ahead()), (EventTime(40_000), 2));
    observe(&mut clock, 0, &[NOW.0 + 3_600_000]);
    assert_eq!((clock.watermark(), clock.ahead()), (EventTime(NOW.0 + 3_590_000), 2));
}

#[test]
fn records_without_event_time_say_nothing() {
    let mut clock = clock(1);
    observe(&mut clock, 0, &[i64::MIN, i64::MIN]);
    assert_eq!(clock.watermark(), EventTime::UNKNOWN);
    observe(&mut clock, 0, &[-5_000, i64::MIN]);
    assert_eq!(clock.watermark(), EventTime(-15_000), "before 1970 is a time too");
}

#[test]
fn a_split_at_its_end_does_not_hold_back_those_that_go_on() {
    let mut clock = clock(2);
    observe(&mut clock, 0, &[20_000]);
    observe(&mut clock, 1, &[500_000]);
    assert_eq!(clock.watermark(), EventTime(10_000));
    clock.end(SplitIndex(0));
    assert_eq!(clock.watermark(), EventTime(490_000));
    clock.end(SplitIndex(1));
    assert_eq!(clock.watermark(), EventTime(490_000));
}

#[test]
fn what_was_noted_is_gone_on_from() {
    let mut before = clock(1);
    observe(&mut before, 0, &[70_000]);
    let mut after = clock(0);
    after.add(SplitIndex(4), before.greatest(SplitIndex(0)));
    assert_eq!(after.watermark(), before.watermark());
}

fn looks() -> impl Strategy<Value = Vec<(u32, Vec<i64>, bool)>> {
    let times = prop::collection::vec(prop_oneof![8 => -100_000i64..2_000_000, 1 => any::<i64>()], 0..5);
    prop::collection::vec((0u32..3, times, prop::bool::weighted(0.1)), 0..60)
}

proptest! {
    #[test]
    fn the_watermark_never_falls_and_never_leads_every_split(looks in looks()) {
        let mut clock = clock(3);
        let mut greatest = BTreeMap::<u32, i64>::new();
        let mut ignored = 0;
        let mut last = EventTime::UNKNOWN;
        for (split, times, ends) in looks {
            observe(&mut clock, split, &times);
            for time in &times {
                if *time > NOW.0 + 3_600_000 {
                    ignored += 1;
                } else {
                    greatest.entry(split).and_modify(|most| *most = (*most).max(*time)).or_insert(*time);
                }
            }
            if ends {
                clock.end(SplitIndex(split));
            }
            let watermark = clock.watermark();
            prop_assert!(watermark >= last);
            let most = greatest.values().copied().max().unwrap_or(i64::MIN);
            prop_assert!(watermark == EventTime::UNKNOWN || watermark.0 <= most.saturating_sub(10_000));
            last = watermark;
        }
        prop_assert_eq!(clock.ahead(), ignored);
    }

    #[test]
    fn no_record_in_the_promised_order_is_behind(
        delays in prop::collection::vec((0u32..2, 0i64..1000, 0i64..=10_000), 1..200),
    ) {
        let mut clock = clock(2);
        let mut heads = [0i64; 2];
        for (split, step, delay) in delays {
            let head = &mut heads[split as usize];
            *head += step;
            let time = *head - delay;
            let watermark = clock.watermark();
            prop_assert!(EventTime(time) >= watermark, "{time} is behind {watermark}");
            // The greatest of the split is its head: what is at most ten seconds behind it is in order.
            observe(&mut clock, split, &[*head, time]);
        }
    }
}
