//! Runs the cases.

use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};

use crate::args::Args;
use crate::cases::{CASES, Case, STATE_CASES, SinkKind, Variant};
use crate::input::{Input, ensure_input};
use crate::one_run::{Order, RunResult, RunSpec, in_own_process};
use crate::report::{CaseReport, Report, Runs};
use crate::room::{Need, ensure_room};
use crate::rounds::order;
use crate::tally::Tally;
use crate::{checkpoints, guests, micro, restarts};

/// Runs every case and single operation that was asked for, and says what it finds as it goes.
///
/// # Errors
/// When an input, a guest or a run fails, or the output of a variant is not that of the bare loop.
pub(crate) fn run(args: &Args, say: &mut impl FnMut(&str)) -> anyhow::Result<Report> {
    fs::create_dir_all(&args.directory)?;
    let directory = args.directory.canonicalize()?;
    if args.wants("micro") || CASES.iter().any(|case| args.wants(case.name)) {
        say("building the guests");
        guests::build(&directory)?;
    }
    let mut figures = Vec::new();
    if args.wants("micro") {
        figures.extend(micro::guest_figures(&directory)?);
    }
    if args.wants("raw") {
        figures.extend(micro::raw_figures(&directory, args.record_count())?);
    }
    figures.iter().for_each(|figure| say(&figure.line()));
    let mut cases = Vec::new();
    for case in CASES.iter().filter(|case| args.wants(case.name)) {
        let report = run_case(case, args, &directory, say)?;
        say(&report.text());
        cases.push(report);
    }
    let mut tables = Vec::new();
    for (name, _) in STATE_CASES.iter().filter(|(name, _)| args.wants(name)) {
        let report = match *name {
            "checkpoint" => checkpoints::run(args, &directory, say)?,
            name => restarts::run(name, args, &directory, say)?,
        };
        say(&report.text());
        tables.push(report);
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(Report { processor: processor(), cores, rounds: args.rounds, figures, cases, tables })
}

fn run_case(case: &Case, args: &Args, directory: &Path, say: &mut impl FnMut(&str)) -> anyhow::Result<CaseReport> {
    let records = args.records_of(case);
    if case.variants.iter().any(|variant| variant.epoch_millis().is_some()) {
        // Input, output and deltas of 200 bytes a record, three times over; a table, and what waits for the disk.
        ensure_room(case.name, Need { disk_bytes: records * 600, memory_bytes: records * 300 }, directory)?;
    }
    let input = ensure_input(directory, case.input, records)?;
    say(&format!("{}: {} records, comparing outputs", case.name, input.records));
    let variants = args.wanted_variants(case);
    let expected = compare_outputs(case, &variants, &input, directory)?;
    let mut all: Vec<Runs> = variants.iter().map(|&variant| Runs { variant, results: Vec::new() }).collect();
    for round in 0..args.rounds {
        say(&format!("{}: round {} of {}", case.name, round + 1, args.rounds));
        for place in order(all.len(), round) {
            let runs = all.get_mut(place).context("an order names variants there are")?;
            let result = run_variant(case, runs.variant, case.target_sink, &input, directory)?;
            ensure!(
                result.tally.records == expected.records,
                "{} of {}: {} records came out, {} are right",
                runs.variant.name(),
                case.name,
                result.tally.records,
                expected.records,
            );
            runs.results.push(result);
        }
    }
    let memcpy_cpu_ns = micro::memcpy_cpu_ns(input.bytes);
    Ok(CaseReport::new(case, input, &all, memcpy_cpu_ns)?.with_checksum(expected.checksum))
}

/// Runs each of the variants once and compares what comes out with what the bare loop makes.
fn compare_outputs(case: &Case, variants: &[Variant], input: &Input, directory: &Path) -> anyhow::Result<Tally> {
    let expected = run_variant(case, Variant::Raw, SinkKind::Checksum, input, directory)?.tally;
    for &variant in variants {
        let found = run_variant(case, variant, SinkKind::Checksum, input, directory)?.tally;
        ensure!(
            found == expected,
            "{} of {} puts out something else than the bare loop: {found:?}, expected {expected:?}",
            variant.name(),
            case.name,
        );
    }
    Ok(expected)
}

fn run_variant(
    case: &Case,
    variant: Variant,
    sink: SinkKind,
    input: &Input,
    directory: &Path,
) -> anyhow::Result<RunResult> {
    in_own_process(&Order::Case(RunSpec {
        work: case.work,
        variant,
        input: input.path.clone(),
        sink,
        directory: directory.to_path_buf(),
    }))
}

fn processor() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let named = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    named.map_or_else(|| "unknown".to_owned(), |(_, name)| name.trim().to_owned())
}
