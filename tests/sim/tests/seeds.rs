//! Runs of a few seeds, and the proof that the oracle sees what it is for.

use std::env;

use sim::{Bug, Options, run};

/// How many seeds a run of the tests tries; set to try more.
const SEEDS: &str = "TIDEGATE_SIM_SEEDS";
/// Set to run one seed alone.
const SEED: &str = "TIDEGATE_SIM_SEED";

fn seeds() -> Vec<u64> {
    let number = |name: &str| env::var(name).ok().map(|text| text.parse().expect("a number of seeds, or a seed"));
    match number(SEED) {
        Some(seed) => vec![seed],
        None => (0..number(SEEDS).unwrap_or(60)).collect(),
    }
}

#[test]
fn every_record_counts_once_whatever_goes_wrong() {
    let (mut crashes, mut fenced, mut aborts, mut manifests) = (0, 0, 0, 0);
    for seed in seeds() {
        let report = run(seed, &Options::default())
            .unwrap_or_else(|violation| panic!("{SEED}={seed} cargo test -p sim: {violation}"));
        crashes += report.crashes;
        fenced += report.fenced;
        aborts += report.aborts;
        manifests += report.manifests;
    }
    // A run in which nothing goes wrong proves nothing.
    if seeds().len() > 20 {
        assert!(crashes > 50 && fenced > 5 && aborts > 10, "{crashes} crashes, {fenced} fenced, {aborts} aborts");
        assert!(manifests > 100, "{manifests} manifests");
    }
}

#[test]
fn the_same_seed_is_the_same_run() {
    for seed in 0..5 {
        let options = Options::default();
        assert_eq!(run(seed, &options), run(seed, &options), "seed {seed}");
    }
    let traces: std::collections::BTreeSet<_> =
        (0..5).filter_map(|seed| Some(run(seed, &Options::default()).ok()?.trace)).collect();
    assert_eq!(traces.len(), 5, "different seeds go different ways");
}

#[test]
fn every_planted_bug_is_seen() {
    for bug in Bug::ALL {
        let seen = (0..400).find_map(|seed| run(seed, &Options { bug: Some(bug), ..Options::default() }).err());
        assert!(seen.is_some(), "{bug:?} was never seen");
    }
}
