//! The rows of a batch as they are found in an arena.

use std::sync::Arc;

use model::{EventTime, Origins, Position, RecordBatch, SourceId, Span, SplitIndex, Values};

use super::lines::Line;

/// What a batch may hold.
pub(super) struct Limits {
    pub(super) rows: usize,
    pub(super) bytes: usize,
    /// Whether an empty line is no record.
    pub(super) skips_empty: bool,
}

/// Lines that follow one another in an arena, some passed over.
pub(super) struct Rows {
    source: SourceId,
    split: SplitIndex,
    /// The position of the arena's first byte; wraps, because that byte may be a tail's.
    arena_position: u64,
    /// Where in the arena the next line starts.
    pub(super) at: usize,
    /// Lines passed over.
    pub(super) empty_lines: u64,
    bytes: usize,
    spans: Vec<Span>,
    origins: Origins,
}

impl Rows {
    /// No rows yet; the next line starts at `start` of the arena, which is `position` of the stream.
    pub(super) fn new(source: SourceId, split: SplitIndex, start: usize, position: u64) -> Self {
        let arena_position = position.wrapping_sub(start as u64);
        Self {
            source,
            split,
            arena_position,
            at: start,
            empty_lines: 0,
            bytes: 0,
            spans: Vec::new(),
            origins: Origins::default(),
        }
    }

    /// The position of the next line.
    #[inline]
    pub(super) fn position(&self) -> u64 {
        self.arena_position.wrapping_add(self.at as u64)
    }

    /// Takes the next line, or passes over it; `false`, and nothing is done, when it does not fit.
    #[inline]
    pub(super) fn take(&mut self, line: Line, limits: &Limits) -> bool {
        if line.end == 0 && limits.skips_empty {
            self.empty_lines += 1;
            self.at += line.next;
            return true;
        }
        let has_room = self.spans.len() < limits.rows && self.bytes + line.end <= limits.bytes;
        // A record too large for any batch travels alone.
        if !has_room && !self.spans.is_empty() {
            return false;
        }
        self.push(line);
        true
    }

    /// Takes the next line as a row.
    #[inline]
    pub(super) fn push(&mut self, line: Line) {
        let to_u32 = |at: usize| u32::try_from(at).expect("an arena is far below 4 GiB");
        self.spans.push(Span { start: to_u32(self.at), end: to_u32(self.at + line.end) });
        self.origins.push(self.source, self.split, Position(self.position()));
        self.bytes += line.end;
        self.at += line.next;
    }

    /// The batch, if there is a row.
    pub(super) fn into_batch(self, arena: &Arc<Vec<u8>>) -> Option<RecordBatch> {
        if self.spans.is_empty() {
            return None;
        }
        Some(RecordBatch {
            timestamps: vec![EventTime::UNKNOWN; self.spans.len()],
            values: Values::new(Arc::clone(arena), self.spans),
            origins: self.origins,
            ..RecordBatch::default()
        })
    }
}
