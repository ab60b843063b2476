//! When records look at state: what has expired for one record of a batch may be there for another.
//!
//! A function is given a batch only if for each key all its records see the same. Where they would not, the batch is
//! cut at the first record that sees otherwise, and what came before is applied before the rest is asked about. So
//! the verdict on a record depends on its own event time, not on its neighbours or the batch size.
//!
//! # Invariants
//! 1. A function without state that expires by event time pays nothing for this.
//! 2. No record without event time reaches a function with such state: it meets `on_error`.

use std::mem;
use std::sync::Arc;

use contract::{LookTimes, SlotKeys};
use model::{EventTime, HostTime, InputId, RecordBatch, SlotIndex};

use super::context::{Bad, Context, Flow, Wrong};
use super::function::{FunctionOperator, Rows};
use super::slots::restore;
use crate::batches::rows_without;

/// After a cut so many rows are looked at, at least: few enough that records which see otherwise again and again do
/// not make work that grows with the square of the batch.
const LEAST_AHEAD: usize = 64;

/// The slots of a batch that sees the same throughout, for the turn that is made of it.
#[derive(Debug)]
pub(crate) struct Prepared {
    slots: Vec<u32>,
    keys: Arc<SlotKeys>,
}

/// What is needed to find cuts, reused from batch to batch.
#[derive(Debug, Default)]
pub(crate) struct Cutter {
    which: Vec<SlotIndex>,
    changes: Vec<Option<EventTime>>,
    /// For each slot the time at which its view changes, and whether its first row is beyond it.
    sides: Vec<Option<(EventTime, Option<bool>)>>,
}

impl FunctionOperator {
    /// As [`FunctionOperator::process`], in parts of which each sees the same throughout.
    pub(super) fn process_by_time(&mut self, input: InputId, batch: RecordBatch, context: &mut Context) -> Flow {
        let mut batch = self.without_timeless(batch, context)?;
        let rows = batch.len();
        let mut from = 0;
        let mut ahead = rows;
        while from < rows {
            let to = rows.min(from.saturating_add(ahead));
            let is_whole = from == 0 && to == rows;
            let mut part = if is_whole { mem::take(&mut batch) } else { select(&batch, from, to) };
            let same = self.rows_that_see_the_same(&mut part)?;
            if same == to - from {
                self.process_part(Rows::records(input), part, context)?;
                ahead = ahead.saturating_mul(2);
            } else {
                let head = select(&part, 0, same);
                if is_whole {
                    batch = part;
                }
                self.process_part(Rows::records(input), head, context)?;
                ahead = LEAST_AHEAD.max(same * 2);
            }
            from += same;
        }
        Ok(())
    }

    /// The records with event time; the others are dealt with.
    fn without_timeless(&mut self, batch: RecordBatch, context: &mut Context) -> Flow<RecordBatch> {
        let timeless = (0u32..).zip(&batch.timestamps).filter(|(_, time)| **time == EventTime::UNKNOWN);
        let timeless: Vec<u32> = timeless.map(|(row, _)| row).collect();
        if timeless.is_empty() {
            return Ok(batch);
        }
        let message = "the record has no event time: expected one, since state of the function expires by it";
        let wrong = Wrong { code: "E0517", kind: "no-event-time", message: message.to_owned() };
        for &row in &timeless {
            let row = row as usize;
            let key = batch.routing.as_ref().filter(|routing| row < routing.keys.len());
            let key = key.map(|routing| routing.keys.get(row));
            self.responsible.deal(Bad::Record { batch: &batch, row, key }, &wrong, context)?;
        }
        Ok(batch.select(&rows_without(batch.len(), &timeless)))
    }

    /// How many of the first rows of `part` see the same, at least one. Where all do, their slots are kept for the
    /// turn, and the keys are no longer in `part`.
    fn rows_that_see_the_same(&mut self, part: &mut RecordBatch) -> Flow<usize> {
        let rows = part.len();
        let (Some(routing), Some(state)) = (&mut part.routing, &mut self.turn.state) else { return Ok(rows) };
        let mut slots = mem::take(&mut self.turn.batch.slots);
        let mut keys = self.slots.assign(routing, &mut slots);
        let mut end = rows;
        loop {
            let of_part = (slots.get(..end).unwrap_or_default(), part.timestamps.get(..end).unwrap_or_default());
            let own = Arc::make_mut(&mut keys);
            look(&mut own.looks, own.hashes.len(), of_part.0, of_part.1, self.now);
            let Cutter { which, changes, sides } = &mut self.cutter;
            which.clear();
            let spans = (0u32..).zip(own.looks.earliest.iter().zip(&own.looks.latest));
            which.extend(spans.filter(|(_, (earliest, latest))| earliest < latest).map(|(slot, _)| SlotIndex(slot)));
            changes.clear();
            if !which.is_empty() {
                state.changes(&keys, which, changes).map_err(|error| self.responsible.seam(&error))?;
            }
            if changes.iter().all(Option::is_none) {
                break;
            }
            sides.clear();
            sides.resize(keys.hashes.len(), None);
            for (slot, change) in which.iter().zip(changes.iter()) {
                if let Some(side) = sides.get_mut(slot.0 as usize) {
                    *side = change.map(|at| (at, None));
                }
            }
            match first_that_sees_otherwise(of_part.0, of_part.1, sides) {
                Some(row) => end = row,
                None => break,
            }
        }
        if end == rows {
            self.prepared = Some(Prepared { slots, keys });
        } else {
            restore(routing, &keys, rows);
            self.turn.batch.slots = slots;
        }
        Ok(end)
    }

    /// Gives the rows of `whole` their keys back, if they were taken for a turn that is not made.
    pub(super) fn unprepare(&mut self, whole: &mut RecordBatch) {
        if let Some(Prepared { slots, keys }) = self.prepared.take() {
            if let Some(routing) = &mut whole.routing {
                restore(routing, &keys, whole.timestamps.len());
            }
            self.turn.batch.slots = slots;
        }
    }

    /// The slots of `part`, and its keys with the times at which they are looked at.
    pub(super) fn slots_of(&mut self, part: &mut RecordBatch) -> (Vec<u32>, Arc<SlotKeys>) {
        if let Some(Prepared { slots, keys }) = self.prepared.take() {
            return (slots, keys);
        }
        let mut slots = mem::take(&mut self.turn.batch.slots);
        slots.clear();
        let Some(routing) = part.routing.as_mut().filter(|_| self.is_keyed) else { return (slots, Arc::default()) };
        let mut keys = self.slots.assign(routing, &mut slots);
        let own = Arc::make_mut(&mut keys);
        if self.looks_by_event_time {
            look(&mut own.looks, own.hashes.len(), &slots, &part.timestamps, self.now);
        } else {
            own.looks.now = self.now;
        }
        (slots, keys)
    }
}

fn select(batch: &RecordBatch, from: usize, to: usize) -> RecordBatch {
    let rows: Vec<u32> = (0u32..).take(to).skip(from).collect();
    batch.select(&rows)
}

/// The times at which rows of these slots look; a slot without rows looks at no time.
fn look(looks: &mut LookTimes, count: usize, slots: &[u32], times: &[EventTime], now: HostTime) {
    looks.now = now;
    looks.earliest.clear();
    looks.earliest.resize(count, EventTime(i64::MAX));
    looks.latest.clear();
    looks.latest.resize(count, EventTime(i64::MIN));
    for (&slot, &time) in slots.iter().zip(times) {
        if let Some(earliest) = looks.earliest.get_mut(slot as usize) {
            *earliest = time.min(*earliest);
        }
        if let Some(latest) = looks.latest.get_mut(slot as usize) {
            *latest = time.max(*latest);
        }
    }
}

/// The first row that stands on another side of its slot's change than the first row of the slot.
fn first_that_sees_otherwise(
    slots: &[u32],
    times: &[EventTime],
    sides: &mut [Option<(EventTime, Option<bool>)>],
) -> Option<usize> {
    slots.iter().zip(times).position(|(&slot, &time)| {
        let Some(Some((change, first))) = sides.get_mut(slot as usize) else { return false };
        let is_beyond = time >= *change;
        *first.get_or_insert(is_beyond) != is_beyond
    })
}

#[cfg(test)]
mod tests;
