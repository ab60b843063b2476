//! Making batches out of batches.

use model::{Column, FieldColumn, Headers, OptionalColumn, Origins, RecordBatch, Values};

/// A batch whose values take less than this share of the bytes they keep alive is copied before it
/// waits anywhere: a queue that counts the bytes of records must not hold many times as much.
const SPARSE_SHARE: usize = 16;

/// Most bytes reserved on the word of pieces: a row may stand in them many times and not in the order.
/// More than a batch holds; what is truly copied grows beyond it.
const MOST_RESERVED_BYTES: usize = 64 << 20;

/// The rows `order` of `pieces` (piece, row), in that order, values copied into one arena. Fields and
/// routing are kept where every piece has them.
#[expect(clippy::indexing_slicing, reason = "the order is made by the caller from the pieces")]
pub(crate) fn gather(pieces: &[RecordBatch], order: &[(u32, u32)]) -> RecordBatch {
    let rows = || order.iter().map(|&(piece, row)| (&pieces[piece as usize], row as usize));
    let total: usize = pieces.iter().map(|piece| piece.values.total_bytes()).sum();
    let mut values = OptionalColumn::with_capacity(order.len(), total.min(MOST_RESERVED_BYTES));
    let mut origins = Origins::default();
    let mut timestamps = Vec::with_capacity(order.len());
    for (piece, row) in rows() {
        values.push(piece.values.get(row));
        timestamps.push(piece.timestamps[row]);
        if let Some((source, split, position)) = piece.origins.get(row) {
            origins.push(source, split, position);
        }
    }
    let record_keys = pieces.iter().any(|piece| piece.record_keys.is_some()).then(|| {
        let mut keys = OptionalColumn::default();
        for (piece, row) in rows() {
            keys.push(piece.record_keys.as_ref().and_then(|keys| keys.get(row)));
        }
        keys
    });
    RecordBatch {
        values: Values::from(values),
        record_keys,
        timestamps,
        headers: gather_headers(pieces, order),
        origins,
        routing: gather_routing(pieces, order),
        fields: gather_fields(pieces, order),
    }
}

/// `batches` end to end.
pub(crate) fn concatenate(mut batches: Vec<RecordBatch>) -> RecordBatch {
    if batches.len() == 1
        && let Some(only) = batches.pop()
    {
        return only;
    }
    let order = (0u32..)
        .zip(&batches)
        .flat_map(|(piece, batch)| (0u32..).zip(0..batch.len()).map(move |(row, _)| (piece, row)));
    let order: Vec<_> = order.collect();
    gather(&batches, &order)
}

/// The batch, with its values copied where they are a small part of what they keep alive.
pub(crate) fn compact(mut batch: RecordBatch) -> RecordBatch {
    let kept_alive = batch.values.arena().len();
    if kept_alive > 4096 && batch.values.total_bytes() < kept_alive / SPARSE_SHARE {
        batch.values = Values::from(batch.values.to_column());
    }
    batch
}

/// The batch in pieces of at most `max_rows` rows and about `max_bytes` bytes, values shared.
pub(crate) fn chunks(batch: RecordBatch, max_rows: usize, max_bytes: usize) -> Vec<RecordBatch> {
    // A batch may be as much as twice the limit before it is worth a copy of its columns.
    let is_small = || batch.values.arena().len() <= 2 * max_bytes || batch.values.total_bytes() <= 2 * max_bytes;
    if batch.len() <= max_rows && is_small() {
        return vec![batch];
    }
    let mut chunks = Vec::new();
    let mut rows: Vec<u32> = Vec::new();
    let mut bytes = 0;
    for (row, span) in (0u32..).zip(batch.values.spans()) {
        if rows.len() == max_rows || (bytes + span.len() > max_bytes && !rows.is_empty()) {
            chunks.push(batch.select(&rows));
            rows.clear();
            bytes = 0;
        }
        rows.push(row);
        bytes += span.len();
    }
    if !rows.is_empty() {
        chunks.push(batch.select(&rows));
    }
    chunks
}

/// The rows of `0..rows` that are not in `without`, which rises.
pub(crate) fn rows_without(rows: usize, without: &[u32]) -> Vec<u32> {
    let mut skipped = without.iter().copied().peekable();
    let mut kept = Vec::with_capacity(rows.saturating_sub(without.len()));
    for (row, _) in (0u32..).zip(0..rows) {
        if skipped.next_if_eq(&row).is_none() {
            kept.push(row);
        }
    }
    kept
}

#[expect(clippy::indexing_slicing, reason = "the order is made by the caller from the pieces")]
fn gather_headers(pieces: &[RecordBatch], order: &[(u32, u32)]) -> Option<Headers> {
    if pieces.iter().all(|piece| piece.headers.is_none()) {
        return None;
    }
    let mut gathered = Headers::default();
    for (new_row, &(piece, row)) in (0u32..).zip(order) {
        let Some(headers) = &pieces[piece as usize].headers else { continue };
        for (name, value) in headers.of_row(row) {
            gathered.owners.push(new_row);
            gathered.names.push(name);
            gathered.values.push(value);
        }
    }
    Some(gathered)
}

#[expect(clippy::indexing_slicing, reason = "the order is made by the caller from the pieces")]
fn gather_routing(pieces: &[RecordBatch], order: &[(u32, u32)]) -> Option<model::Routing> {
    let routings: Vec<_> = pieces.iter().map(|piece| piece.routing.as_ref()).collect::<Option<_>>()?;
    let mut keys = Column::with_capacity(order.len(), routings.iter().map(|routing| routing.keys.bytes().len()).sum());
    let mut hashes = Vec::with_capacity(order.len());
    for &(piece, row) in order {
        let routing = routings[piece as usize];
        keys.push(routing.keys.get(row as usize));
        hashes.push(routing.hashes[row as usize]);
    }
    Some(model::Routing { keys, hashes })
}

#[expect(clippy::indexing_slicing, reason = "the order is made by the caller from the pieces")]
fn gather_fields(pieces: &[RecordBatch], order: &[(u32, u32)]) -> Vec<FieldColumn> {
    let Some(first) = pieces.first() else { return Vec::new() };
    if pieces.iter().any(|piece| piece.fields.len() != first.fields.len()) {
        return Vec::new();
    }
    let gather_field = |(field, like): (usize, &FieldColumn)| {
        let mut gathered = like.empty_like();
        for &(piece, row) in order {
            gathered.push_from(&pieces[piece as usize].fields[field], row as usize);
        }
        gathered
    };
    first.fields.iter().enumerate().map(gather_field).collect()
}

#[cfg(test)]
mod tests;
