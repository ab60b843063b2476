use super::{CaseReport, Runs};
use crate::cases::{CASES, Variant};
use crate::epochs::EpochFigures;
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

fn checkpoint(duration_ns: Option<u64>) -> EpochFigures {
    let publish_ns = duration_ns.map(|_| 2_500_000);
    EpochFigures { duration_ns, publish_ns, sync_ns: 30_000, alignment_ns: 0, upload_ns: 1_000_000, bytes: 3 << 20 }
}

fn report(guest: &[u64], native: &[u64]) -> String {
    report_of("dedup-36", &[(Variant::Guest, guest), (Variant::Native, native)])
}

fn report_of(name: &str, variants: &[(Variant, &[u64])]) -> String {
    let case = CASES.iter().find(|case| case.name == name).unwrap();
    let input = Input {
        kind: InputKind::Orders36,
        version: 1,
        seed: 2,
        records: 1_000,
        bytes: 171_000,
        checksum: "00ff".to_owned(),
        path: "orders".into(),
    };
    let runs = |&(variant, cpu): &(Variant, &[u64])| {
        let mut results: Vec<RunResult> = cpu.iter().copied().map(result).collect();
        if variant.epoch_millis().is_some() {
            results
                .iter_mut()
                .for_each(|result| result.checkpoints = vec![checkpoint(Some(4_000_000)), checkpoint(None)]);
        }
        Runs { variant, results }
    };
    let all: Vec<Runs> = variants.iter().map(runs).collect();
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

#[test]
fn what_epochs_lose_is_judged_against_the_same_variant_without_them() {
    let variants = |epochs| [(Variant::Guest, &[900][..]), (Variant::Epochs(1000), epochs)];
    let text = report_of("epochs", &variants(&[1_000]));
    assert!(text.contains("met    throughput that guest, epochs of 1000 ms loses: 0.100 (bound 0.100)"), "{text}");
    let text = report_of("epochs", &variants(&[1_200]));
    assert!(text.contains("MISSED throughput that guest, epochs of 1000 ms loses: 0.250 (bound 0.100)"), "{text}");
}

#[test]
fn checkpoints_are_told_of_and_aborted_ones_counted_apart() {
    let text = report_of("epochs", &[(Variant::Guest, &[900]), (Variant::Epochs(200), &[900, 900])]);
    let row = text.lines().rfind(|line| line.starts_with("| guest, epochs of 200 ms")).unwrap_or_default();
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    assert_eq!(cells[2..], ["4 (2)", "4.00", "4.00", "0.03", "0.03", "0.00", "1.00", "2.50", "3.0", ""], "{text}");
    assert!(!report(&[900], &[900]).contains("ms until durable"));
}
