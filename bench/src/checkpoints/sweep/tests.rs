use super::{CheckpointsFound, Place, Runs, Taken, compare_sizes, places, report};
use crate::measure::Cost;

const MIB: u64 = 1 << 20;

fn found(deltas_ns: &[u64], image_ns: u64) -> CheckpointsFound {
    let taken = |is_image, wall_ns| Taken {
        is_image,
        sync_ns: 1_000,
        sync_cpu_ns: 1_000,
        cost: Cost { wall_ns, cpu_ns: 1 },
        bytes: 1,
    };
    let deltas = deltas_ns.iter().map(|&wall_ns| taken(false, wall_ns));
    CheckpointsFound { taken: deltas.chain([taken(true, image_ns)]).collect(), resident_peak_bytes: 1 }
}

fn runs(state_bytes: u64, deltas_ns: &[u64], image_ns: u64) -> Runs {
    let place = Place { state_bytes, churn_bytes: MIB };
    Runs { place, table: vec![found(deltas_ns, image_ns)], raw: vec![found(&[30], 30)] }
}

#[test]
fn sizes_are_compared_at_the_change_of_the_smallest() {
    let found = places(&[100 * MIB, 1000 * MIB], &[1, 10]);
    let place = |state, churn| Place { state_bytes: state * MIB, churn_bytes: churn * MIB };
    assert_eq!(found, [place(100, 1), place(100, 10), place(1000, 10), place(1000, 100)]);
}

#[test]
fn an_image_comes_up_however_much_changes() {
    for percent in [1, 10, 50] {
        let place = Place { state_bytes: 100 * MIB, churn_bytes: percent * MIB };
        let deltas = u64::from(place.checkpoints());
        assert!(deltas > 16 || deltas * percent > 50, "{percent} %");
    }
}

#[test]
fn a_delta_is_compared_with_a_delta_and_the_mean_counts_images() {
    let verdicts = compare_sizes(&[runs(100 * MIB, &[10, 10, 10], 10), runs(1000 * MIB, &[12, 12, 12], 1000)]);
    let lines: Vec<String> = verdicts.iter().map(|verdict| verdict.line()).collect();
    assert!(lines[0].contains("10.0 times the state: time of a delta: 1.200 (bound 1.300)"), "{lines:?}");
    assert!(lines[0].starts_with("met") && lines[1].starts_with("MISSED"), "{lines:?}");
}

#[test]
fn the_speed_is_that_of_the_bare_loop_over_that_of_the_table() {
    let text = report(&[runs(100 * MIB, &[60, 60, 60], 90)]).text();
    assert!(text.contains("met    100 MiB, 1.0 MiB: speed of sort, encode, write: 0.500 (bound 0.500)"), "{text}");
    assert!(text.contains("met    100 MiB, 1.0 MiB: sync part, p99, ms: 0.001 (bound 5.000)"), "{text}");
}
