//! Which row an entry owes its life to.
//!
//! A batch tells the host once what became of an entry, and the host must know when, as if every record
//! had told by itself: the record that made the entry, the latest that wrote it, or the latest that read
//! it, as its time to live says. Records of a batch may be out of order.
//!
//! # Invariants
//! 1. Whatever the batches, an entry has the write time that it would have in batches of one record.

use crate::bindings::types::{Clock, Refresh, Ttl};
use crate::function::{Declared, Row};

/// What a time to live wants to know of writes.
#[derive(Clone, Copy)]
pub(super) struct Life {
    refresh: Option<Refresh>,
    dated: bool,
}

impl Life {
    pub(super) fn of(declared: &Declared) -> Self {
        let dated = declared.ttl.is_some_and(|Ttl { clock, .. }| clock == Clock::EventTime);
        Self { refresh: declared.ttl.map(|ttl| ttl.refresh), dated }
    }

    /// Whether entries expire.
    #[inline]
    pub(super) fn is_mortal(self) -> bool {
        self.refresh.is_some()
    }

    /// Whether a look is a write.
    #[inline]
    pub(super) fn refreshes_on_read(self) -> bool {
        self.refresh == Some(Refresh::OnRead)
    }

    /// Whether the host wants to know the rows.
    #[inline]
    pub(super) fn is_dated(self) -> bool {
        self.dated
    }
}

/// What happened to an entry in this batch.
#[derive(Clone, Copy, Default)]
pub(super) struct Mark {
    row: u32,
    time: i64,
    /// Whether anything did.
    set: bool,
    /// Whether it was deleted, perhaps to be made again: then the host must hear of both.
    deleted: bool,
}

impl Mark {
    /// The row that counts.
    pub(super) fn row(&self) -> u32 {
        self.row
    }

    /// Whether the entry was deleted on the way.
    pub(super) fn was_deleted(&self) -> bool {
        self.deleted
    }

    /// The record `at` wrote the entry, or read it where that counts. `was_absent`: it is known that there
    /// was none.
    pub(super) fn note(&mut self, life: Life, at: Row, was_absent: bool, is_absent: bool) {
        let made = was_absent || !self.set;
        let is_later = life.refresh != Some(Refresh::OnCreate) && at.time >= self.time;
        if made || is_absent || is_later {
            (self.row, self.time) = (at.number, at.time);
        }
        self.set = true;
        self.deleted |= is_absent;
    }
}
