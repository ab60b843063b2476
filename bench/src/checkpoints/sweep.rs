//! The sweep: sizes of the state by how much of it changes, table against bare loop, round by round.

use std::path::Path;

use crate::args::Args;
use crate::checkpoints::{CheckpointSpec, CheckpointsFound, Taken, Who};
use crate::one_run::{Order, in_own_process};
use crate::report::{TableReport, Verdict, mib, millis, ratio};
use crate::room::{Need, ensure_room};
use crate::rounds::{Spread, order, percentile};

/// Of a state of `state_bytes`, `churn_bytes` change in every epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    state_bytes: u64,
    churn_bytes: u64,
}

/// The runs of a place, by round.
struct Runs {
    place: Place,
    table: Vec<CheckpointsFound>,
    raw: Vec<CheckpointsFound>,
}

const WHO: [Who; 2] = [Who::Table, Who::Raw];

/// Of the smallest state so much changes where sizes are compared, if it is among what was asked for.
const COMPARED_PERCENT: u64 = 10;

/// Runs every size and churn that was asked for.
///
/// # Errors
/// When there is no room for one, or a run fails.
pub(crate) fn run(args: &Args, directory: &Path, say: &mut impl FnMut(&str)) -> anyhow::Result<TableReport> {
    let places = places(&args.state_bytes(), &args.churn);
    for place in &places {
        let state_bytes = place.state_bytes;
        // Entries take up to twice their bytes; an image holds what the table has left meanwhile. On the disk are an
        // image, its deltas of half its size, and the next image.
        let need = Need { disk_bytes: state_bytes * 4, memory_bytes: state_bytes * 3 + (256 << 20) };
        ensure_room(&format!("checkpoint of {} MiB", state_bytes >> 20), need, directory)?;
    }
    let mut all = Vec::new();
    for place in places {
        all.push(run_place(place, args, directory, say)?);
    }
    Ok(report(&all))
}

/// Every size by every churn, and every size by what changes of the smallest.
fn places(sizes: &[u64], percents: &[u64]) -> Vec<Place> {
    let mut places = Vec::new();
    for &state_bytes in sizes {
        places.extend(percents.iter().map(|percent| Place { state_bytes, churn_bytes: state_bytes * percent / 100 }));
    }
    let percent = percents.iter().find(|&&it| it == COMPARED_PERCENT).or(percents.first()).copied();
    if let (Some(&smallest), Some(percent)) = (sizes.iter().min(), percent) {
        let churn_bytes = smallest * percent / 100;
        places.extend(sizes.iter().map(|&state_bytes| Place { state_bytes, churn_bytes }));
    }
    let mut once: Vec<Place> = Vec::new();
    for place in places {
        if !once.contains(&place) {
            once.push(place);
        }
    }
    once
}

impl Place {
    /// Enough for an image to come up among them, and no more than what the disk takes in reasonable time.
    fn checkpoints(self) -> u32 {
        let percent = (self.churn_bytes * 100 / self.state_bytes.max(1)).max(1);
        u32::try_from(120 / percent).unwrap_or(u32::MAX).clamp(4, 20)
    }
}

fn run_place(place: Place, args: &Args, directory: &Path, say: &mut impl FnMut(&str)) -> anyhow::Result<Runs> {
    let mut runs = Runs { place, table: Vec::new(), raw: Vec::new() };
    for round in 0..args.rounds {
        say(&format!(
            "checkpoint: {} MiB, {} MiB change, round {} of {}",
            place.state_bytes >> 20,
            mib(place.churn_bytes as f64),
            round + 1,
            args.rounds,
        ));
        for who in order(WHO.len(), round).into_iter().filter_map(|at| WHO.get(at).copied()) {
            let found = in_own_process(&Order::Checkpoints(CheckpointSpec {
                who,
                state_bytes: place.state_bytes,
                churn_bytes: place.churn_bytes,
                checkpoints: place.checkpoints(),
                directory: directory.to_path_buf(),
            }))?;
            match who {
                Who::Table => runs.table.push(found),
                Who::Raw => runs.raw.push(found),
            }
        }
    }
    Ok(runs)
}

/// A figure of every checkpoint that `counts`, over all rounds.
fn of_all(found: &[CheckpointsFound], counts: impl Fn(&Taken) -> bool, of: impl Fn(&Taken) -> f64) -> Vec<f64> {
    found.iter().flat_map(|found| &found.taken).filter(|taken| counts(taken)).map(of).collect()
}

/// The median of a figure in every round; of deltas, where the round has any.
fn medians(found: &[CheckpointsFound], of: impl Fn(&Taken) -> f64) -> Vec<f64> {
    let median = |found: &CheckpointsFound| {
        let deltas: Vec<f64> = found.taken.iter().filter(|taken| !taken.is_image).map(&of).collect();
        let values = if deltas.is_empty() { found.taken.iter().map(&of).collect() } else { deltas };
        Spread::of(&values).map_or(0.0, |spread| spread.median)
    };
    found.iter().map(median).collect()
}

/// The mean of a figure in every round, images included.
fn means(found: &[CheckpointsFound], of: impl Fn(&Taken) -> f64) -> Vec<f64> {
    let mean = |found: &CheckpointsFound| found.taken.iter().map(&of).sum::<f64>() / found.taken.len().max(1) as f64;
    found.iter().map(mean).collect()
}

fn wall(taken: &Taken) -> f64 {
    taken.cost.wall_ns as f64
}

fn report(all: &[Runs]) -> TableReport {
    let mut verdicts = Vec::new();
    for runs in all {
        let place = label(runs.place);
        let sync = of_all(&runs.table, |_| true, |taken| taken.sync_ns as f64 / 1e6);
        verdicts.push(Verdict::at_most(format!("{place}: sync part, p99, ms"), percentile(&sync, 99), 5.0));
        if let Some(speed) = Spread::of_ratios(&medians(&runs.raw, wall), &medians(&runs.table, wall)) {
            verdicts.push(Verdict::at_least(format!("{place}: speed of sort, encode, write"), speed.median, 0.5));
        }
    }
    verdicts.extend(compare_sizes(all));
    TableReport {
        name: "checkpoint",
        title: "checkpoints of a table in memory to a local disk; times are those of the clock".to_owned(),
        header: vec![
            "state, change per epoch",
            "sync ms p50",
            "p99",
            "CPU p99",
            "longest with a delta",
            "with an image",
            "delta durable ms",
            "image durable ms",
            "MiB each, images included",
            "raw ms",
            "raw / table",
            "raw / table, images included",
            "CPU ms each",
            "raw CPU ms",
            "peak MiB",
        ],
        rows: all.iter().map(row).collect(),
        verdicts,
        runs: all.iter().flat_map(json).collect(),
    }
}

fn label(place: Place) -> String {
    format!("{} MiB, {} MiB", place.state_bytes >> 20, mib(place.churn_bytes as f64))
}

fn row(runs: &Runs) -> Vec<String> {
    let sync = of_all(&runs.table, |_| true, |taken| taken.sync_ns as f64 / 1e6);
    let worked = of_all(&runs.table, |_| true, |taken| taken.sync_cpu_ns as f64 / 1e6);
    let longest = |is_image| {
        let syncs = of_all(&runs.table, |taken| taken.is_image == is_image, |taken| taken.sync_ns as f64 / 1e6);
        Spread::of(&syncs).map_or_else(|| "-".to_owned(), |sync| format!("{:.3}", sync.highest))
    };
    let cpu = |found: &[CheckpointsFound]| millis(&means(found, |taken| taken.cost.cpu_ns as f64));
    let peaks: Vec<f64> = runs.table.iter().map(|found| found.resident_peak_bytes as f64).collect();
    let bytes = Spread::of(&means(&runs.table, |taken| taken.bytes as f64));
    vec![
        label(runs.place),
        format!("{:.3}", percentile(&sync, 50)),
        format!("{:.3}", percentile(&sync, 99)),
        format!("{:.3}", percentile(&worked, 99)),
        longest(false),
        longest(true),
        millis(&of_all(&runs.table, |taken| !taken.is_image, wall)),
        millis(&of_all(&runs.table, |taken| taken.is_image, wall)),
        bytes.map_or_else(String::new, |bytes| mib(bytes.median)),
        millis(&of_all(&runs.raw, |_| true, wall)),
        ratio(Spread::of_ratios(&medians(&runs.raw, wall), &medians(&runs.table, wall)).as_ref()),
        ratio(Spread::of_ratios(&means(&runs.raw, wall), &means(&runs.table, wall)).as_ref()),
        cpu(&runs.table),
        cpu(&runs.raw),
        Spread::of(&peaks).map_or_else(String::new, |peak| mib(peak.median)),
    ]
}

/// What a checkpoint of a larger state takes longer, of the same change.
fn compare_sizes(all: &[Runs]) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for (at, small) in all.iter().enumerate() {
        let same = |large: &&Runs| large.place.churn_bytes == small.place.churn_bytes;
        for large in all.iter().skip(at + 1).filter(same) {
            let times = large.place.state_bytes as f64 / small.place.state_bytes.max(1) as f64;
            let what = format!("{} against {}, {times:.1} times the state", label(large.place), label(small.place));
            if let Some(longer) = Spread::of_ratios(&medians(&large.table, wall), &medians(&small.table, wall)) {
                verdicts.push(Verdict::at_most(format!("{what}: time of a delta"), longer.median, 1.3));
            }
            if let Some(longer) = Spread::of_ratios(&means(&large.table, wall), &means(&small.table, wall)) {
                verdicts.push(Verdict::at_most(format!("{what}: mean time, images included"), longer.median, 1.3));
            }
        }
    }
    verdicts
}

fn json(runs: &Runs) -> Vec<serde_json::Value> {
    let of = |who: Who, found: &[CheckpointsFound]| {
        serde_json::json!({
            "who": who,
            "state_bytes": runs.place.state_bytes,
            "churn_bytes": runs.place.churn_bytes,
            "rounds": found,
        })
    };
    vec![of(Who::Table, &runs.table), of(Who::Raw, &runs.raw)]
}

#[cfg(test)]
mod tests;
