//! What leaves an output: decoded once, then handed to every edge.
//!
//! # Invariants
//! 1. A value is parsed at most once, for all edges together.
//! 2. A faulty row is dealt with once per edge that needs what is faulty, and passes where it is not.
//! 3. Rows keep their order on every edge.

use std::time::Duration;

use format::{Decoded, Decoder, Encoder, Fault};
use model::{Barrier, Cells, EventTime, FieldColumn, RecordBatch};

use super::context::{Bad, Context, Flow, Responsible, Wrong};
use super::edge::Edge;
use super::splits::SplitClocks;
use crate::batches::chunks;

/// The edges of an output that read one encoding of it.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    /// Writes the fields of pushed records; `None` where the output declares none.
    pub(crate) encoder: Option<Encoder>,
    pub(crate) decoder: Option<Decoder>,
    /// Where the event time of a source is among the cuts, and who answers for it.
    pub(crate) time: Option<(usize, Responsible)>,
    /// Follows the event times of the splits of a source; `None` where nobody asks.
    pub(crate) clocks: Option<SplitClocks>,
    pub(crate) edges: Vec<Edge>,
}

impl Lane {
    /// Opens what the edges need on the thread that will use it.
    pub(crate) fn open(&mut self) -> Flow {
        self.edges.iter_mut().try_for_each(Edge::open)
    }

    /// Sends records on. Returns what was none, for the source to account for.
    pub(crate) fn send(&mut self, batch: RecordBatch, context: &mut Context) -> Flow<Dropped> {
        let mut dropped = Dropped::default();
        for chunk in chunks(batch, context.limits.max_rows, context.limits.max_bytes) {
            let of_chunk = self.send_chunk(chunk, context)?;
            dropped.rows += of_chunk.rows;
            dropped.bytes += of_chunk.bytes;
        }
        Ok(dropped)
    }

    pub(crate) fn tick(&mut self, now: Duration, is_idle: bool, context: &mut Context) -> Flow {
        self.edges.iter_mut().try_for_each(|edge| edge.target.tick(now, is_idle, context))
    }

    /// Says to who reads it in other threads that nothing before `watermark` follows.
    pub(crate) fn watermark(&mut self, watermark: EventTime, context: &Context) {
        self.edges.iter_mut().for_each(|edge| edge.target.watermark(watermark, context));
    }

    /// Sends everything, and the barrier after it.
    pub(crate) fn barrier(&mut self, barrier: Barrier, context: &mut Context) -> Flow {
        self.edges.iter_mut().try_for_each(|edge| edge.target.barrier(barrier, context))
    }

    pub(crate) fn close(&mut self, context: &mut Context) -> Flow {
        self.edges.iter_mut().try_for_each(|edge| edge.close(context))
    }

    fn send_chunk(&mut self, mut batch: RecordBatch, context: &mut Context) -> Flow<Dropped> {
        if batch.is_empty() {
            return Ok(Dropped::default());
        }
        let Decoded { columns, faults } = match &mut self.decoder {
            Some(decoder) => decoder.decode(&batch.values),
            None => Decoded::default(),
        };
        let mut cut = CutColumns { columns: columns.into_iter().map(Some).collect(), faults };
        let dropped = match &self.time {
            Some((time, source)) => take_times(&mut batch, &mut cut, *time, source, context)?,
            None => Vec::new(),
        };
        if let Some(clocks) = &mut self.clocks {
            clocks.note(&batch, context);
        }
        let bytes_of = |row: &u32| batch.values.get(*row as usize).map_or(0, <[u8]>::len);
        let sum = Dropped { rows: dropped.len(), bytes: dropped.iter().map(bytes_of).sum() };
        let Some((last, others)) = self.edges.split_last_mut() else { return Ok(sum) };
        for edge in others {
            edge.accept(batch.clone(), &mut cut, &dropped, context)?;
        }
        last.accept(batch, &mut cut, &dropped, context)?;
        Ok(sum)
    }
}

/// What of a batch went no further, for every edge alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dropped {
    pub(crate) rows: usize,
    /// Bytes of their values.
    pub(crate) bytes: usize,
}

/// What was cut out of a chunk; a column leaves with its last user.
#[derive(Debug)]
pub(crate) struct CutColumns {
    columns: Vec<Option<FieldColumn>>,
    faults: Vec<Fault>,
}

impl CutColumns {
    pub(crate) fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// The column of a cut, for a user of it.
    pub(crate) fn take(&mut self, cut: CutUse) -> Option<FieldColumn> {
        let column = self.columns.get_mut(cut.cut)?;
        if cut.is_last { column.take() } else { column.clone() }
    }
}

/// A user of a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CutUse {
    pub(crate) cut: usize,
    /// Whether nobody uses it after.
    pub(crate) is_last: bool,
}

/// Gives the records their event time. Returns the rows that have none, dealt with as the source says.
fn take_times(
    batch: &mut RecordBatch,
    cut: &mut CutColumns,
    time: usize,
    source: &Responsible,
    context: &mut Context,
) -> Flow<Vec<u32>> {
    let column = cut.take(CutUse { cut: time, is_last: true });
    if let Some(FieldColumn { cells: Cells::Integers(times), .. }) = column {
        batch.timestamps = times.into_iter().map(EventTime).collect();
    }
    let mut dropped: Vec<u32> = Vec::new();
    for fault in cut.faults.iter().filter(|fault| fault.cut.is_none() || fault.cut == Some(time)) {
        if dropped.last() != Some(&fault.row) {
            if let Some(timestamp) = batch.timestamps.get_mut(fault.row as usize) {
                *timestamp = EventTime::UNKNOWN;
            }
            dropped.push(fault.row);
            source.deal(Bad::Record { batch, row: fault.row as usize, key: None }, &wrong(fault), context)?;
        }
    }
    Ok(dropped)
}

/// A fault of decoding, as what is wrong with the record.
pub(crate) fn wrong(fault: &Fault) -> Wrong {
    Wrong { code: fault.kind.code(), kind: fault.kind.name(), message: fault.message.clone() }
}
