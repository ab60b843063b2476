//! The way out of a chain: into one queue, or into those of all subtasks of an operator.

use std::time::Duration;

use model::{Barrier, EventTime, InputId, RecordBatch, StreamElement, SubtaskIndex};
use protocol::batching::{self, Gathered};
use protocol::key_group::group_of;
use protocol::queue_bound::LEAST_BYTES;

use super::context::{Context, Delivery, Flow, Responsible, Stop};
use crate::batches::{chunks, compact, concatenate};
use crate::queue::Sender;

/// A batch of this share of the full rows or bytes is sent as it is; smaller ones are gathered, which
/// copies their values.
const WORTH_SENDING: usize = 8;

/// What a watermark weighs in a queue: about what it takes, so that no number of them is free.
const WATERMARK_BYTES: usize = 64;

/// One queue, and what is being gathered for it.
#[derive(Debug)]
pub(crate) struct Outlet {
    sender: Sender<StreamElement>,
    batches: Vec<RecordBatch>,
    gathered: Gathered,
    /// A watermark that follows what is gathered.
    watermark: Option<EventTime>,
    since: Duration,
}

impl Outlet {
    pub(crate) fn new(sender: Sender<StreamElement>) -> Self {
        Self { sender, batches: Vec::new(), gathered: Gathered::default(), watermark: None, since: Duration::ZERO }
    }

    /// Takes a batch; sends it, or gathers it with others.
    pub(crate) fn push(&mut self, batch: RecordBatch, context: &mut Context) -> Flow {
        if batch.is_empty() {
            return Ok(());
        }
        // What waits must not keep much more alive than it weighs.
        let batch = compact(batch);
        let bytes = batch.weight_bytes();
        let is_worth_sending =
            batch.len() >= context.limits.max_rows / WORTH_SENDING || bytes >= context.limits.max_bytes / WORTH_SENDING;
        if is_worth_sending {
            self.flush(context)?;
            return self.put_batch(batch, bytes, context);
        }
        if self.batches.is_empty() {
            self.since = context.elapsed();
        }
        self.gathered.rows += batch.len();
        self.gathered.bytes += bytes;
        self.batches.push(batch);
        self.close_if_due(self.since, false, context)
    }

    /// Sends what is gathered if it is old enough, or nothing more is coming now.
    pub(crate) fn tick(&mut self, now: Duration, is_idle: bool, context: &mut Context) -> Flow {
        self.close_if_due(now, is_idle, context)
    }

    /// Sends a watermark after what is gathered, with it or when it would be sent.
    pub(crate) fn watermark(&mut self, watermark: EventTime, context: &Context) {
        if self.batches.is_empty() && self.watermark.is_none() {
            self.since = context.elapsed();
        }
        self.watermark = Some(watermark);
    }

    /// Sends everything, and the barrier after it.
    pub(crate) fn barrier(&mut self, barrier: Barrier, context: &mut Context) -> Flow {
        self.flush(context)?;
        self.put(StreamElement::Barrier(barrier), 0, context)
    }

    /// Sends everything, and that nothing follows.
    pub(crate) fn close(&mut self, context: &mut Context) -> Flow {
        self.flush(context)?;
        self.put(StreamElement::EndOfInput, 0, context)
    }

    fn close_if_due(&mut self, now: Duration, is_idle: bool, context: &mut Context) -> Flow {
        self.gathered.age = now.saturating_sub(self.since);
        if self.batches.is_empty() {
            let is_due = self.watermark.is_some() && (is_idle || self.gathered.age >= context.limits.max_age);
            return if is_due { self.flush(context) } else { Ok(()) };
        }
        match batching::close(&context.limits, &self.gathered, is_idle) {
            Some(_) => self.flush(context),
            None => Ok(()),
        }
    }

    fn flush(&mut self, context: &mut Context) -> Flow {
        if !self.batches.is_empty() {
            self.gathered = Gathered::default();
            let batch = concatenate(std::mem::take(&mut self.batches));
            let weight = batch.weight_bytes();
            self.put_batch(batch, weight, context)?;
        }
        match self.watermark.take() {
            Some(watermark) => self.put(StreamElement::Watermark(watermark), WATERMARK_BYTES, context),
            None => Ok(()),
        }
    }

    /// Sends a batch; to a slow receiver in pieces, since a barrier waits for the one in hand as well.
    fn put_batch(&mut self, batch: RecordBatch, weight: usize, context: &mut Context) -> Flow {
        let piece_bytes = self.sender.bound_bytes().max(LEAST_BYTES);
        if weight <= 2 * piece_bytes {
            return self.put(StreamElement::Batch(batch), weight, context);
        }
        for piece in chunks(batch, context.limits.max_rows, piece_bytes) {
            let piece = compact(piece);
            let weight = piece.weight_bytes();
            self.put(StreamElement::Batch(piece), weight, context)?;
        }
        Ok(())
    }

    fn put(&mut self, element: StreamElement, weight: usize, context: &mut Context) -> Flow {
        let has_room = self.sender.has_room(weight);
        let started = if has_room { Duration::ZERO } else { context.elapsed() };
        let sent = self.sender.send(element, weight, &context.control);
        if !has_room {
            context.blocked += context.elapsed().saturating_sub(started);
        }
        sent.map_err(|_| Stop::Quiet)
    }
}

/// Where the records of an edge go.
#[derive(Debug)]
pub(crate) enum Target {
    /// To an operator of the same chain.
    Local { operator: usize, input: InputId },
    /// To one subtask of another.
    Forward(Outlet),
    /// To each subtask of another in turn.
    Rotate { outlets: Vec<Outlet>, next: usize },
    /// To the subtask that owns the key group of the record.
    Exchange(Exchange),
}

/// A repartitioning edge, by key.
#[derive(Debug)]
pub(crate) struct Exchange {
    outlets: Vec<Outlet>,
    /// The owner of each key group.
    owners: Vec<SubtaskIndex>,
    groups: u16,
    /// The rows of each subtask, reused.
    rows: Vec<Vec<u32>>,
}

impl Exchange {
    /// `owners` has one entry for each of the key groups, below the number of outlets.
    pub(crate) fn new(outlets: Vec<Outlet>, owners: Vec<SubtaskIndex>) -> Self {
        let groups = u16::try_from(owners.len()).expect("key groups are counted in 16 bits");
        let rows = outlets.iter().map(|_| Vec::new()).collect();
        Self { outlets, owners, groups, rows }
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "a group is below the number of owners, an owner below that of outlets"
    )]
    fn split(&mut self, batch: RecordBatch, consumer: &Responsible, context: &mut Context) -> Flow {
        let Some(routing) = &batch.routing else {
            return Err(consumer.broken("a batch for a keyed function came without keys"));
        };
        for rows in &mut self.rows {
            rows.clear();
        }
        for (row, &hash) in (0u32..).zip(&routing.hashes) {
            let owner = self.owners[usize::from(group_of(hash, self.groups).0)];
            self.rows[owner.0 as usize].push(row);
        }
        if let Some(only) = self.rows.iter().position(|rows| rows.len() == batch.len()) {
            return self.outlets[only].push(batch, context);
        }
        for (rows, outlet) in self.rows.iter().zip(&mut self.outlets) {
            if !rows.is_empty() {
                outlet.push(batch.select(rows), context)?;
            }
        }
        Ok(())
    }
}

impl Target {
    /// Sends a batch on to `consumer`.
    pub(crate) fn deliver(&mut self, batch: RecordBatch, consumer: &Responsible, context: &mut Context) -> Flow {
        if batch.is_empty() {
            return Ok(());
        }
        match self {
            Self::Local { operator, input } => {
                context.pending.push_back(Delivery { operator: *operator, input: *input, batch });
                Ok(())
            }
            Self::Forward(outlet) => outlet.push(batch, context),
            Self::Rotate { outlets, next } => {
                let turn = *next % outlets.len().max(1);
                *next = turn + 1;
                let outlet = outlets.get_mut(turn).ok_or_else(|| consumer.broken("an edge leads to no subtask"))?;
                outlet.push(batch, context)
            }
            Self::Exchange(exchange) => exchange.split(batch, consumer, context),
        }
    }

    pub(crate) fn tick(&mut self, now: Duration, is_idle: bool, context: &mut Context) -> Flow {
        self.outlets().iter_mut().try_for_each(|outlet| outlet.tick(now, is_idle, context))
    }

    pub(crate) fn watermark(&mut self, watermark: EventTime, context: &Context) {
        self.outlets().iter_mut().for_each(|outlet| outlet.watermark(watermark, context));
    }

    pub(crate) fn barrier(&mut self, barrier: Barrier, context: &mut Context) -> Flow {
        self.outlets().iter_mut().try_for_each(|outlet| outlet.barrier(barrier, context))
    }

    pub(crate) fn close(&mut self, context: &mut Context) -> Flow {
        self.outlets().iter_mut().try_for_each(|outlet| outlet.close(context))
    }

    fn outlets(&mut self) -> &mut [Outlet] {
        match self {
            Self::Local { .. } => &mut [],
            Self::Forward(outlet) => std::slice::from_mut(outlet),
            Self::Rotate { outlets, .. } => outlets,
            Self::Exchange(exchange) => &mut exchange.outlets,
        }
    }
}
