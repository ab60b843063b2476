use super::{CaseReport, Runs};
use crate::cases::{CASES, Variant};
use crate::input::{Input, InputKind};
use crate::measure::Cost;
use crate::one_run::RunResult;
use crate::tally::Tally;

fn result(cpu_ns: u64) -> RunResult {
    RunResult {
        tally: Tally { records: 800, checksum: 7 },
        cost: Cost { wall_ns: cpu_ns, cpu_ns },
        resident_before_bytes: 1 << 20,
        resident_peak_bytes: 3 << 20,
        fuel: 5_000,
        live_bytes: 2 << 20,
        table_bytes: 3 << 20,
        checkpoints: Vec::new(),
    }
}

fn report(guest: &[u64], native: &[u64]) -> String {
    let case = CASES.iter().find(|case| case.name == "dedup-36").unwrap();
    let input = Input {
        kind: InputKind::Orders36,
        version: 1,
        seed: 2,
        records: 1_000,
        bytes: 171_000,
        checksum: "00ff".to_owned(),
        path: "orders".into(),
    };
    let runs = |variant, cpu: &[u64]| Runs { variant, results: cpu.iter().copied().map(result).collect() };
    let all = [runs(Variant::Guest, guest), runs(Variant::Native, native)];
    CaseReport::new(case, input, &all, 1e6).unwrap().with_checksum(0xabc).text()
}

#[test]
fn a_ratio_is_the_median_of_the_rounds_and_decides_the_verdict() {
    let text = report(&[1_000, 1_000, 2_000], &[900, 700, 1_200]);
    assert!(text.contains("MISSED speed of native (CPU): 0.700 (bound 0.800)"), "{text}");
    let text = report(&[1_000, 1_000, 2_000], &[900, 900, 1_200]);
    assert!(text.contains("met    speed of native (CPU): 0.900 (bound 0.800)"), "{text}");
}

#[test]
fn cost_is_given_per_million_records() {
    let text = report(&[250_000], &[250_000]);
    assert!(text.contains("0.250 [0.250 0.250]"), "{text}");
}

#[test]
fn memory_is_compared_with_the_live_bytes() {
    let text = report(&[1_000], &[1_000]);
    assert!(text.contains("met    memory grown over live bytes: 1.000 (bound 2.000)"), "{text}");
}

#[test]
fn what_did_not_run_is_not_judged() {
    let text = report(&[1_000], &[1_000]);
    assert!(!text.contains("raw loop (CPU)"), "{text}");
}
