//! From what a turn staged to batches for the lanes.
//!
//! # Invariants
//! 1. Records of one output leave in the order of their rows, and for one row in the order of the calls.
//! 2. Nothing is sent here: a turn whose emits cannot be used fails as a whole, before any effect.

use contract::{Emit, Failure, FailureKind, OutputRecords};
use format::{EncodeError, Encoder};
use model::{RecordBatch, Values};

use super::lane::Lane;
use crate::batches::gather;

/// Pieces of at least this many rows on average leave as they are; smaller ones are copied together.
const WORTH_ITS_OWN_BATCH: usize = 64;

/// An output of a function and those who read it.
#[derive(Debug)]
pub(crate) struct OutputPort {
    pub(crate) name: String,
    /// How many fields the port declares.
    pub(crate) declared_fields: usize,
    pub(crate) lanes: Vec<Lane>,
}

/// What leaves by one lane.
#[derive(Debug)]
pub(crate) struct Leaving {
    pub(crate) output: usize,
    /// `None` where nobody reads the output.
    pub(crate) lane: Option<usize>,
    pub(crate) records: Records,
}

/// Records that leave.
#[derive(Debug)]
pub(crate) enum Records {
    /// Rows of the input.
    Rows(Vec<u32>),
    /// New ones, or both together.
    Made(Vec<RecordBatch>),
}

/// Turns emits into what leaves. `input` has neither fields nor routing any more.
pub(crate) fn prepare(
    emits: &mut Vec<Emit>,
    input: &RecordBatch,
    outputs: &mut [OutputPort],
) -> Result<Vec<Leaving>, Failure> {
    let mut leaving = Vec::new();
    if emits.is_empty() {
        return Ok(leaving);
    }
    let mut by_output: Vec<Vec<Emit>> = outputs.iter().map(|_| Vec::new()).collect();
    for emit in emits.drain(..) {
        let (output, rows) = match &emit {
            Emit::Forward { output, rows } => (output.0, rows),
            Emit::Push { output, records } => (output.0, &records.rows),
        };
        check_rows(rows, input.len())?;
        match by_output.get_mut(usize::from(output)) {
            Some(emits) => emits.push(emit),
            None => return Err(contract(format!("output {output} of {}: it is not declared", outputs.len()))),
        }
    }
    for (output, emits) in by_output.into_iter().enumerate() {
        if let Some(port) = outputs.get_mut(output)
            && !emits.is_empty()
        {
            prepare_output(output, emits, input, port, &mut leaving)?;
        }
    }
    Ok(leaving)
}

fn prepare_output(
    output: usize,
    emits: Vec<Emit>,
    input: &RecordBatch,
    port: &mut OutputPort,
    leaving: &mut Vec<Leaving>,
) -> Result<(), Failure> {
    let pieces = merge_forwards(emits);
    if let [Emit::Forward { rows, .. }] = pieces.as_slice() {
        let lanes = port.lanes.len();
        for lane in 1..lanes {
            leaving.push(Leaving { output, lane: Some(lane), records: Records::Rows(rows.clone()) });
        }
        let first = (lanes > 0).then_some(0);
        if let Some(Emit::Forward { rows, .. }) = pieces.into_iter().next() {
            leaving.push(Leaving { output, lane: first, records: Records::Rows(rows) });
        }
        return Ok(());
    }
    for piece in &pieces {
        if let Emit::Push { records, .. } = piece {
            check_records(records, port)?;
        }
    }
    if port.lanes.is_empty() {
        let made = make(&pieces, input, None)?;
        leaving.push(Leaving { output, lane: None, records: Records::Made(made) });
    }
    for (lane, to) in port.lanes.iter_mut().enumerate() {
        let made = make(&pieces, input, to.encoder.as_mut())?;
        leaving.push(Leaving { output, lane: Some(lane), records: Records::Made(made) });
    }
    Ok(())
}

/// Makes one forward out of forwards that follow each other; the rows of all stay in order.
fn merge_forwards(emits: Vec<Emit>) -> Vec<Emit> {
    let mut merged: Vec<Emit> = Vec::with_capacity(emits.len());
    for emit in emits {
        match (merged.last_mut(), emit) {
            (Some(Emit::Forward { rows, .. }), Emit::Forward { rows: more, .. }) => {
                let is_in_order = rows.last() <= more.first();
                rows.extend(more);
                if !is_in_order {
                    rows.sort_unstable();
                }
            }
            (_, emit) => merged.push(emit),
        }
    }
    merged
}

/// The batches of one lane.
fn make(pieces: &[Emit], input: &RecordBatch, mut encoder: Option<&mut Encoder>) -> Result<Vec<RecordBatch>, Failure> {
    let mut batches = Vec::with_capacity(pieces.len());
    let mut rows: Vec<&[u32]> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match piece {
            Emit::Forward { rows: forwarded, .. } => {
                batches.push(input.select(forwarded));
                rows.push(forwarded);
            }
            Emit::Push { records, .. } => {
                batches.push(make_records(records, input, encoder.as_deref_mut())?);
                rows.push(&records.rows);
            }
        }
    }
    let total: usize = rows.iter().map(|rows| rows.len()).sum();
    let is_in_order = rows.iter().zip(rows.iter().skip(1)).all(|(one, next)| one.last() <= next.first());
    if batches.len() == 1 || (is_in_order && total >= WORTH_ITS_OWN_BATCH * batches.len()) {
        return Ok(batches);
    }
    let mut order: Vec<(u32, (u32, u32))> = Vec::with_capacity(total);
    for (piece, rows) in (0u32..).zip(&rows) {
        order.extend((0u32..).zip(rows.iter()).map(|(place, &row)| (row, (piece, place))));
    }
    order.sort_by_key(|&(row, _)| row);
    let order: Vec<_> = order.into_iter().map(|(_, from)| from).collect();
    Ok(vec![gather(&batches, &order)])
}

/// New records, with what they inherit from their rows.
fn make_records(
    records: &OutputRecords,
    input: &RecordBatch,
    encoder: Option<&mut Encoder>,
) -> Result<RecordBatch, Failure> {
    let rows = &records.rows;
    let values = if records.fields.is_empty() {
        records.values.clone()
    } else if let Some(encoder) = encoder {
        Values::from(encoder.encode(&records.fields).map_err(|error| cannot_encode(&error, rows))?)
    } else {
        Values::from(rows.iter().map(|_| "").collect::<model::Column>())
    };
    let timestamps = if records.timestamps.is_empty() {
        rows.iter().filter_map(|&row| input.timestamps.get(row as usize).copied()).collect()
    } else {
        records.timestamps.clone()
    };
    Ok(RecordBatch {
        values,
        record_keys: records.keys.clone().or_else(|| input.record_keys.as_ref().map(|keys| keys.select(rows))),
        timestamps,
        headers: records.headers.clone().or_else(|| input.headers.as_ref().map(|headers| headers.select(rows))),
        origins: input.origins.select(rows),
        routing: None,
        fields: Vec::new(),
    })
}

fn check_rows(rows: &[u32], input_rows: usize) -> Result<(), Failure> {
    let falls = rows.iter().zip(rows.iter().skip(1)).any(|(row, next)| row > next);
    match rows.last() {
        _ if falls => Err(contract("the rows of an emit fall".to_owned())),
        Some(&last) if last as usize >= input_rows => {
            Err(contract(format!("row {last} of an emit: the batch has {input_rows}")))
        }
        _ => Ok(()),
    }
}

fn check_records(records: &OutputRecords, port: &OutputPort) -> Result<(), Failure> {
    let rows = records.rows.len();
    let wrong =
        |what: &str, found: usize| Err(contract(format!("output `{}`: {found} {what} for {rows} records", port.name)));
    if records.fields.is_empty() {
        if records.values.len() != rows {
            return wrong("values", records.values.len());
        }
    } else {
        if records.fields.len() != port.declared_fields {
            return Err(contract(format!(
                "output `{}`: {} fields, it declares {}",
                port.name,
                records.fields.len(),
                port.declared_fields
            )));
        }
        if let Some(field) = records.fields.iter().find(|field| field.len() != rows) {
            return wrong("cells", field.len());
        }
    }
    if let Some(keys) = records.keys.as_ref().filter(|keys| keys.len() != rows) {
        return wrong("keys", keys.len());
    }
    if !records.timestamps.is_empty() && records.timestamps.len() != rows {
        return wrong("timestamps", records.timestamps.len());
    }
    match records.headers.as_ref().and_then(|headers| headers.owners.last()) {
        Some(&last) if last as usize >= rows => wrong("rows of headers", last as usize + 1),
        _ => Ok(()),
    }
}

fn cannot_encode(error: &EncodeError, rows: &[u32]) -> Failure {
    let row = match error {
        EncodeError::RequiredAbsent { row, .. }
        | EncodeError::NotFinite { row, .. }
        | EncodeError::NotUtf8 { row, .. }
        | EncodeError::NotJson { row, .. } => rows.get(*row as usize).copied(),
        EncodeError::Columns { .. } => None,
    };
    Failure { kind: FailureKind::Contract, row, message: error.to_string() }
}

fn contract(message: String) -> Failure {
    Failure { kind: FailureKind::Contract, row: None, message }
}

#[cfg(test)]
mod tests;
