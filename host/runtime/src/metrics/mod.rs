//! What subtasks count. Atomics, written by one thread once per batch, read by anybody.

mod snapshot;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use contract::StateStats;
use model::{Descriptor, MetricKind};

pub(crate) use snapshot::serialize_seconds;
pub use snapshot::{JobSnapshot, OperatorKind, OperatorSnapshot, TimerCounts};

/// A counter of one writer.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    pub(crate) fn add_len(&self, amount: usize) {
        self.add(amount as u64);
    }

    pub(crate) fn add_time(&self, amount: Duration) {
        self.add(u64::try_from(amount.as_nanos()).unwrap_or(u64::MAX));
    }

    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn time(&self) -> Duration {
        Duration::from_nanos(self.get())
    }
}

/// A number of a function: a counter or a gauge.
#[derive(Debug)]
struct Custom {
    name: String,
    kind: MetricKind,
    bits: AtomicU64,
}

/// What one subtask counts.
#[derive(Debug, Default)]
pub(crate) struct SubtaskMetrics {
    pub(crate) records_in: Count,
    pub(crate) records_out: Count,
    pub(crate) bytes_in: Count,
    pub(crate) bytes_out: Count,
    pub(crate) dead_letters: Count,
    pub(crate) skipped: Count,
    pub(crate) failed_calls: Count,
    pub(crate) busy: Count,
    pub(crate) idle: Count,
    pub(crate) backpressured: Count,
    pub(crate) fuel_used: Count,
    pub(crate) renewals: Count,
    pub(crate) log_lines_dropped: Count,
    pub(crate) timers_set: Count,
    pub(crate) timers_fired: Count,
    pub(crate) timers_pending: Count,
    live_entries: Count,
    live_bytes: Count,
    memory_bytes: Count,
    /// Records sent on, by output.
    outputs: Vec<(String, Count)>,
    custom: Vec<Custom>,
    /// Touched when a record is bad, never otherwise.
    faults: Mutex<BTreeMap<&'static str, u64>>,
}

impl SubtaskMetrics {
    /// What a subtask of a function counts.
    pub(crate) fn for_function(descriptor: &Descriptor) -> Self {
        let outputs = descriptor.outputs.iter().map(|port| (port.name.clone(), Count::default()));
        let custom = descriptor.metrics.iter().map(|metric| Custom {
            name: metric.name.clone(),
            kind: metric.kind,
            bits: AtomicU64::new(0f64.to_bits()),
        });
        Self { outputs: outputs.collect(), custom: custom.collect(), ..Self::default() }
    }

    pub(crate) fn count_faults(&self, reason: &'static str, records: u64) {
        if records > 0 {
            let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
            *faults.entry(reason).or_default() += records;
        }
    }

    pub(crate) fn count_output(&self, output: usize, records: usize) {
        if let Some((_, count)) = self.outputs.get(output) {
            count.add_len(records);
        }
    }

    /// Adds to a counter of the function, or sets a gauge of it.
    pub(crate) fn record_custom(&self, metric: usize, value: f64) {
        let Some(custom) = self.custom.get(metric) else { return };
        let new = match custom.kind {
            MetricKind::Counter => f64::from_bits(custom.bits.load(Ordering::Relaxed)) + value,
            MetricKind::Gauge => value,
        };
        custom.bits.store(new.to_bits(), Ordering::Relaxed);
    }

    pub(crate) fn note_state(&self, stats: StateStats) {
        self.live_entries.set(stats.live_entries);
        self.live_bytes.set(stats.live_bytes);
        self.memory_bytes.set(stats.memory_bytes);
    }

    /// Adds what this subtask counted to its operator's sum.
    pub(crate) fn add_to(&self, sum: &mut OperatorSnapshot) {
        sum.records_in += self.records_in.get();
        sum.records_out += self.records_out.get();
        sum.bytes_in += self.bytes_in.get();
        sum.bytes_out += self.bytes_out.get();
        sum.dead_letters += self.dead_letters.get();
        sum.skipped += self.skipped.get();
        sum.failed_calls += self.failed_calls.get();
        sum.busy += self.busy.time();
        sum.idle += self.idle.time();
        sum.backpressured += self.backpressured.time();
        sum.fuel_used += self.fuel_used.get();
        sum.renewals += self.renewals.get();
        sum.log_lines_dropped += self.log_lines_dropped.get();
        sum.timers.set += self.timers_set.get();
        sum.timers.fired += self.timers_fired.get();
        sum.timers.pending += self.timers_pending.get();
        sum.state.live_entries += self.live_entries.get();
        sum.state.live_bytes += self.live_bytes.get();
        sum.state.memory_bytes += self.memory_bytes.get();
        for (name, count) in &self.outputs {
            *sum.outputs.entry(name.clone()).or_default() += count.get();
        }
        for custom in &self.custom {
            let value = f64::from_bits(custom.bits.load(Ordering::Relaxed));
            let of_kind = match custom.kind {
                MetricKind::Counter => &mut sum.counters,
                MetricKind::Gauge => &mut sum.gauges,
            };
            *of_kind.entry(custom.name.clone()).or_default() += value;
        }
        for (reason, count) in self.faults.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            *sum.faults.entry((*reason).to_owned()).or_default() += count;
        }
    }
}
