//! One entry of the state log, as it lies in memory and in a checkpoint: version 1 of the format.
//!
//! A *segment* is a header word and then items, each a multiple of 8 bytes long. Numbers are little
//! endian. An item is an entry or a gap.
//!
//! ```text
//! segment   0  "TGSL"              4  u16 version = 1      6  u16 zero
//!
//! entry     0  u8  flags           1  u8  entry-key length 2  u16 state id
//!           4  u16 key length      6  u16 value length
//!           8  u64 key hash       16  i64 write time, ms
//!          24  key, entry key, value, then zeros up to a multiple of 8
//!
//! long      as above with the LONG flag and three zero lengths, then
//! entry    24  u32 key length     28  u32 entry-key length
//!          32  u32 value length   36  u32 zero
//!          40  key, entry key, value, then zeros up to a multiple of 8
//!
//! gap       0  u8  flags = GAP     1  three zero bytes     4  u32 length in words of 8 bytes
//! ```
//!
//! # Words
//! - *long*: the form for a key or value above 65535 bytes, or an entry key above 255
//! - *tombstone*: an entry that says its key was deleted; it has no value
//! - *first*: an entry whose key had no entry before this epoch, so that deleting it within the epoch
//!   needs no tombstone
//! - *mapped*: an entry that lies under an entry key, which may be empty; the others have none
//! - *write time*: by the clock of its state's time to live, the host's where it has none
//!
//! # Invariants
//! 1. Flags are never reused; an unknown one, or a newer version, is refused.
//! 2. What an entry is called (state, key, entry key) never changes in place; its value, write time
//!    and tombstone flag may, while its epoch lasts.
//!
//! # Absent on purpose
//! Checksums: an object of a checkpoint is verified whole before it gets here. What is checked here
//! is that no length leads outside the segment.
#![expect(
    clippy::indexing_slicing,
    reason = "places come from the index or a checked walk; `decode` checks what is read"
)]

use std::ops::Range;

use model::{HostTime, StateId};

/// The header word of a segment.
pub(crate) const SEGMENT_HEADER: [u8; 8] = *b"TGSL\x01\x00\x00\x00";

/// Items start and end at multiples of this.
pub(crate) const WORD: usize = 8;

const SHORT_HEAD: usize = 24;
const LONG_HEAD: usize = 40;

/// The flags of an item.
pub(crate) mod flag {
    pub(crate) const ENTRY: u8 = 1;
    pub(crate) const GAP: u8 = 2;
    pub(crate) const TOMBSTONE: u8 = 4;
    pub(crate) const FIRST: u8 = 8;
    pub(crate) const LONG: u8 = 16;
    pub(crate) const MAPPED: u8 = 32;
    pub(super) const KNOWN: u8 = ENTRY | TOMBSTONE | FIRST | LONG | MAPPED;
}

/// What an entry is called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryName<'a> {
    pub(crate) state: StateId,
    pub(crate) hash: u64,
    pub(crate) key: &'a [u8],
    /// `None` for a state of kind value.
    pub(crate) entry_key: Option<&'a [u8]>,
}

impl EntryName<'_> {
    /// How long an entry with this name and a value of `value_len` bytes is.
    #[inline]
    pub(crate) fn size(&self, value_len: usize) -> usize {
        let entry_key_len = self.entry_key.map_or(0, <[u8]>::len);
        let head = head_len(self.key.len(), entry_key_len, value_len);
        (head + self.key.len() + entry_key_len + value_len).next_multiple_of(WORD)
    }

    /// The flag an entry with this name has by itself.
    #[inline]
    fn mapped(&self) -> u8 {
        if self.entry_key.is_some() { flag::MAPPED } else { 0 }
    }
}

#[inline]
fn head_len(key: usize, entry_key: usize, value: usize) -> usize {
    if key > 0xffff || entry_key > 0xff || value > 0xffff { LONG_HEAD } else { SHORT_HEAD }
}

#[inline]
fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + WORD].try_into().expect("a slice of eight bytes"))
}

/// The head of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) flags: u8,
    pub(crate) state: StateId,
    pub(crate) hash: u64,
    pub(crate) written: HostTime,
    key_len: u32,
    entry_key_len: u32,
    value_len: u32,
}

impl Head {
    /// The head of the entry at `at`, which is known to be one.
    #[inline]
    pub(crate) fn at(bytes: &[u8], at: usize) -> Self {
        let meta = word(bytes, at);
        let flags = meta as u8;
        let (key_len, entry_key_len, value_len) = if flags & flag::LONG == 0 {
            ((meta >> 32) as u32 & 0xffff, (meta >> 8) as u32 & 0xff, (meta >> 48) as u32)
        } else {
            let lengths = word(bytes, at + SHORT_HEAD);
            (lengths as u32, (lengths >> 32) as u32, word(bytes, at + SHORT_HEAD + WORD) as u32)
        };
        Self {
            flags,
            state: StateId((meta >> 16) as u16),
            hash: word(bytes, at + WORD),
            written: HostTime(word(bytes, at + 2 * WORD) as i64),
            key_len,
            entry_key_len,
            value_len,
        }
    }

    fn head_len(&self) -> usize {
        if self.flags & flag::LONG == 0 { SHORT_HEAD } else { LONG_HEAD }
    }

    /// Bytes of key, entry key and value.
    #[inline]
    pub(crate) fn payload(&self) -> usize {
        self.key_len as usize + self.entry_key_len as usize + self.value_len as usize
    }

    /// How long the entry is.
    #[inline]
    pub(crate) fn size(&self) -> usize {
        (self.head_len() + self.payload()).next_multiple_of(WORD)
    }

    pub(crate) fn is_tombstone(&self) -> bool {
        self.flags & flag::TOMBSTONE != 0
    }

    pub(crate) fn is_first(&self) -> bool {
        self.flags & flag::FIRST != 0
    }

    pub(crate) fn is_mapped(&self) -> bool {
        self.flags & flag::MAPPED != 0
    }

    fn entry_key_range(&self, at: usize) -> Range<usize> {
        let start = at + self.head_len() + self.key_len as usize;
        start..start + self.entry_key_len as usize
    }

    fn value_range(&self, at: usize) -> Range<usize> {
        let start = self.entry_key_range(at).end;
        start..start + self.value_len as usize
    }

    /// The name of the entry at `at`, whose head this is.
    pub(crate) fn name<'a>(&self, bytes: &'a [u8], at: usize) -> EntryName<'a> {
        let entry_key = self.entry_key_range(at);
        EntryName {
            state: self.state,
            hash: self.hash,
            key: &bytes[at + self.head_len()..entry_key.start],
            entry_key: self.is_mapped().then(|| &bytes[entry_key]),
        }
    }
}

/// The value of the entry at `at`; `None` for a tombstone.
#[inline]
pub(crate) fn value(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let head = Head::at(bytes, at);
    (!head.is_tombstone()).then(|| &bytes[head.value_range(at)])
}

/// The write time of the entry at `at`.
#[inline]
pub(crate) fn written(bytes: &[u8], at: usize) -> HostTime {
    HostTime(word(bytes, at + 2 * WORD) as i64)
}

/// The entry key of the entry at `at`, empty where it has none.
#[inline]
pub(crate) fn entry_key(bytes: &[u8], at: usize) -> &[u8] {
    let head = Head::at(bytes, at);
    &bytes[head.entry_key_range(at)]
}

/// Whether the entry at `at` is called `name`.
#[inline]
pub(crate) fn is_called(bytes: &[u8], at: usize, name: &EntryName<'_>) -> bool {
    let meta = word(bytes, at);
    if meta as u8 & flag::LONG != 0 {
        return is_called_long(bytes, at, name);
    }
    let wanted = name.entry_key.unwrap_or_default();
    // Flags, entry-key length, state and key length in one comparison; the mask leaves out the value
    // length and the flags that say nothing about the name.
    const MASK: u64 = 0x0000_ffff_ffff_ff00 | (flag::ENTRY | flag::MAPPED) as u64;
    let expected = u64::from(flag::ENTRY | name.mapped())
        | (wanted.len() as u64) << 8
        | u64::from(name.state.0) << 16
        | (name.key.len() as u64) << 32;
    if meta & MASK != expected {
        return false;
    }
    let key_end = at + SHORT_HEAD + name.key.len();
    // Empty slices are not compared: a vector comparison under an empty mask of an address that is not
    // mapped, as that of an empty slice, costs some processors 70 ns.
    bytes[at + SHORT_HEAD..key_end] == *name.key
        && (wanted.is_empty() || bytes[key_end..key_end + wanted.len()] == *wanted)
}

#[cold]
fn is_called_long(bytes: &[u8], at: usize, name: &EntryName<'_>) -> bool {
    let found = Head::at(bytes, at).name(bytes, at);
    found.state == name.state && found.key == name.key && found.entry_key == name.entry_key
}

/// Whether the entry at `at` lies under the key of `name`, in its state.
pub(crate) fn is_under(bytes: &[u8], at: usize, name: &EntryName<'_>) -> bool {
    let found = Head::at(bytes, at).name(bytes, at);
    found.state == name.state && found.key == name.key
}

/// Appends an entry; `None` makes a tombstone. `flags` may hold FIRST.
#[inline]
pub(crate) fn append(out: &mut Vec<u8>, name: &EntryName<'_>, value: Option<&[u8]>, flags: u8, now: HostTime) {
    let start = out.len();
    let value_len = value.map_or(0, <[u8]>::len);
    push_head(out, name, flags, value.is_none(), value_len, now);
    out.extend_from_slice(name.key);
    out.extend_from_slice(name.entry_key.unwrap_or_default());
    out.extend_from_slice(value.unwrap_or_default());
    const ZEROS: [u8; WORD] = [0; WORD];
    let rest = (out.len() - start).next_multiple_of(WORD) - (out.len() - start);
    out.extend_from_slice(&ZEROS[..rest]);
}

#[inline]
fn push_head(out: &mut Vec<u8>, name: &EntryName<'_>, flags: u8, tombstone: bool, value_len: usize, now: HostTime) {
    let entry_key_len = name.entry_key.map_or(0, <[u8]>::len);
    let mut flags = flags | flag::ENTRY | name.mapped();
    if tombstone {
        flags |= flag::TOMBSTONE;
    }
    let long = head_len(name.key.len(), entry_key_len, value_len) == LONG_HEAD;
    let mut meta = u64::from(name.state.0) << 16;
    if long {
        flags |= flag::LONG;
    } else {
        meta |= (entry_key_len as u64) << 8 | (name.key.len() as u64) << 32 | (value_len as u64) << 48;
    }
    let mut head = [0; SHORT_HEAD];
    head[..8].copy_from_slice(&(meta | u64::from(flags)).to_le_bytes());
    head[8..16].copy_from_slice(&name.hash.to_le_bytes());
    head[16..].copy_from_slice(&now.0.to_le_bytes());
    out.extend_from_slice(&head);
    if long {
        for length in [name.key.len(), entry_key_len, value_len, 0] {
            let length = u32::try_from(length).expect("a column holds at most 4 GiB");
            out.extend_from_slice(&length.to_le_bytes());
        }
    }
}

/// Changes the entry at `at` in place: its value (`None` makes it a tombstone) and its write time.
/// `room` is how many bytes from `at` on are its to use; what is left over becomes a gap.
/// `false`, and nothing changed, when it does not fit.
pub(crate) fn overwrite(bytes: &mut [u8], at: usize, room: usize, value: Option<&[u8]>, now: HostTime) -> bool {
    let head = Head::at(bytes, at);
    let value_len = value.map_or(0, <[u8]>::len);
    let (key_len, entry_key_len) = (head.key_len as usize, head.entry_key_len as usize);
    let head_len = head_len(key_len, entry_key_len, value_len);
    let size = (head_len + key_len + entry_key_len + value_len).next_multiple_of(WORD);
    if head_len != head.head_len() || size > room {
        return false;
    }
    let tombstone = if value.is_none() { flag::TOMBSTONE } else { 0 };
    bytes[at] = head.flags & !flag::TOMBSTONE | tombstone;
    bytes[at + 16..at + SHORT_HEAD].copy_from_slice(&now.0.to_le_bytes());
    if head_len == SHORT_HEAD {
        let length = u16::try_from(value_len).expect("a short entry has a short value");
        bytes[at + 6..at + 8].copy_from_slice(&length.to_le_bytes());
    } else {
        let length = u32::try_from(value_len).expect("a column holds at most 4 GiB");
        bytes[at + 32..at + 36].copy_from_slice(&length.to_le_bytes());
    }
    let start = at + head_len + key_len + entry_key_len;
    bytes[start..start + value_len].copy_from_slice(value.unwrap_or_default());
    bytes[start + value_len..at + size].fill(0);
    if size < room {
        make_gap(bytes, at + size, room - size);
    }
    true
}

/// The entry at `at` has one of an earlier epoch before it, or may have.
pub(crate) fn clear_first(bytes: &mut [u8], at: usize) {
    bytes[at] &= !flag::FIRST;
}

/// Turns `len` bytes at `at` into a gap.
pub(crate) fn make_gap(bytes: &mut [u8], at: usize, len: usize) {
    let words = u32::try_from(len / WORD).expect("an entry is shorter than 2^32 words");
    bytes[at..at + WORD].copy_from_slice(&(u64::from(words) << 32 | u64::from(flag::GAP)).to_le_bytes());
}

/// Length of the gap at `at`; 0 where there is none.
pub(crate) fn gap_len(bytes: &[u8], at: usize) -> usize {
    if at < bytes.len() && bytes[at] == flag::GAP { (word(bytes, at) >> 32) as usize * WORD } else { 0 }
}

/// One item of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// An entry.
    Entry(Head),
    /// So many bytes of nothing.
    Gap(usize),
}

impl Item {
    /// The item at `at`, which is known to be one.
    pub(crate) fn at(bytes: &[u8], at: usize) -> Self {
        match gap_len(bytes, at) {
            0 => Self::Entry(Head::at(bytes, at)),
            len => Self::Gap(len),
        }
    }

    /// How long the item is.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Entry(head) => head.size(),
            Self::Gap(len) => *len,
        }
    }
}

/// What is wrong with bytes that should be a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// It does not begin as a segment does.
    #[error("a segment begins with `TGSL`, found {found:02x?}")]
    NotASegment {
        /// The first bytes.
        found: [u8; 4],
    },
    /// It ends within an item.
    #[error("{needed} bytes expected, {left} are left")]
    Truncated {
        /// What the item needs.
        needed: usize,
        /// What there is.
        left: usize,
    },
    /// Flags that no version up to this one gives.
    #[error("unknown flags {flags:#04x}")]
    UnknownFlags {
        /// The flags.
        flags: u8,
    },
    /// A field that contradicts the flags.
    #[error("{what} where there can be none")]
    Contradiction {
        /// The field.
        what: &'static str,
    },
}

/// The item at `at`, of bytes that may be damaged.
pub(crate) fn decode(bytes: &[u8], at: usize) -> Result<Item, Flaw> {
    let left = bytes.len().saturating_sub(at);
    let need = |needed: usize| if needed > left { Err(Flaw::Truncated { needed, left }) } else { Ok(()) };
    need(WORD)?;
    let flags = bytes[at];
    if flags == flag::GAP {
        let len = (word(bytes, at) >> 32) as usize * WORD;
        if len == 0 || bytes[at + 1..at + 4] != [0; 3] {
            return Err(Flaw::Contradiction { what: "an empty or marked gap" });
        }
        need(len)?;
        return Ok(Item::Gap(len));
    }
    if flags & flag::ENTRY == 0 || flags & !flag::KNOWN != 0 {
        return Err(Flaw::UnknownFlags { flags });
    }
    need(if flags & flag::LONG == 0 { SHORT_HEAD } else { LONG_HEAD })?;
    let head = Head::at(bytes, at);
    if head.is_tombstone() && head.value_len != 0 {
        return Err(Flaw::Contradiction { what: "the value of a tombstone" });
    }
    if !head.is_mapped() && head.entry_key_len != 0 {
        return Err(Flaw::Contradiction { what: "an entry key" });
    }
    need(head.size())?;
    Ok(Item::Entry(head))
}

#[cfg(test)]
mod tests;
