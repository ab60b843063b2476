//! The event times of the splits that one subtask of a source reads.
//!
//! # Invariants
//! 1. The clock of a split never falls.
//! 2. A time further ahead of the host than allowed moves nothing, and is counted.

use std::sync::Arc;

use model::{EventTime, RecordBatch, SplitIndex};

use super::context::Context;
use crate::graph::Watermarks;
use crate::metrics::SubtaskMetrics;

/// The name under which event times that are too far ahead are counted.
const AHEAD: &str = "event-time-ahead";

/// What a subtask that reads no split says: it holds no watermark back.
pub(crate) const NO_SPLITS: EventTime = EventTime(i64::MAX);

/// See the module.
#[derive(Debug)]
pub(crate) struct SplitClocks {
    clocks: Vec<(SplitIndex, EventTime)>,
    rules: Watermarks,
    metrics: Arc<SubtaskMetrics>,
}

impl SplitClocks {
    /// Clocks that stand where they stood when the splits were last read.
    pub(crate) fn new(clocks: Vec<(SplitIndex, EventTime)>, rules: Watermarks, metrics: Arc<SubtaskMetrics>) -> Self {
        Self { clocks, rules, metrics }
    }

    /// Takes the times of a batch into account.
    pub(crate) fn note(&mut self, batch: &RecordBatch, context: &Context) {
        let most = self.rules.max_ahead.map_or(EventTime(i64::MAX), |ahead| {
            let ahead = i64::try_from(ahead.as_millis()).unwrap_or(i64::MAX);
            EventTime(context.control.clock().now().0.saturating_add(ahead))
        });
        let mut from = 0;
        for run in batch.origins.runs() {
            let end = from + run.rows as usize;
            let times = batch.timestamps.get(from..end).unwrap_or_default();
            from = end;
            let Some(mut greatest) = times.iter().copied().max() else { continue };
            if greatest > most {
                self.metrics.count_faults(AHEAD, times.iter().filter(|time| **time > most).count() as u64);
                let allowed = times.iter().copied().filter(|time| *time <= most).max();
                greatest = allowed.unwrap_or(EventTime::UNKNOWN);
            }
            if let Some((_, clock)) = self.clocks.iter_mut().find(|(split, _)| *split == run.split) {
                *clock = (*clock).max(greatest);
            }
        }
    }

    /// The greatest event time of a split.
    pub(crate) fn greatest(&self, split: SplitIndex) -> EventTime {
        let found = self.clocks.iter().find(|(known, _)| *known == split);
        found.map_or(EventTime::UNKNOWN, |(_, clock)| *clock)
    }

    /// No earlier event time is expected: the least over the splits. Unknown while one has had none.
    pub(crate) fn watermark(&self) -> EventTime {
        let behind = i64::try_from(self.rules.max_out_of_orderness.as_millis()).unwrap_or(i64::MAX);
        let least = self.clocks.iter().map(|(_, clock)| *clock).min();
        least.map_or(NO_SPLITS, |time| EventTime(time.0.saturating_sub(behind)))
    }
}
