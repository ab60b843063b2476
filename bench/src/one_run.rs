//! One run, in a process of its own.
//!
//! The benchmark calls itself with what to run as JSON, and reads what came of it as JSON from the standard
//! output. So no run finds memory, caches or threads that another left behind, and its peak memory is its own.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::cases::{SinkKind, Variant, Work};
use crate::checkpoints::CheckpointSpec;
use crate::epochs::EpochFigures;
use crate::measure::{Cost, cost_of, resident_bytes};
use crate::restarts::RestartSpec;
use crate::tally::{Counting, Summing, Tally, Writing};
use crate::{checkpoints, engine, raw, restarts};

/// What a process is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Order {
    /// A variant of a case.
    Case(RunSpec),
    /// Checkpoints of a table.
    Checkpoints(CheckpointSpec),
    /// A step of a restart.
    Restart(RestartSpec),
}

/// What to run of a case.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunSpec {
    /// What is done.
    pub(crate) work: Work,
    /// Who does it.
    pub(crate) variant: Variant,
    /// What is read.
    pub(crate) input: PathBuf,
    /// Where output goes.
    pub(crate) sink: SinkKind,
    /// The folder for files: components, compiled code, output.
    pub(crate) directory: PathBuf,
}

/// What came of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunResult {
    /// What came out.
    pub(crate) tally: Tally,
    /// What it cost, from the first byte read to the last one written; set-up is not counted.
    pub(crate) cost: Cost,
    /// Resident memory before the run.
    pub(crate) resident_before_bytes: u64,
    /// The most resident memory there was.
    pub(crate) resident_peak_bytes: u64,
    /// Fuel used; 0 where it was not counted.
    pub(crate) fuel: u64,
    /// Bytes of the live entries of keyed state at the end.
    pub(crate) live_bytes: u64,
    /// Bytes that the tables of keyed state take at the end.
    pub(crate) table_bytes: u64,
    /// The checkpoints that were taken.
    pub(crate) checkpoints: Vec<EpochFigures>,
}

/// Carries out `order` in a process of its own.
///
/// # Errors
/// When it ends without a result; what it said on its standard error was shown.
pub(crate) fn in_own_process<R: DeserializeOwned>(order: &Order) -> anyhow::Result<R> {
    let output = Command::new(env::current_exe()?)
        .arg("--one-run")
        .arg(serde_json::to_string(order)?)
        .stderr(Stdio::inherit())
        .output()
        .context("start a run")?;
    ensure!(output.status.success(), "{order:?}: {}", output.status);
    serde_json::from_slice(&output.stdout).context("read the result of a run")
}

/// Carries out `order` here.
///
/// # Errors
/// When the run fails.
pub(crate) fn here(order: &Order) -> anyhow::Result<serde_json::Value> {
    Ok(match order {
        Order::Case(spec) => serde_json::to_value(run_case(spec)?)?,
        Order::Checkpoints(spec) => serde_json::to_value(checkpoints::here(spec)?)?,
        Order::Restart(spec) => serde_json::to_value(restarts::here(spec)?)?,
    })
}

fn run_case(spec: &RunSpec) -> anyhow::Result<RunResult> {
    if spec.variant == Variant::Raw {
        return run_raw(spec, &spec.directory.join("raw-output.jsonl"));
    }
    let job = engine::Job::prepare(spec, &spec.directory.join("output.jsonl"))?;
    let (resident_before_bytes, _) = resident_bytes()?;
    let (ended, cost) = cost_of(|| job.run());
    let mut ended = ended?;
    let (_, resident_peak_bytes) = resident_bytes()?;
    if spec.sink == SinkKind::Checksum {
        ended.tally = job.sum_up(ended.tally)?;
    }
    let engine::Ended { tally, fuel, live_bytes, table_bytes, checkpoints } = ended;
    Ok(RunResult {
        tally,
        cost,
        resident_before_bytes,
        resident_peak_bytes,
        fuel,
        live_bytes,
        table_bytes,
        checkpoints,
    })
}

fn run_raw(spec: &RunSpec, output: &Path) -> anyhow::Result<RunResult> {
    let (resident_before_bytes, _) = resident_bytes()?;
    let (tally, cost) = match spec.sink {
        SinkKind::Count => cost_of(|| raw::run(spec.work, &spec.input, &mut Counting::default())),
        SinkKind::Checksum => cost_of(|| raw::run(spec.work, &spec.input, &mut Summing::default())),
        SinkKind::File => cost_of(|| raw::run(spec.work, &spec.input, &mut Writing::create(output)?)),
    };
    let (_, resident_peak_bytes) = resident_bytes()?;
    Ok(RunResult {
        tally: tally?,
        cost,
        resident_before_bytes,
        resident_peak_bytes,
        fuel: 0,
        live_bytes: 0,
        table_bytes: 0,
        checkpoints: Vec::new(),
    })
}
