//! A segment: a run of entries that only grows, until it is sealed and never changes again.
//!
//! # Words
//! - *open*: its epoch lasts, so entries in it may change; *sealed*: its bytes are shared and final
//! - *log* segment: what the epoch wrote, hence part of its delta; *moved* segment: entries of earlier
//!   epochs, copied by the cleaner, hence part of no delta
//! - *live*: entries that reads can see; *kept*: tombstones of the running epoch, which its delta
//!   needs; *dead*: everything else
//!
//! # Invariants
//! 1. The bytes of a sealed segment never change; which of its entries are dead is noted beside them.
//! 2. A dead entry of an open log segment is a gap, so a delta holds at most one entry per name.

use std::sync::Arc;

use crate::entry::{SEGMENT_HEADER, WORD};

/// The bytes of a segment, and whether they may change.
#[derive(Debug)]
enum Bytes {
    Open(Vec<u8>),
    Sealed(Arc<Vec<u8>>),
}

/// What a segment is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// What the epoch wrote.
    Log,
    /// What the cleaner moved out of sealed segments.
    Moved,
}

/// A segment of a table.
#[derive(Debug)]
pub(crate) struct Segment {
    bytes: Bytes,
    pub(crate) purpose: Purpose,
    /// Bytes of live entries.
    pub(crate) live: usize,
    /// Bytes of tombstones of the running epoch.
    pub(crate) kept: usize,
    /// Tombstones that the index still knows.
    pub(crate) tombstones: usize,
    /// One bit per word of a sealed segment: 1 where a dead entry starts. Empty while there is none.
    dead: Box<[u64]>,
}

impl Segment {
    /// A segment without memory, for a number nobody uses.
    pub(crate) fn vacant() -> Self {
        Self::with(Bytes::Open(Vec::new()), Purpose::Log)
    }

    /// An empty segment.
    pub(crate) fn open(purpose: Purpose, capacity: usize) -> Self {
        let mut bytes = Vec::with_capacity(capacity);
        bytes.extend_from_slice(&SEGMENT_HEADER);
        Self::with(Bytes::Open(bytes), purpose)
    }

    /// A segment that was written before.
    pub(crate) fn sealed(bytes: Arc<Vec<u8>>) -> Self {
        Self::with(Bytes::Sealed(bytes), Purpose::Log)
    }

    fn with(bytes: Bytes, purpose: Purpose) -> Self {
        Self { bytes, purpose, live: 0, kept: 0, tombstones: 0, dead: Box::default() }
    }

    /// Header and items.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Open(bytes) => bytes,
            Bytes::Sealed(bytes) => bytes,
        }
    }

    /// The bytes, where they may still change.
    #[inline]
    pub(crate) fn open_bytes(&mut self) -> Option<&mut Vec<u8>> {
        match &mut self.bytes {
            Bytes::Open(bytes) => Some(bytes),
            Bytes::Sealed(_) => None,
        }
    }

    /// Whether an entry in it may be changed in place: it is part of the delta of the running epoch.
    #[inline]
    pub(crate) fn is_mutable(&self) -> bool {
        self.purpose == Purpose::Log && matches!(self.bytes, Bytes::Open(_))
    }

    pub(crate) fn is_vacant(&self) -> bool {
        self.bytes().is_empty()
    }

    /// Bytes of items.
    pub(crate) fn used(&self) -> usize {
        self.bytes().len().saturating_sub(SEGMENT_HEADER.len())
    }

    /// Bytes of memory it takes.
    pub(crate) fn memory(&self) -> usize {
        let bytes = match &self.bytes {
            Bytes::Open(bytes) => bytes.capacity(),
            Bytes::Sealed(bytes) => bytes.capacity(),
        };
        bytes + size_of_val(&*self.dead)
    }

    /// Makes the bytes final and shares them; room beyond them is given back.
    pub(crate) fn seal(&mut self) -> Arc<Vec<u8>> {
        let sealed = match std::mem::replace(&mut self.bytes, Bytes::Open(Vec::new())) {
            Bytes::Open(mut bytes) => {
                if bytes.len() < bytes.capacity() - bytes.capacity() / 8 {
                    bytes.shrink_to_fit();
                }
                Arc::new(bytes)
            }
            Bytes::Sealed(bytes) => bytes,
        };
        self.bytes = Bytes::Sealed(Arc::clone(&sealed));
        sealed
    }

    /// Notes that the entry at `at` is dead.
    pub(crate) fn set_dead(&mut self, at: usize) {
        if self.dead.is_empty() {
            self.dead = vec![0; (self.bytes().len() / WORD).div_ceil(64)].into_boxed_slice();
        }
        let word = at / WORD;
        if word / 64 >= self.dead.len() {
            // A moved segment that grew since its first entry died.
            let mut longer = std::mem::take(&mut self.dead).into_vec();
            longer.resize((self.bytes().len() / WORD).div_ceil(64), 0);
            self.dead = longer.into_boxed_slice();
        }
        if let Some(bits) = self.dead.get_mut(word / 64) {
            *bits |= 1 << (word % 64);
        }
    }

    /// Whether the entry at `at` is noted as dead.
    pub(crate) fn is_dead(&self, at: usize) -> bool {
        let word = at / WORD;
        self.dead.get(word / 64).is_some_and(|bits| bits >> (word % 64) & 1 == 1)
    }
}
