//! Record values: spans of a shared arena, so that a record that passes through is never copied.
//!
//! # Invariants
//! 1. Every span lies inside the arena, or is [`Span::ABSENT`].
//! 2. The arena never changes once shared.

use std::sync::Arc;

use crate::{Column, OptionalColumn};

/// Where a value lies in its arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span of a value that does not exist: a tombstone.
    pub const ABSENT: Self = Self { start: u32::MAX, end: u32::MAX };

    /// Length in bytes; 0 for an absent value.
    #[must_use]
    #[inline]
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// Whether it has no bytes.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}

/// The values of a batch, one per row.
#[derive(Clone, Debug, Default)]
pub struct Values {
    arena: Arc<Vec<u8>>,
    spans: Vec<Span>,
}

impl Values {
    /// Values over an arena.
    ///
    /// # Panics
    /// When a span reaches outside the arena.
    #[must_use]
    pub fn new(arena: Arc<Vec<u8>>, spans: Vec<Span>) -> Self {
        let len = arena.len();
        let inside = |span: &Span| *span == Span::ABSENT || (span.start <= span.end && span.end as usize <= len);
        assert!(spans.iter().all(inside), "a span lies inside its arena");
        Self { arena, spans }
    }

    /// Number of rows.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The value of `row`, `None` for a tombstone.
    ///
    /// # Panics
    /// When `row` is not below [`Self::len`].
    #[must_use]
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "invariant 1 keeps the range inside; the row is the caller's promise")]
    pub fn get(&self, row: usize) -> Option<&[u8]> {
        let span = self.spans[row];
        if span == Span::ABSENT {
            return None;
        }
        Some(&self.arena[span.start as usize..span.end as usize])
    }

    /// The values, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<&[u8]>> {
        (0..self.len()).map(|row| self.get(row))
    }

    /// The bytes the spans point into.
    #[must_use]
    pub fn arena(&self) -> &Arc<Vec<u8>> {
        &self.arena
    }

    /// Where each value lies.
    #[must_use]
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Bytes of all values.
    #[must_use]
    pub fn total_bytes(&self) -> usize {
        self.spans.iter().map(|span| span.len()).sum()
    }

    /// The values of `rows`, in that order, over the same arena.
    ///
    /// # Panics
    /// When a row is not below [`Self::len`].
    #[must_use]
    #[expect(clippy::indexing_slicing, reason = "the rows are the caller's promise")]
    pub fn select(&self, rows: &[u32]) -> Self {
        Self { arena: Arc::clone(&self.arena), spans: rows.iter().map(|&row| self.spans[row as usize]).collect() }
    }

    /// The values copied end to end, as they cross into the sandbox.
    #[must_use]
    pub fn to_column(&self) -> OptionalColumn {
        let mut column = OptionalColumn::with_capacity(self.len(), self.total_bytes());
        for value in self.iter() {
            column.push(value);
        }
        column
    }
}

impl From<OptionalColumn> for Values {
    fn from(column: OptionalColumn) -> Self {
        let (present, items) = column.into_parts();
        let (bytes, ends) = items.into_parts();
        let mut start = 0;
        let mut spans = Vec::with_capacity(ends.len());
        for (row, &end) in ends.iter().enumerate() {
            let exists = present.get(row) != Some(&0);
            spans.push(if exists { Span { start, end } } else { Span::ABSENT });
            start = end;
        }
        Self { arena: Arc::new(bytes), spans }
    }
}

impl From<Column> for Values {
    fn from(column: Column) -> Self {
        OptionalColumn::from(column).into()
    }
}
