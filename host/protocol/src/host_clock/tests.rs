use std::time::Duration;

use proptest::prelude::*;

use model::HostTime;

use super::{Alarm, HostClock};

const SECOND: i64 = 1000;
const HOUR: i64 = 3600 * SECOND;
const LIMIT: Duration = Duration::from_secs(60);

/// A clock restored to zero, and readings of (wall, steady) in milliseconds.
fn read(clock: &mut HostClock, wall: i64, steady: i64) -> i64 {
    clock.read(HostTime(wall), Duration::from_millis(u64::try_from(steady).unwrap())).0
}

fn clock() -> HostClock {
    HostClock::new(HostTime(0), LIMIT)
}

#[test]
fn downtime_counts_however_long_it_was() {
    let mut clock = clock();
    assert_eq!(read(&mut clock, 400 * HOUR, 5), 400 * HOUR);
    assert_eq!(clock.alarm(), None);
}

#[test]
fn a_wall_behind_the_restored_clock_makes_it_stand_still() {
    let mut clock = HostClock::new(HostTime(HOUR), LIMIT);
    assert_eq!(read(&mut clock, 0, 0), HOUR);
    assert_eq!(clock.alarm(), Some(Alarm::Behind(Duration::from_secs(3600))));
    assert_eq!(read(&mut clock, HOUR / 2, HOUR / 2), HOUR);
    assert_eq!(read(&mut clock, HOUR + 1, HOUR + 1), HOUR + 1);
    assert_eq!(clock.alarm(), None);
}

#[test]
fn a_clock_set_back_and_right_again_is_followed_at_once() {
    let mut clock = clock();
    assert_eq!(read(&mut clock, 10 * HOUR, 0), 10 * HOUR);
    assert_eq!(read(&mut clock, 9 * HOUR, SECOND), 10 * HOUR);
    assert_eq!(read(&mut clock, 10 * HOUR + 2 * SECOND, 2 * SECOND), 10 * HOUR + 2 * SECOND);
    assert_eq!(clock.alarm(), None);
}

#[test]
fn a_jump_ahead_is_held_and_then_followed() {
    let mut clock = clock();
    read(&mut clock, 10 * HOUR, 0);
    let jumped = 34 * HOUR;
    assert_eq!(read(&mut clock, jumped + SECOND, SECOND), 10 * HOUR + SECOND, "by the steady clock");
    assert!(matches!(clock.alarm(), Some(Alarm::Ahead(_))));
    assert_eq!(
        read(&mut clock, jumped + 61 * SECOND, 61 * SECOND),
        10 * HOUR + 61 * SECOND,
        "not longer than the limit"
    );
    assert_eq!(read(&mut clock, jumped + 62 * SECOND, 62 * SECOND), jumped + 62 * SECOND);
    assert_eq!(clock.alarm(), None);
}

#[test]
fn a_jump_that_is_taken_back_leaves_nothing() {
    let mut clock = clock();
    read(&mut clock, 10 * HOUR, 0);
    read(&mut clock, 34 * HOUR, SECOND);
    assert_eq!(read(&mut clock, 10 * HOUR + 2 * SECOND, 2 * SECOND), 10 * HOUR + 2 * SECOND);
    assert_eq!(clock.alarm(), None);
    assert_eq!(read(&mut clock, 34 * HOUR, 90 * SECOND), 10 * HOUR + 90 * SECOND, "a second jump waits anew");
}

#[test]
fn a_second_jump_waits_for_itself() {
    let mut clock = clock();
    read(&mut clock, 0, 0);
    read(&mut clock, HOUR, SECOND);
    assert_eq!(read(&mut clock, 9 * HOUR, 55 * SECOND), 55 * SECOND);
    assert_eq!(read(&mut clock, 9 * HOUR + 10 * SECOND, 65 * SECOND), 65 * SECOND);
    assert_eq!(read(&mut clock, 9 * HOUR + 61 * SECOND, 116 * SECOND), 9 * HOUR + 61 * SECOND);
}

#[test]
fn a_step_within_the_limit_is_followed() {
    let mut clock = clock();
    read(&mut clock, HOUR, 0);
    assert_eq!(read(&mut clock, HOUR + 60 * SECOND, 0), HOUR + 60 * SECOND);
    assert_eq!(clock.last(), HostTime(HOUR + 60 * SECOND));
}

fn readings() -> impl Strategy<Value = Vec<(i64, i64)>> {
    let step = prop_oneof![
        6 => (0i64..30 * SECOND).prop_map(|run| (run, run)),
        1 => (0i64..30 * SECOND, -2 * HOUR..2 * HOUR),
        1 => (0i64..30 * SECOND, any::<i32>().prop_map(|step| i64::from(step) * 1000)),
    ];
    prop::collection::vec(step, 1..80).prop_map(|steps| {
        let mut at = (100 * HOUR, 0);
        steps
            .into_iter()
            .map(|(steady, wall)| {
                at = (at.0 + wall, at.1 + steady);
                at
            })
            .collect()
    })
}

proptest! {
    #[test]
    fn readings_never_fall_and_never_lead(readings in readings(), floor in 0i64..200 * HOUR) {
        let mut clock = HostClock::new(HostTime(floor), LIMIT);
        let (mut last, mut most) = (floor, floor);
        for (wall, steady) in readings {
            most = most.max(wall);
            let time = read(&mut clock, wall, steady);
            prop_assert!(time >= last && time <= most, "{time} after {last}, at most {most}");
            last = time;
        }
    }

    #[test]
    fn a_reading_outruns_the_steady_clock_only_by_what_the_limit_allows(readings in readings()) {
        let mut clock = clock();
        // When the wall was last where the steady clock put it, within the limit of the reading.
        let mut last: Option<(i64, i64)> = None;
        let mut steadily = 0;
        let mut seen: Option<(i64, i64)> = None;
        for (wall, steady) in readings {
            let runs_on = seen.is_some_and(|(w, s)| ((wall - w) - (steady - s)).abs() <= 60 * SECOND);
            steadily = if runs_on { steadily + steady - seen.unwrap().1 } else { 0 };
            let time = read(&mut clock, wall, steady);
            if let Some((before, then)) = last {
                let gained = (time - before) - (steady - then);
                let lasted = steadily > 60 * SECOND;
                prop_assert!(gained <= 60 * SECOND || lasted, "gained {gained} ms after {steadily} ms at one pace");
            }
            last = Some((time, steady));
            seen = Some((wall, steady));
        }
    }

    #[test]
    fn a_good_clock_is_followed_exactly(runs in prop::collection::vec(0i64..HOUR, 1..50)) {
        let mut clock = clock();
        let (mut wall, mut steady) = (100 * HOUR, 0);
        for run in runs {
            (wall, steady) = (wall + run, steady + run);
            prop_assert_eq!(read(&mut clock, wall, steady), wall);
            prop_assert_eq!(clock.alarm(), None);
        }
    }
}
