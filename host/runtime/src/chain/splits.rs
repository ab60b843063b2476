//! The event times of the splits that one subtask of a source reads.

use std::sync::Arc;
use std::time::Duration;

use model::job::WatermarkSpec;
use model::{EventTime, RecordBatch, SplitIndex};
use protocol::event_clock::EventClock;

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
    clock: EventClock,
    has_splits: bool,
    /// How many times that are too far ahead were counted so far.
    counted: u64,
    metrics: Arc<SubtaskMetrics>,
}

impl SplitClocks {
    /// Clocks that stand where they stood when the splits were last read.
    pub(crate) fn new(clocks: Vec<(SplitIndex, EventTime)>, rules: Watermarks, metrics: Arc<SubtaskMetrics>) -> Self {
        let Watermarks { max_out_of_orderness, max_ahead } = rules;
        let spec = WatermarkSpec { max_out_of_orderness, max_ahead: max_ahead.unwrap_or(Duration::MAX) };
        let mut clock = EventClock::new(&spec);
        let has_splits = !clocks.is_empty();
        for (split, greatest) in clocks {
            clock.add(split, greatest);
        }
        Self { clock, has_splits, counted: 0, metrics }
    }

    /// Takes the times of a batch into account.
    pub(crate) fn note(&mut self, batch: &RecordBatch, context: &Context) {
        let now = context.control.clock().now();
        let mut from = 0;
        for run in batch.origins.runs() {
            let end = from + run.rows as usize;
            self.clock.observe(run.split, batch.timestamps.get(from..end).unwrap_or_default(), now);
            from = end;
        }
        let ahead = self.clock.ahead();
        self.metrics.count_faults(AHEAD, ahead - self.counted);
        self.counted = ahead;
    }

    /// The split has no more records now.
    pub(crate) fn end(&mut self, split: SplitIndex) {
        self.clock.end(split);
    }

    /// The greatest event time of a split.
    pub(crate) fn greatest(&self, split: SplitIndex) -> EventTime {
        self.clock.greatest(split)
    }

    /// No earlier event time is expected: the least over the splits. Unknown while one that goes on has had none.
    pub(crate) fn watermark(&mut self) -> EventTime {
        if self.has_splits { self.clock.watermark() } else { NO_SPLITS }
    }
}
