//! The head of a chain that reads.

use std::collections::BTreeMap;
use std::time::Duration;

use contract::{Polled, SourceReader};
use format::Format;
use model::{Barrier, Epoch, EventTime, RecordBatch, SourceId};

use super::barriers::Arrival;
use super::context::{Bad, Context, Flow, Responsible, Wrong};
use super::lane::Lane;
use super::splits::SplitClocks;
use crate::batches::rows_without;
use crate::epochs::handed::{HandedPart, SplitNow};
use crate::epochs::link::Message;

/// The name under which empty lines are counted.
const EMPTY_LINES: &str = "empty-lines";

/// The reader's own counters are looked at once in so many polls: they are for people.
const POLLS_PER_LOOK: u32 = 32;

/// The longest wait of an idle source before it looks again, whatever it asked for: bounds how late a
/// source that was wrong about its rest notices.
pub(crate) const LONGEST_REST: Duration = Duration::from_secs(1);

/// See the module.
pub(crate) struct SourceHead {
    pub(crate) responsible: Responsible,
    id: SourceId,
    reader: Box<dyn SourceReader>,
    /// Whether empty values are none: so for formats in which no record is empty.
    skips_empty: bool,
    lane: Lane,
    /// What the reader has passed over so far, by name.
    passed_over: BTreeMap<&'static str, u64>,
    polls_until_look: u32,
    /// The last watermark that was said.
    said: EventTime,
    /// The last epoch whose barrier was sent.
    sent: Epoch,
    /// Whether the reader came to its end.
    is_at_end: bool,
    /// Whether nothing more is read, and the coordinator knows.
    has_stopped: bool,
}

/// What a source does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Read.
    Poll,
    /// Send the barrier of an epoch.
    Barrier(Epoch),
    /// Nothing for now: there is nothing to read, or no room for what would come of it.
    Rest,
    /// End.
    End,
}

/// What a poll came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Something was read.
    Some,
    /// Nothing now; ask again after this long.
    Idle(Duration),
    /// Nothing any more.
    End,
}

impl SourceHead {
    pub(crate) fn new(
        responsible: Responsible,
        id: SourceId,
        reader: Box<dyn SourceReader>,
        format: &Format,
        lane: Lane,
    ) -> Self {
        Self {
            responsible,
            id,
            reader,
            skips_empty: *format != Format::Raw,
            lane,
            passed_over: BTreeMap::new(),
            polls_until_look: 0,
            said: EventTime::UNKNOWN,
            sent: Epoch(0),
            is_at_end: false,
            has_stopped: false,
        }
    }

    /// A source of a job that goes on after `restored`.
    pub(crate) fn after(self, restored: Epoch) -> Self {
        Self { sent: restored, ..self }
    }

    /// What to do next. In a job without checkpoints a source reads until it is told to stop.
    pub(crate) fn next(&mut self, context: &Context) -> Next {
        let is_draining = context.control.is_draining();
        let Some(epochs) = &context.epochs else {
            if is_draining {
                context.control.note_cut_short();
                return Next::End;
            }
            return Next::Poll;
        };
        if let Some(epoch) = epochs.due(self.sent) {
            return Next::Barrier(epoch);
        }
        if !self.has_stopped && (self.is_at_end || is_draining) {
            if !self.is_at_end {
                context.control.note_cut_short();
            }
            self.has_stopped = true;
            epochs.tell(Message::SourceStopped);
        }
        match self.has_stopped {
            true if epochs.may_end() => Next::End,
            true => Next::Rest,
            false if epochs.is_full() => Next::Rest,
            false => Next::Poll,
        }
    }

    /// Hands over where it stands and sends the barrier of `epoch`.
    pub(crate) fn barrier(&mut self, epoch: Epoch, arrival: Arrival, context: &mut Context) -> Flow<Barrier> {
        self.sent = epoch;
        let mut splits = Vec::new();
        for (split, position) in self.reader.positions() {
            let identity = self.reader.identity(split).map_err(|error| self.responsible.seam(&error))?;
            let ended = self.is_at_end || self.reader.has_ended(split);
            let mut greatest_event_time = EventTime::UNKNOWN;
            if let Some(clocks) = &mut self.lane.clocks {
                greatest_event_time = clocks.greatest(split);
                if ended {
                    clocks.end(split);
                }
            }
            splits.push(SplitNow { split, position, identity, greatest_event_time, ended });
        }
        let watermark = self.lane.clocks.as_mut().map_or(EventTime::UNKNOWN, SplitClocks::watermark);
        let barrier = Barrier { epoch, watermark };
        self.responsible.hand_over(barrier, arrival, arrival.arrived, HandedPart::Source(splits), context);
        self.lane.barrier(barrier, context)?;
        Ok(barrier)
    }

    /// Says how far event time has come, where it has come further: it was read to here, and where the input ended by
    /// itself, to the end of all time.
    pub(crate) fn raise(&mut self, context: &Context) -> Option<EventTime> {
        let watermark = match &mut self.lane.clocks {
            _ if self.is_at_end => EventTime::END,
            Some(clocks) => clocks.said(|split| self.reader.has_ended(split)),
            None => return None,
        };
        if watermark <= self.said {
            return None;
        }
        self.said = watermark;
        self.lane.watermark(watermark, context);
        Some(watermark)
    }

    /// Reads once and sends on what came.
    pub(crate) fn poll(&mut self, context: &mut Context) -> Flow<Progress> {
        if self.polls_until_look == 0 {
            self.count_passed_over();
            self.polls_until_look = POLLS_PER_LOOK;
        }
        self.polls_until_look -= 1;
        let polled = self.reader.poll(context.limits.max_rows, context.limits.max_bytes);
        match polled.map_err(|error| self.responsible.seam(&error))? {
            Polled::Batch(batch) => {
                self.send(batch, context)?;
                Ok(Progress::Some)
            }
            Polled::Rejected(rejected) => {
                let metrics = &self.responsible.metrics;
                metrics.records_in.add(1);
                metrics.bytes_in.add(rejected.length_bytes);
                let wrong = Wrong { code: "E0516", kind: rejected.reason, message: rejected.message.clone() };
                self.responsible.deal(Bad::Rejected(&rejected, self.id), &wrong, context)?;
                Ok(Progress::Some)
            }
            Polled::Idle(rest) => Ok(Progress::Idle(rest.min(LONGEST_REST))),
            Polled::End => {
                self.is_at_end = true;
                Ok(Progress::End)
            }
        }
    }

    pub(crate) fn tick(&mut self, now: Duration, is_idle: bool, context: &mut Context) -> Flow {
        self.lane.tick(now, is_idle, context)
    }

    /// Says where reading ended, and that nothing follows.
    pub(crate) fn close(&mut self, context: &mut Context) -> Flow {
        self.count_passed_over();
        context.registry.note_positions(self.id, self.reader.positions());
        self.lane.close(context)
    }

    /// Takes over what the reader passed over on purpose since the last look.
    fn count_passed_over(&mut self) {
        for (name, count) in self.reader.counters() {
            let known = self.passed_over.entry(name).or_default();
            let new = count.saturating_sub(*known);
            *known += new;
            self.responsible.metrics.count_faults(name, new);
            // An empty line stands where a record may; what else is passed over never was one.
            if name == EMPTY_LINES {
                self.responsible.metrics.skipped.add(new);
                self.responsible.metrics.records_in.add(new);
            }
        }
    }

    fn send(&mut self, mut batch: RecordBatch, context: &mut Context) -> Flow {
        debug_assert!(batch.is_consistent(), "a source fills every column of a batch");
        let metrics = std::sync::Arc::clone(&self.responsible.metrics);
        let bytes = batch.values.total_bytes();
        metrics.records_in.add_len(batch.len());
        metrics.bytes_in.add_len(bytes);
        if self.skips_empty {
            batch = self.without_empty(batch);
        }
        let rows = batch.len();
        let dropped = self.lane.send(batch, context)?;
        metrics.records_out.add_len(rows - dropped.rows);
        metrics.bytes_out.add_len(bytes - dropped.bytes);
        Ok(())
    }

    /// The batch without its empty values, which are counted.
    fn without_empty(&self, batch: RecordBatch) -> RecordBatch {
        let spans = batch.values.spans();
        if !spans.iter().any(|span| span.is_empty() && *span != model::Span::ABSENT) {
            return batch;
        }
        let is_empty = |span: &model::Span| span.is_empty() && *span != model::Span::ABSENT;
        let empty: Vec<u32> = (0u32..).zip(spans).filter(|(_, span)| is_empty(span)).map(|(row, _)| row).collect();
        self.responsible.metrics.count_faults(EMPTY_LINES, empty.len() as u64);
        self.responsible.metrics.skipped.add_len(empty.len());
        batch.select(&rows_without(batch.len(), &empty))
    }
}
