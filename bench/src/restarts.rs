//! A job with keyed state starts again from its store: from the claim to the first record that the state decides
//! about. Nothing is killed for it: the job before has ended, with its final checkpoint.
//!
//! # Words
//! - *build*: the job runs for the first time, until its state has the size
//! - *tail*: the records a restart reads; every other one has a key that the state knows
//!
//! # Invariants
//! 1. A restart counts only if exactly those records of the tail came out whose keys the state did not know.
//! 2. Files are read from the page cache by all: what is compared is the work, not the disk.

mod job;
mod suite;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::ensure;
use model::Parallelism;
use runtime::SystemClock;
use serde::{Deserialize, Serialize};

use crate::entries::{Key, VALUE_BYTES, Value, key_of};
use crate::epochs;
use crate::input::mix;
use crate::measure::{Cost, Stopwatch, cost_of, resident_bytes};
use crate::raw::persist;
use crate::stored;
use crate::tally::Tally;

pub(crate) use suite::run;

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Step {
    /// The job runs for the first time.
    Build,
    /// It starts again with so many subtasks, and reads the tail.
    Restart { parallelism: u32 },
    /// A bare loop reads the files that a restart reads.
    ReadFiles,
    /// A bare loop builds a table of the same entries.
    BuildTable,
}

/// What to run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RestartSpec {
    /// What is done.
    pub(crate) step: Step,
    /// The storage of the job.
    pub(crate) root: PathBuf,
    /// Which records there are.
    pub(crate) records: Records,
}

/// The records of the job, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Records {
    /// Those below have a key each.
    pub(crate) entries: u64,
    /// Where this run begins.
    pub(crate) from: u64,
    /// Where it ends.
    pub(crate) to: u64,
}

/// What came of a step.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct RestartFound {
    /// Until the first record came out; of a bare loop, all of it.
    pub(crate) first: Cost,
    /// Until the last one of the tail.
    pub(crate) last: Cost,
    /// Bytes of the state in the store.
    pub(crate) stored_bytes: u64,
    /// The most resident memory there was.
    pub(crate) resident_peak_bytes: u64,
}

impl Records {
    /// The key of record `number`.
    pub(crate) fn key(self, number: u64) -> Key {
        let is_new = number < self.entries || number % 2 == 1;
        key_of(if is_new { number } else { mix(number) % self.entries.max(1) })
    }

    /// What has to come out of this run, after all runs before it.
    pub(crate) fn expected(self) -> Tally {
        let mut tally = Tally::default();
        let new = (self.from..self.to).filter(|&number| number < self.entries || number % 2 == 1);
        new.for_each(|number| tally.sum(&key_of(number)));
        tally
    }
}

/// When records came out, and which.
#[derive(Debug)]
pub(crate) struct Arrivals {
    watch: Stopwatch,
    first: [AtomicU64; 2],
    last: [AtomicU64; 2],
    records: AtomicU64,
    checksum: AtomicU64,
}

impl Arrivals {
    fn new() -> Self {
        Self {
            watch: Stopwatch::start(),
            first: [const { AtomicU64::new(0) }; 2],
            last: [const { AtomicU64::new(0) }; 2],
            records: AtomicU64::new(0),
            checksum: AtomicU64::new(0),
        }
    }

    /// Some came; one thread calls this.
    pub(crate) fn note(&self, came: Tally) {
        let Cost { wall_ns, cpu_ns } = self.watch.cost();
        let put =
            |to: &[AtomicU64; 2]| to.iter().zip([wall_ns, cpu_ns]).for_each(|(to, ns)| to.store(ns, Ordering::Relaxed));
        if self.records.fetch_add(came.records, Ordering::Relaxed) == 0 {
            put(&self.first);
        }
        put(&self.last);
        self.checksum.fetch_add(came.checksum, Ordering::Relaxed);
    }

    fn tally(&self) -> Tally {
        Tally { records: self.records.load(Ordering::Relaxed), checksum: self.checksum.load(Ordering::Relaxed) }
    }
}

fn cost_in([wall_ns, cpu_ns]: &[AtomicU64; 2]) -> Cost {
    Cost { wall_ns: wall_ns.load(Ordering::Relaxed), cpu_ns: cpu_ns.load(Ordering::Relaxed) }
}

/// Carries out a step in this process.
///
/// # Errors
/// When the job fails, or puts out something else than it should.
pub(crate) fn here(spec: &RestartSpec) -> anyhow::Result<RestartFound> {
    match spec.step {
        Step::Build => run_job(spec, Parallelism(1), Some(Duration::from_secs(1))),
        Step::Restart { parallelism } => run_job(spec, Parallelism(parallelism), None),
        Step::ReadFiles => read_files(&spec.root),
        Step::BuildTable => build_table(spec.records),
    }
}

fn run_job(spec: &RestartSpec, parallelism: Parallelism, interval: Option<Duration>) -> anyhow::Result<RestartFound> {
    let arrivals = Arc::new(Arrivals::new());
    let durability = stored::durability(&spec.root, interval)?;
    let graph = job::graph(spec.records, parallelism, &arrivals)?;
    let handle = runtime::start_durable(&graph, Arc::new(SystemClock::new()), &durability)?;
    epochs::wait(handle)?;
    let (_, resident_peak_bytes) = resident_bytes()?;
    let (found, expected) = (arrivals.tally(), spec.records.expected());
    ensure!(found == expected, "the job put out something else than it should: {found:?}, expected {expected:?}");
    let (first, last) = (cost_in(&arrivals.first), cost_in(&arrivals.last));
    let stored_bytes = stored_bytes(&spec.root)?;
    Ok(RestartFound { first, last, stored_bytes, resident_peak_bytes })
}

fn stored_bytes(root: &Path) -> anyhow::Result<u64> {
    let manifest = stored::newest_manifest(root)?;
    let files = stored::state_files(root, &manifest);
    files.iter().try_fold(0, |bytes, file| Ok(bytes + std::fs::metadata(file)?.len()))
}

fn read_files(root: &Path) -> anyhow::Result<RestartFound> {
    let files = stored::state_files(root, &stored::newest_manifest(root)?);
    let (read, cost) = cost_of(|| persist::read_files(&files));
    let (_, resident_peak_bytes) = resident_bytes()?;
    Ok(RestartFound { first: cost, last: cost, stored_bytes: read?, resident_peak_bytes })
}

fn build_table(records: Records) -> anyhow::Result<RestartFound> {
    let bytes = persist::encode((0..records.entries).map(|number| (key_of(number), MARK)))?;
    let (table, cost) = cost_of(|| persist::build_table(&bytes));
    ensure!(table?.len() as u64 == records.entries, "the bare loop built a table of another size");
    let (_, resident_peak_bytes) = resident_bytes()?;
    Ok(RestartFound { first: cost, last: cost, stored_bytes: bytes.len() as u64, resident_peak_bytes })
}

/// What the state holds under a key that was seen.
pub(crate) const MARK: Value = [7; VALUE_BYTES];

#[cfg(test)]
mod tests;
