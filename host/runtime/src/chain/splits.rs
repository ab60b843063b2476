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

/// Where the event time of a split stood when it was last read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SplitClock {
    pub(crate) split: SplitIndex,
    pub(crate) greatest: EventTime,
    /// Whether nothing followed then.
    pub(crate) ended: bool,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct SplitClocks {
    clock: EventClock,
    splits: Vec<SplitIndex>,
    /// Whether it is known how far records are out of order.
    is_declared: bool,
    /// How many times that are too far ahead were counted so far.
    counted: u64,
    metrics: Arc<SubtaskMetrics>,
}

impl SplitClocks {
    /// Clocks that stand where they stood when the splits were last read.
    pub(crate) fn new(clocks: Vec<SplitClock>, rules: Watermarks, metrics: Arc<SubtaskMetrics>) -> Self {
        let Watermarks { max_out_of_orderness, max_ahead } = rules;
        let spec = WatermarkSpec { max_out_of_orderness, max_ahead: max_ahead.unwrap_or(Duration::MAX) };
        let mut clock = EventClock::new(&spec);
        let splits = clocks.iter().map(|known| known.split).collect();
        for known in clocks {
            clock.add(known.split, known.greatest);
            if known.ended {
                clock.end(known.split);
            }
        }
        Self { clock, splits, is_declared: rules.are_declared(), counted: 0, metrics }
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

    /// No earlier event time is expected: the least over the splits. Unknown while one that goes on has had none; who
    /// reads no split holds nothing back.
    pub(crate) fn watermark(&mut self) -> EventTime {
        if self.splits.is_empty() { EventTime::END } else { self.clock.watermark() }
    }

    /// What is said in band: the same, where it is declared how far records are out of order. `has_ended` knows of
    /// which splits nothing follows for now.
    pub(crate) fn said(&mut self, has_ended: impl Fn(SplitIndex) -> bool) -> EventTime {
        if !self.is_declared {
            return EventTime::UNKNOWN;
        }
        for &split in self.splits.iter().filter(|split| has_ended(**split)) {
            self.clock.end(split);
        }
        self.watermark()
    }
}
