//! One run of one variant, in a process of its own.
//!
//! The benchmark calls itself with what to run as JSON, and reads what came of it as JSON from the standard
//! output. So no run finds memory, caches or threads that another left behind, and its peak memory is its own.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};

use crate::cases::{SinkKind, Variant, Work};
use crate::measure::{Cost, cost_of, resident_bytes};
use crate::tally::{Counting, Summing, Tally, Writing};
use crate::{engine, raw};

/// What to run.
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
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
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
}

/// Runs `spec` in a process of its own.
///
/// # Errors
/// When it ends without a result; what it said on its standard error was shown.
pub(crate) fn in_own_process(spec: &RunSpec) -> anyhow::Result<RunResult> {
    let output = Command::new(env::current_exe()?)
        .arg("--one-run")
        .arg(serde_json::to_string(spec)?)
        .stderr(Stdio::inherit())
        .output()
        .context("start a run")?;
    ensure!(output.status.success(), "{:?} of {}: {}", spec.work, spec.variant.name(), output.status);
    serde_json::from_slice(&output.stdout).context("read the result of a run")
}

/// Runs `spec` here.
///
/// # Errors
/// When the run fails.
pub(crate) fn here(spec: &RunSpec) -> anyhow::Result<RunResult> {
    if spec.variant == Variant::Raw {
        return run_raw(spec, &spec.directory.join("raw-output.jsonl"));
    }
    let job = engine::Job::prepare(spec, &spec.directory.join("output.jsonl"))?;
    let (resident_before_bytes, _) = resident_bytes()?;
    let (ended, cost) = cost_of(|| job.run());
    let ended = ended?;
    let (_, resident_peak_bytes) = resident_bytes()?;
    let engine::Ended { tally, fuel, live_bytes, table_bytes } = ended;
    Ok(RunResult { tally, cost, resident_before_bytes, resident_peak_bytes, fuel, live_bytes, table_bytes })
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
    })
}
