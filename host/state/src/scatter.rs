//! Segments taken apart by key group, without a table: so that state larger than memory can be gone through a piece at
//! a time.

use std::ops::Range;

use model::{KeyGroup, OperatorUid};

use crate::Error;
use crate::entry::{self, Flaw, Item, SEGMENT_HEADER};
use crate::restore::check_header;

/// How a segment begins: entries that follow it, each as it was, are a segment again, if none begins beyond 2 MiB.
pub const HEAD: [u8; 8] = SEGMENT_HEADER;

/// Calls `visit` for every entry of the segment given as `number`, in order: its key group and where it lies. What was
/// deleted is an entry too.
///
/// # Errors
/// [`Error::Damaged`] and [`Error::NewerVersion`]; the first error of `visit`.
pub fn entries_of<E: From<Error>>(
    operator: &OperatorUid,
    number: usize,
    bytes: &[u8],
    key_groups: u16,
    mut visit: impl FnMut(KeyGroup, Range<usize>) -> Result<(), E>,
) -> Result<(), E> {
    check_header(operator, number, bytes)?;
    let damaged = |at: usize, flaw: Flaw| Error::Damaged { operator: operator.clone(), segment: number, at, flaw };
    let mut at = SEGMENT_HEADER.len();
    while at < bytes.len() {
        let item = entry::decode(bytes, at).map_err(|flaw| damaged(at, flaw))?;
        let end = at + item.size();
        if let Item::Entry(head) = item {
            visit(KeyGroup::of_hash(head.hash, key_groups), at..end)?;
        }
        at = end;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
