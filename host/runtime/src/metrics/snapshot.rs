//! What an operator has done so far, summed over its subtasks.

use std::collections::BTreeMap;
use std::time::Duration;

use contract::StateStats;
use model::{OperatorUid, Parallelism};
use serde::Serialize;

/// What kind of operator it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OperatorKind {
    /// A source.
    Source,
    /// A function.
    Function,
    /// A sink.
    Sink,
    /// The sink of the dead letters.
    DeadLetters,
}

/// What one operator has done so far, all subtasks together.
///
/// Every record that reaches an operator is in `records_in`; of these, `dead_letters` and `skipped` went
/// no further.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OperatorSnapshot {
    /// The operator.
    pub uid: OperatorUid,
    /// What it is.
    pub kind: OperatorKind,
    /// Its subtasks.
    pub parallelism: Parallelism,
    /// Records that reached it, bad ones included.
    pub records_in: u64,
    /// Records it sent on, over all outputs; for a sink, records written.
    pub records_out: u64,
    /// Bytes of the values of `records_in`.
    pub bytes_in: u64,
    /// Bytes of the values of `records_out`.
    pub bytes_out: u64,
    /// Records sent on, by output.
    pub outputs: BTreeMap<String, u64>,
    /// Records it gave up on and kept.
    pub dead_letters: u64,
    /// Records it gave up on and dropped; empty lines too.
    pub skipped: u64,
    /// Bad records by reason, and by name what a source passed over on purpose.
    pub faults: BTreeMap<String, u64>,
    /// Calls of the function that failed, the search for the bad record included.
    pub failed_calls: u64,
    /// The function's own counters.
    pub counters: BTreeMap<String, f64>,
    /// The function's own gauges, summed over the subtasks.
    pub gauges: BTreeMap<String, f64>,
    /// Time spent working.
    #[serde(rename = "busy_seconds", serialize_with = "serialize_seconds")]
    pub busy: Duration,
    /// Time spent waiting for input.
    #[serde(rename = "idle_seconds", serialize_with = "serialize_seconds")]
    pub idle: Duration,
    /// Time spent waiting for a full queue.
    #[serde(rename = "backpressured_seconds", serialize_with = "serialize_seconds")]
    pub backpressured: Duration,
    /// Fuel used by the function.
    pub fuel_used: u64,
    /// Instances of the function made after the first.
    pub renewals: u64,
    /// Its timers.
    pub timers: TimerCounts,
    /// What its keyed state holds.
    #[serde(serialize_with = "serialize_state")]
    pub state: StateStats,
    /// Log lines of the function beyond what is let through.
    pub log_lines_dropped: u64,
}

/// The timers of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TimerCounts {
    /// How many were set.
    pub set: u64,
    /// How many fired, those given up on not among them.
    pub fired: u64,
    /// How many are pending now.
    pub pending: u64,
}

impl OperatorSnapshot {
    pub(crate) fn new(uid: OperatorUid, kind: OperatorKind, parallelism: Parallelism) -> Self {
        Self {
            uid,
            kind,
            parallelism,
            records_in: 0,
            records_out: 0,
            bytes_in: 0,
            bytes_out: 0,
            outputs: BTreeMap::new(),
            dead_letters: 0,
            skipped: 0,
            faults: BTreeMap::new(),
            failed_calls: 0,
            counters: BTreeMap::new(),
            gauges: BTreeMap::new(),
            busy: Duration::ZERO,
            idle: Duration::ZERO,
            backpressured: Duration::ZERO,
            fuel_used: 0,
            renewals: 0,
            timers: TimerCounts::default(),
            state: StateStats::default(),
            log_lines_dropped: 0,
        }
    }
}

/// What a job has done so far.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JobSnapshot {
    /// Time since it started.
    #[serde(rename = "uptime_seconds", serialize_with = "serialize_seconds")]
    pub uptime: Duration,
    /// Its operators: sources, functions, sinks, dead letters, each in the order of the graph.
    pub operators: Vec<OperatorSnapshot>,
}

impl JobSnapshot {
    /// The operator called `uid`.
    #[must_use]
    pub fn operator(&self, uid: &str) -> Option<&OperatorSnapshot> {
        self.operators.iter().find(|operator| operator.uid.as_str() == uid)
    }
}

/// Times as seconds: what every program reads.
pub(crate) fn serialize_seconds<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

fn serialize_state<S: serde::Serializer>(stats: &StateStats, serializer: S) -> Result<S::Ok, S::Error> {
    use serde::ser::SerializeStruct;
    let mut fields = serializer.serialize_struct("StateStats", 3)?;
    fields.serialize_field("live_entries", &stats.live_entries)?;
    fields.serialize_field("live_bytes", &stats.live_bytes)?;
    fields.serialize_field("memory_bytes", &stats.memory_bytes)?;
    fields.end()
}
