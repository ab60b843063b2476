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
use crate::expiry::Lifetimes;

/// The bytes of a segment, and whether they may change.
#[derive(Debug)]
enum Bytes {
    Open(Vec<u8>),
    Sealed(Arc<Vec<u8>>),
}

/// One bit per word of a segment: 1 where a dead entry starts. Empty while there is none.
#[derive(Debug)]
enum Dead {
    /// Nobody else looks.
    Own(Vec<u64>),
    /// An image looks: the next change is made in a copy.
    Shared(Arc<Vec<u64>>),
}

impl Dead {
    fn bits(&self) -> &[u64] {
        match self {
            Self::Own(bits) => bits,
            Self::Shared(bits) => bits,
        }
    }

    fn bits_mut(&mut self) -> &mut Vec<u64> {
        if let Self::Shared(bits) = self {
            *self = Self::Own(bits.to_vec());
        }
        match self {
            Self::Own(bits) => bits,
            Self::Shared(_) => unreachable!("what was shared was copied"),
        }
    }
}

/// Whether `bits` say that the entry at `at` is dead.
#[inline]
pub(crate) fn is_dead(bits: &[u64], at: usize) -> bool {
    let word = at / WORD;
    bits.get(word / 64).is_some_and(|bits| bits >> (word % 64) & 1 == 1)
}

/// What a segment is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// What the epoch wrote.
    Log,
    /// What the cleaner moved out of sealed segments.
    Moved,
}

/// How far a segment of a table over a base is on its way there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "rocksdb"), expect(dead_code, reason = "without a base nothing is drained"))]
pub(crate) enum Draining {
    /// It is in the log alone.
    #[default]
    Not,
    /// Somebody writes it to the base.
    Under,
    /// Whatever of it is not dead is in the base as well.
    Done,
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
    /// What is known of the expiries of its live entries.
    pub(crate) lifetimes: Lifetimes,
    /// How far it is on its way to the base; without one it is not.
    pub(crate) draining: Draining,
    dead: Dead,
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
        let (lifetimes, dead) = (Lifetimes::default(), Dead::Own(Vec::new()));
        let draining = Draining::default();
        Self { bytes, purpose, live: 0, kept: 0, tombstones: 0, lifetimes, draining, dead }
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

    /// Whether the base holds what of it is not dead. Moved segments of a table over a base are copies.
    pub(crate) fn is_in_base(&self) -> bool {
        self.draining == Draining::Done || self.purpose == Purpose::Moved
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
        bytes + size_of_val(self.dead.bits())
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
        let words = self.bytes().len() / WORD;
        let (bits, word) = (self.dead.bits_mut(), at / WORD);
        if word / 64 >= bits.len() {
            // The first that dies, or a moved segment that grew since.
            bits.reserve_exact(words.div_ceil(64) - bits.len());
            bits.resize(words.div_ceil(64), 0);
        }
        if let Some(bits) = bits.get_mut(word / 64) {
            *bits |= 1 << (word % 64);
        }
    }

    /// Whether the entry at `at` is noted as dead.
    pub(crate) fn is_dead(&self, at: usize) -> bool {
        is_dead(self.dead.bits(), at)
    }

    /// The notes of what is dead, as they are now.
    pub(crate) fn share_dead(&mut self) -> Arc<Vec<u64>> {
        let shared = match std::mem::replace(&mut self.dead, Dead::Own(Vec::new())) {
            Dead::Own(bits) => Arc::new(bits),
            Dead::Shared(bits) => bits,
        };
        self.dead = Dead::Shared(Arc::clone(&shared));
        shared
    }
}
