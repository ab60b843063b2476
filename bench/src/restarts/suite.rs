//! Builds the state, then starts the job again and again, beside the bare loops.

use std::path::Path;

use crate::args::Args;
use crate::entries::ENTRY_BYTES;
use crate::one_run::{Order, in_own_process};
use crate::report::{TableReport, Verdict, mib, millis, ratio};
use crate::restarts::{Records, RestartFound, RestartSpec, Step};
use crate::room::{Need, ensure_room};
use crate::rounds::Spread;

/// Records of a tail: enough that every subtask gets some, and a moment's work.
const TAIL: u64 = 8192;

/// The runs of a step over a state, by round.
struct Runs {
    state_bytes: u64,
    step: Step,
    found: Vec<RestartFound>,
}

/// Measures restarts: `recovery` at one subtask, `rescale` at one, two and four, each from what the one before left.
///
/// # Errors
/// When there is no room for a size, or a run fails.
pub(crate) fn run(
    name: &'static str,
    args: &Args,
    directory: &Path,
    say: &mut impl FnMut(&str),
) -> anyhow::Result<TableReport> {
    let most = if name == "rescale" { 4 } else { 1 };
    let sizes = args.state_bytes();
    for state_bytes in &sizes {
        // The log keeps three checkpoints. The bare table takes four times the entries while it grows; every subtask
        // holds what it takes of the files.
        let need = Need { disk_bytes: state_bytes * 5, memory_bytes: state_bytes * (4 + u64::from(most)) };
        ensure_room(&format!("{name} of {} MiB", state_bytes >> 20), need, directory)?;
    }
    let mut all = Vec::new();
    for state_bytes in sizes {
        all.extend(run_size(name, most, state_bytes, args, directory, say)?);
    }
    Ok(report(name, &all))
}

/// What a round does, in order; the other way round for the bare loops of every other round.
fn steps(most: u32, round: u32) -> Vec<Step> {
    let raw = [Step::ReadFiles, Step::BuildTable];
    let restarts = [1, 2, 4].into_iter().filter(|&it| it <= most).map(|parallelism| Step::Restart { parallelism });
    if round.is_multiple_of(2) { raw.into_iter().chain(restarts).collect() } else { restarts.chain(raw).collect() }
}

fn run_size(
    name: &str,
    most: u32,
    state_bytes: u64,
    args: &Args,
    directory: &Path,
    say: &mut impl FnMut(&str),
) -> anyhow::Result<Vec<Runs>> {
    let folder = tempfile::Builder::new().prefix("restarts-").tempdir_in(directory)?;
    let entries = (state_bytes / ENTRY_BYTES).max(1);
    let mut records = Records { entries, from: 0, to: entries };
    let run = |step, records| {
        let root = folder.path().to_path_buf();
        in_own_process::<RestartFound>(&Order::Restart(RestartSpec { step, root, records }))
    };
    say(&format!("{name}: {} MiB, building the state", state_bytes >> 20));
    run(Step::Build, records)?;
    let of_step = |step| Runs { state_bytes, step, found: Vec::new() };
    let mut all: Vec<Runs> = steps(most, 0).into_iter().map(of_step).collect();
    for round in 0..args.rounds {
        say(&format!("{name}: {} MiB, round {} of {}", state_bytes >> 20, round + 1, args.rounds));
        for step in steps(most, round) {
            if matches!(step, Step::Restart { .. }) {
                records = Records { from: records.to, to: records.to + TAIL, ..records };
            }
            let found = run(step, records)?;
            all.iter_mut().filter(|runs| runs.step == step).for_each(|runs| runs.found.push(found));
        }
    }
    Ok(all)
}

fn first_wall(runs: &Runs) -> Vec<f64> {
    runs.found.iter().map(|found| found.first.wall_ns as f64).collect()
}

/// What a restart cannot be faster than, round by round: the slower of the bare loops over the same state.
fn slower_raw(all: &[Runs], state_bytes: u64) -> Vec<f64> {
    let of = |step| all.iter().find(|runs| runs.state_bytes == state_bytes && runs.step == step).map(first_wall);
    let (read, build) = (of(Step::ReadFiles).unwrap_or_default(), of(Step::BuildTable).unwrap_or_default());
    read.iter().zip(&build).map(|(read, build)| read.max(*build)).collect()
}

fn report(name: &'static str, all: &[Runs]) -> TableReport {
    let mut verdicts = Vec::new();
    for runs in all.iter().filter(|runs| runs.step == Step::Restart { parallelism: 1 } && name == "recovery") {
        if let Some(speed) = Spread::of_ratios(&slower_raw(all, runs.state_bytes), &first_wall(runs)) {
            let what = format!("{} MiB: speed of the slower of reading and building", runs.state_bytes >> 20);
            verdicts.push(Verdict::at_least(what, speed.median, 0.5));
        }
    }
    let times = "times are those of the clock, files come from the page cache";
    TableReport {
        name,
        title: format!("a job with state in memory starts again from a local disk; {times}"),
        header: vec![
            "state, what",
            "ms to the first record",
            "ms to the last of the tail",
            "s per GB to the last",
            "slower raw / first",
            "CPU ms to the last",
            "stored MiB",
            "peak MiB",
        ],
        rows: all.iter().map(|runs| row(runs, all)).collect(),
        verdicts,
        runs: all.iter().map(json).collect(),
    }
}

fn label(step: Step) -> String {
    match step {
        Step::Build => "build".to_owned(),
        Step::Restart { parallelism: 1 } => "restart, 1 subtask".to_owned(),
        Step::Restart { parallelism } => format!("restart, {parallelism} subtasks"),
        Step::ReadFiles => "raw: read the files".to_owned(),
        Step::BuildTable => "raw: build a table".to_owned(),
    }
}

fn row(runs: &Runs, all: &[Runs]) -> Vec<String> {
    let of = |of: fn(&RestartFound) -> u64| -> Vec<f64> { runs.found.iter().map(|found| of(found) as f64).collect() };
    let median = |values: &[f64]| Spread::of(values).map_or(0.0, |spread| spread.median);
    let last = of(|found| found.last.wall_ns);
    vec![
        format!("{} MiB, {}", runs.state_bytes >> 20, label(runs.step)),
        millis(&first_wall(runs)),
        millis(&last),
        format!("{:.2}", median(&last) / runs.state_bytes.max(1) as f64),
        ratio(Spread::of_ratios(&slower_raw(all, runs.state_bytes), &first_wall(runs)).as_ref()),
        millis(&of(|found| found.last.cpu_ns)),
        mib(median(&of(|found| found.stored_bytes))),
        mib(median(&of(|found| found.resident_peak_bytes))),
    ]
}

fn json(runs: &Runs) -> serde_json::Value {
    serde_json::json!({ "state_bytes": runs.state_bytes, "step": runs.step, "rounds": runs.found })
}

#[cfg(test)]
mod tests;
