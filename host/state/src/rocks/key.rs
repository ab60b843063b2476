//! Entries as they lie in the base.
//!
//! ```text
//! key     0  u16 key group      2  u16 state id      4  key length: one byte below 255, else 255 and u32
//!         5  key                   entry key
//!
//! value   0  i64 write time, ms   8  u64 key hash   16  u8 1 for an entry of a map or list   17  value
//! ```
//!
//! Numbers in a key are big endian, so that a key group is a range, a map or list is a range in it, and entry
//! keys are in byte order. Those in a value are little endian.
//!
//! # Invariants
//! 1. Two names have two keys: the length before the key says where it ends.
//!
//! # Absent on purpose
//! A version: a base is made anew by every process, nothing reads that of another.

use std::cmp::Ordering;

use model::{HostTime, KeyGroup, StateId};

use crate::entry::EntryName;

/// Before the key: key group, state.
const FIXED: usize = 4;
/// A key of this length or more is said in four more bytes.
const LONG: usize = 255;
/// Before the value: write time, hash, kind.
const STAMP: usize = 17;

fn push_length(out: &mut Vec<u8>, length: usize) {
    match u8::try_from(length) {
        Ok(short) if length < LONG => out.push(short),
        _ => {
            out.push(u8::MAX);
            let length = u32::try_from(length).expect("a column holds at most 4 GiB");
            out.extend_from_slice(&length.to_be_bytes());
        }
    }
}

/// Appends what all keys of a state in a key group begin with.
pub(super) fn push_state(out: &mut Vec<u8>, group: KeyGroup, state: StateId) {
    out.extend_from_slice(&group.0.to_be_bytes());
    out.extend_from_slice(&state.0.to_be_bytes());
}

/// Appends what every entry key of the map or list `name` lies under; for a value, its whole key.
pub(super) fn push_prefix(out: &mut Vec<u8>, group: KeyGroup, name: &EntryName<'_>) {
    push_state(out, group, name.state);
    push_length(out, name.key.len());
    out.extend_from_slice(name.key);
}

/// Appends the key of an entry.
pub(super) fn push(out: &mut Vec<u8>, group: KeyGroup, name: &EntryName<'_>) {
    push_prefix(out, group, name);
    out.extend_from_slice(name.entry_key.unwrap_or_default());
}

/// The first 16 bytes of a key as a number, short ones filled up with zeros.
pub(super) fn head(group: KeyGroup, name: &EntryName<'_>) -> u128 {
    let mut head = u128::from(group.0) << 112 | u128::from(name.state.0) << 96;
    let mut shift = 96;
    let mut push = |bytes: &[u8]| {
        for &byte in bytes.iter().take(shift / 8) {
            shift -= 8;
            head |= u128::from(byte) << shift;
        }
    };
    match u8::try_from(name.key.len()) {
        Ok(short) if name.key.len() < LONG => push(&[short]),
        _ => {
            push(&[u8::MAX]);
            push(&(name.key.len() as u32).to_be_bytes());
        }
    }
    push(name.key);
    push(name.entry_key.unwrap_or_default());
    head
}

/// The order of two keys of one key group.
pub(super) fn order(one: &EntryName<'_>, other: &EntryName<'_>) -> Ordering {
    let rank = |name: &EntryName<'_>| (name.state.0, name.key.len());
    let by_key = rank(one).cmp(&rank(other)).then_with(|| one.key.cmp(other.key));
    by_key.then_with(|| one.entry_key.unwrap_or_default().cmp(other.entry_key.unwrap_or_default()))
}

/// Appends a value.
pub(super) fn push_value(out: &mut Vec<u8>, name: &EntryName<'_>, value: &[u8], written: HostTime) {
    out.extend_from_slice(&written.0.to_le_bytes());
    out.extend_from_slice(&name.hash.to_le_bytes());
    out.push(u8::from(name.entry_key.is_some()));
    out.extend_from_slice(value);
}

/// An entry of the base.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored<'a> {
    pub(super) name: EntryName<'a>,
    pub(super) value: &'a [u8],
    pub(super) written: HostTime,
}

/// Takes an entry apart; `None` where it is not one.
pub(super) fn decode<'a>(key: &'a [u8], value: &'a [u8]) -> Option<Stored<'a>> {
    let (fixed, rest) = key.split_first_chunk::<FIXED>()?;
    let [_, _, high, low] = *fixed;
    let (&short, rest) = rest.split_first()?;
    let (length, rest) = match short {
        u8::MAX => {
            let (long, rest) = rest.split_first_chunk::<4>()?;
            (u32::from_be_bytes(*long) as usize, rest)
        }
        short => (usize::from(short), rest),
    };
    let (key, entry_key) = rest.split_at_checked(length)?;
    let stamp = Stamp::of(value)?;
    let name = EntryName {
        state: StateId(u16::from_be_bytes([high, low])),
        hash: stamp.hash,
        key,
        entry_key: stamp.is_mapped.then_some(entry_key),
    };
    Some(Stored { name, value: value.get(STAMP..)?, written: stamp.written })
}

/// What stands before a value.
#[derive(Clone, Copy, Debug)]
struct Stamp {
    written: HostTime,
    hash: u64,
    is_mapped: bool,
}

impl Stamp {
    fn of(value: &[u8]) -> Option<Self> {
        let (written, rest) = value.split_first_chunk::<8>()?;
        let (hash, rest) = rest.split_first_chunk::<8>()?;
        Some(Self {
            written: HostTime(i64::from_le_bytes(*written)),
            hash: u64::from_le_bytes(*hash),
            is_mapped: *rest.first()? == 1,
        })
    }
}

/// The state and the write time of an entry; `None` where it is not one.
pub(super) fn state_and_time(key: &[u8], value: &[u8]) -> Option<(StateId, HostTime)> {
    let [_, _, high, low] = *key.first_chunk::<FIXED>()?;
    let written = value.first_chunk::<8>()?;
    Some((StateId(u16::from_be_bytes([high, low])), HostTime(i64::from_le_bytes(*written))))
}

/// The least key above all that begin with `prefix`; `None` where there is none.
pub(super) fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let kept = prefix.iter().rposition(|&byte| byte != u8::MAX)?;
    let mut after = prefix.get(..=kept)?.to_vec();
    if let Some(last) = after.last_mut() {
        *last += 1;
    }
    Some(after)
}

#[cfg(test)]
mod tests;
