//! The segments of the double: names and cells with their lengths before them.

use model::{Blame, Retry, StateId};

use super::Name;
use crate::Error;

/// An entry of a segment; without a cell it was deleted.
pub(super) struct Read {
    pub(super) name: Name,
    pub(super) hash: u64,
    pub(super) cell: Option<(i64, Vec<u8>)>,
}

/// A segment of entries.
pub(super) fn encode<'a>(items: impl Iterator<Item = (&'a Name, u64, Option<(i64, &'a [u8])>)>) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, hash, cell) in items {
        out.extend_from_slice(&name.0.0.to_le_bytes());
        out.extend_from_slice(&hash.to_le_bytes());
        push(&mut out, &name.1);
        push(&mut out, &name.2);
        out.push(u8::from(cell.is_some()));
        if let Some((written, value)) = cell {
            out.extend_from_slice(&written.to_le_bytes());
            push(&mut out, value);
        }
    }
    out
}

fn push(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// The entries of a segment.
pub(super) fn decode(segment: &[u8]) -> Result<Vec<Read>, Error> {
    let mut rest = segment;
    let mut found = Vec::new();
    while !rest.is_empty() {
        let read = read(&mut rest);
        found.push(read.ok_or_else(|| Error::new(Blame::External, Retry::No, "a segment of the double is cut"))?);
    }
    Ok(found)
}

fn read(rest: &mut &[u8]) -> Option<Read> {
    let state = StateId(u16::from_le_bytes(take(rest)?));
    let hash = u64::from_le_bytes(take(rest)?);
    let (key, entry_key) = (bytes(rest)?, bytes(rest)?);
    let [has_cell] = take::<1>(rest)?;
    let cell = if has_cell == 1 { Some((i64::from_le_bytes(take(rest)?), bytes(rest)?)) } else { None };
    Some(Read { name: (state, key, entry_key), hash, cell })
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, left) = rest.split_first_chunk::<N>()?;
    *rest = left;
    Some(*taken)
}

fn bytes(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let length = usize::try_from(u64::from_le_bytes(take(rest)?)).ok()?;
    let (taken, left) = rest.split_at_checked(length)?;
    *rest = left;
    Some(taken.to_vec())
}
