//! The rows of a batch as they are found in an arena.

use std::sync::Arc;

use model::{EventTime, Origins, Position, RecordBatch, SourceId, Span, SplitIndex, Values};

use super::lines::Line;

/// Lines that follow one another in an arena, some passed over.
pub(super) struct Rows {
    source: SourceId,
    split: SplitIndex,
    /// The position of the arena's first byte; wraps, because that byte may be a tail's.
    arena_position: u64,
    /// Where in the arena the next line starts.
    pub(super) at: usize,
    pub(super) bytes: usize,
    pub(super) spans: Vec<Span>,
    origins: Origins,
}

impl Rows {
    /// No rows yet; the next line starts at `start` of the arena, which is `position` of the stream.
    pub(super) fn new(source: SourceId, split: SplitIndex, start: usize, position: u64) -> Self {
        let arena_position = position.wrapping_sub(start as u64);
        Self { source, split, arena_position, at: start, bytes: 0, spans: Vec::new(), origins: Origins::default() }
    }

    /// The position of the next line.
    #[inline]
    pub(super) fn position(&self) -> u64 {
        self.arena_position.wrapping_add(self.at as u64)
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
