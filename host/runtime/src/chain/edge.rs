//! The way from an output to one consumer: what the consumer cannot be given meets its `on_error`, the
//! rest is given its key and fields and leaves for its subtask.

use format::FaultKind;
use model::{Cells, Column, FieldColumn, OptionalColumn, RecordBatch, Routing};
use protocol::key_group;

use super::assign::Assigner;
use super::context::{Bad, Context, Flow, Responsible, Wrong};
use super::lane::{CutColumns, CutUse, wrong};
use super::outlet::Target;
use crate::batches::rows_without;
use crate::cuts::ConsumerCuts;

/// Where the partition key of an edge comes from.
#[derive(Debug)]
pub(crate) enum EdgeKey {
    /// Nowhere: the consumer is not keyed.
    None,
    /// It is cut out of the value.
    Cut(CutUse),
    /// It is the key the record came with.
    RecordKey,
    /// It is the value.
    WholeValue,
    /// The consumer assigns it.
    Assigned(Box<Assigner>),
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Edge {
    /// The consumer, as far as it answers for records it cannot be given.
    pub(crate) consumer: Responsible,
    pub(crate) key: EdgeKey,
    pub(crate) cuts: ConsumerCuts,
    pub(crate) fields: Vec<CutUse>,
    pub(crate) target: Target,
}

impl Edge {
    /// Opens what it needs on the thread that will use it.
    pub(crate) fn open(&mut self) -> Flow {
        match &mut self.key {
            EdgeKey::Assigned(assigner) => assigner.open(&self.consumer),
            _ => Ok(()),
        }
    }

    /// Sends everything, and that nothing follows.
    pub(crate) fn close(&mut self, context: &mut Context) -> Flow {
        if let EdgeKey::Assigned(assigner) = &mut self.key {
            assigner.close();
        }
        self.target.close(context)
    }

    /// Takes a batch of the output; `dropped` rows are none of its business.
    pub(crate) fn accept(
        &mut self,
        mut batch: RecordBatch,
        cut: &mut CutColumns,
        dropped: &[u32],
        context: &mut Context,
    ) -> Flow {
        let fields: Option<Vec<_>> = self.fields.iter().map(|field| cut.take(*field)).collect();
        batch.fields = fields.ok_or_else(|| self.consumer.broken("a field of the function was not cut"))?;
        batch.routing = None;
        let mut lost = dropped.to_vec();
        self.deal_with_faults(&batch, cut, dropped, &mut lost, context)?;
        let keys = match &mut self.key {
            EdgeKey::None => None,
            EdgeKey::Cut(key) => {
                let keys = cut.take(*key).and_then(into_keys);
                Some(keys.ok_or_else(|| self.consumer.broken("the key of the function was not cut as text"))?)
            }
            EdgeKey::RecordKey => {
                let no_keys = OptionalColumn::default();
                let keys = batch.record_keys.as_ref().unwrap_or(&no_keys);
                let of_row = |row: usize| if row < keys.len() { keys.get(row) } else { None };
                Some(self.consumer.present_keys(&batch, of_row, "the record has no key", &mut lost, context)?)
            }
            EdgeKey::WholeValue => {
                let of_row = |row: usize| batch.values.get(row);
                Some(self.consumer.present_keys(&batch, of_row, "the record has no value", &mut lost, context)?)
            }
            EdgeKey::Assigned(assigner) => {
                let assigned = assigner.assign(&batch, &mut lost, &self.consumer, context)?;
                batch.timestamps = assigned.timestamps;
                assigned.keys
            }
        };
        if let Some(keys) = keys {
            let hashes = keys.iter().map(key_group::hash).collect();
            batch.routing = Some(Routing { keys, hashes });
        }
        if !lost.is_empty() {
            batch = batch.select(&rows_without(batch.len(), &lost));
        }
        self.target.deliver(batch, &self.consumer, context)
    }

    /// Deals with the rows whose key or fields could not be cut, and adds them to `lost`.
    fn deal_with_faults(
        &self,
        batch: &RecordBatch,
        cut: &CutColumns,
        dropped: &[u32],
        lost: &mut Vec<u32>,
        context: &mut Context,
    ) -> Flow {
        if cut.faults().is_empty() || self.cuts.is_empty() {
            return Ok(());
        }
        let mut last = None;
        for fault in cut.faults() {
            let is_ours = fault.cut.is_none_or(|cut| self.cuts.takes(cut));
            if is_ours && last != Some(fault.row) && dropped.binary_search(&fault.row).is_err() {
                last = Some(fault.row);
                lost.push(fault.row);
                self.consumer.refuse(batch, fault.row, &wrong(fault), context)?;
            }
        }
        lost.sort_unstable();
        Ok(())
    }
}

impl Responsible {
    /// Deals with a record that never reaches this consumer.
    pub(crate) fn refuse(&self, batch: &RecordBatch, row: u32, wrong: &Wrong, context: &mut Context) -> Flow {
        let bytes = batch.values.get(row as usize).map_or(0, <[u8]>::len);
        self.metrics.records_in.add(1);
        self.metrics.bytes_in.add_len(bytes);
        self.deal(Bad::Record { batch, row: row as usize, key: None }, wrong, context)
    }

    /// The keys of all rows; a row without one is dealt with and added to `lost`, which is sorted.
    fn present_keys<'a>(
        &self,
        batch: &RecordBatch,
        key_of: impl Fn(usize) -> Option<&'a [u8]>,
        why: &str,
        lost: &mut Vec<u32>,
        context: &mut Context,
    ) -> Flow<Column> {
        let mut keys = Column::default();
        let before = lost.len();
        for (row, at) in (0u32..).zip(0..batch.len()) {
            match key_of(at) {
                Some(key) => keys.push(key),
                None => {
                    keys.push(&[]);
                    if lost.get(..before).is_none_or(|known| known.binary_search(&row).is_err()) {
                        lost.push(row);
                        self.refuse(batch, row, &null_key(why), context)?;
                    }
                }
            }
        }
        lost.sort_unstable();
        Ok(keys)
    }
}

/// A record without a key for a keyed function.
pub(crate) fn null_key(why: &str) -> Wrong {
    let kind = FaultKind::NullKey;
    Wrong { code: kind.code(), kind: kind.name(), message: format!("{why}: expected one, to partition by") }
}

fn into_keys(column: FieldColumn) -> Option<Column> {
    match column.cells {
        Cells::Texts(keys) => Some(keys),
        _ => None,
    }
}
