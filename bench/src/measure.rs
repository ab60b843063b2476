//! Clocks and memory of this process.

use std::fs;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use serde::{Deserialize, Serialize};

/// What a stretch of work cost.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Cost {
    /// Wall-clock time.
    pub(crate) wall_ns: u64,
    /// CPU time of every thread of the process, those that ended included.
    pub(crate) cpu_ns: u64,
}

/// Runs since it was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch {
    started: Instant,
    cpu_started: ProcessTime,
}

impl Stopwatch {
    /// Begins.
    pub(crate) fn start() -> Self {
        Self { started: Instant::now(), cpu_started: ProcessTime::now() }
    }

    /// What was spent so far.
    pub(crate) fn cost(&self) -> Cost {
        let cpu = self.cpu_started.elapsed();
        let wall = self.started.elapsed();
        Cost { wall_ns: nanos(wall), cpu_ns: nanos(cpu) }
    }
}

/// Runs `work` and says what it cost.
pub(crate) fn cost_of<T>(work: impl FnOnce() -> T) -> (T, Cost) {
    let watch = Stopwatch::start();
    let result = work();
    (result, watch.cost())
}

/// Nanoseconds, for a report.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).expect("a run ends within centuries")
}

/// Resident memory of this process, in bytes: now, and at its highest.
pub(crate) fn resident_bytes() -> anyhow::Result<(u64, u64)> {
    let status = fs::read_to_string("/proc/self/status")?;
    let kib_of = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|rest| rest.split_whitespace().next());
        number.and_then(|number| number.parse::<u64>().ok()).unwrap_or(0)
    };
    Ok((kib_of("VmRSS:") * 1024, kib_of("VmHWM:") * 1024))
}
