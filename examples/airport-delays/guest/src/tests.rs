use tidegate::testing::{Harness, Record};

use super::{Delays, tenths};

const CONFIG: &str = r#"{"figures_every":3,"late_minutes":15,"alert_from":2,"raise_above":12.0,"clear_below":8.0}"#;

fn flight(origin: &str, delay: i64) -> Record {
    Record::json(&format!(r#"{{"date":"2001/01/01 06:55","origin":"{origin}","delay":{delay}}}"#))
}

fn delays() -> Harness<Delays> {
    Harness::<Delays>::new().config(CONFIG).key_at("/origin")
}

#[test]
fn figures_come_after_every_third_flight_of_an_airport() {
    let flights = [flight("OSL", 20), flight("BGO", 1), flight("OSL", -5), flight("OSL", 6), flight("OSL", 9)];
    let run = delays().run_every_way(flights);
    assert_eq!(run.main().len(), 1);
    let figures = &run.main()[0];
    assert_eq!(figures.field::<String>("origin"), "OSL");
    assert_eq!(figures.field::<i64>("flights"), 3);
    assert_eq!(figures.field::<i64>("late"), 1);
    assert_eq!(figures.field::<f64>("mean_delay"), 7.0);
    assert_eq!(figures.field::<i64>("worst_delay"), 20);
}

#[test]
fn the_worst_of_early_flights_is_the_least_early() {
    let run = delays().run([flight("OSL", -9), flight("OSL", -3), flight("OSL", -7)]);
    assert_eq!(run.main()[0].field::<i64>("worst_delay"), -3);
}

#[test]
fn an_alert_is_raised_once_and_cleared_once() {
    // Means: 30, 25, 20, 7.5, 7.
    let flights = [30, 20, 10, -30, 5].map(|delay| flight("OSL", delay));
    let run = delays().run_every_way(flights);
    let alerts: Vec<(usize, String)> =
        run.output("alerts").iter().map(|out| (out.index(), out.field::<String>("alert"))).collect();
    assert_eq!(alerts, [(1, "raised".to_owned()), (3, "cleared".to_owned())]);
}

#[test]
fn bounds_that_contradict_each_other_are_refused() {
    let config = CONFIG.replace("8.0", "13.0");
    let refusal = Harness::<Delays>::new().config(&config).open().unwrap_err();
    assert_eq!(refusal.to_string(), "config.clear_below is 13: expected at most raise_above, which is 12");
}

#[test]
fn halves_are_rounded_up() {
    assert_eq!(tenths(1.25), 1.3);
    assert_eq!(tenths(-1.25), -1.2);
}
