//! What the rows cost that a batch emits more than once.
//!
//! A row that goes on for the first time costs no more than the batch it came in. Every further time its
//! bytes may be copied: its value where records that are made stand between, its keys, headers and text
//! fields in any case. A few bytes of a guest could so become gigabytes of ours.
//!
//! # Invariants
//! 1. A batch costs at least what each of its records would cost alone, so that the verdict on a record
//!    is the same for any batch around it.

use contract::Emit;
use model::{Cells, OutputId, RecordBatch};

/// Bytes of `records` that `emits` repeat. A row at or below one that went to the same output in the
/// same way counts as repeated: who sends rows on in their order never repeats one unless it wants to.
pub(crate) fn repeated_bytes(emits: &[Emit], records: &RecordBatch) -> usize {
    let has_keys_or_headers = records.record_keys.is_some() || records.headers.is_some();
    let mut ways: Vec<Way> = Vec::new();
    let mut bytes = 0_usize;
    for emit in emits {
        let (output, rows, copied) = match emit {
            Emit::Forward { output, rows } => (*output, rows, Copied::Whole),
            Emit::Push { output, records: made } => {
                let (keys, headers) = (made.keys.is_none(), made.headers.is_none());
                if !has_keys_or_headers || !(keys || headers) {
                    continue;
                }
                (*output, &made.rows, Copied::Inherited { keys, headers })
            }
        };
        let is_forward = copied == Copied::Whole;
        let way = ways.iter().position(|way| (way.output, way.is_forward) == (output, is_forward));
        let way = way.unwrap_or_else(|| {
            ways.push(Way { output, is_forward, next_row: 0 });
            ways.len() - 1
        });
        let Some(Way { next_row, .. }) = ways.get_mut(way) else { continue };
        for &row in rows {
            if row < *next_row {
                bytes = bytes.saturating_add(row_bytes(records, row, copied));
            } else {
                *next_row = row + 1;
            }
        }
    }
    bytes
}

/// A way that rows take to an output, and the row after the last that took it.
struct Way {
    output: OutputId,
    is_forward: bool,
    next_row: u32,
}

/// What is copied of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Copied {
    Whole,
    Inherited { keys: bool, headers: bool },
}

fn row_bytes(records: &RecordBatch, row: u32, copied: Copied) -> usize {
    let at = row as usize;
    let (whole, keys, headers) = match copied {
        Copied::Whole => (true, true, true),
        Copied::Inherited { keys, headers } => (false, keys, headers),
    };
    let mut bytes = 0;
    if keys && let Some(keys) = &records.record_keys {
        bytes += keys.items().get(at).len();
    }
    if headers && let Some(headers) = &records.headers {
        let of_header = |(name, value): (&[u8], Option<&[u8]>)| name.len() + value.map_or(0, <[u8]>::len);
        bytes += headers.of_row(row).map(|header| of_header(header) + 4 * size_of::<u32>()).sum::<usize>();
    }
    if whole {
        bytes += records.values.get(at).map_or(0, <[u8]>::len);
        bytes += records.routing.as_ref().map_or(0, |routing| routing.keys.get(at).len());
        for field in &records.fields {
            bytes += match &field.cells {
                Cells::Texts(texts) => texts.get(at).len(),
                _ => 0,
            };
        }
    }
    bytes
}

#[cfg(test)]
mod tests;
