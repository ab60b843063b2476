//! Images: a whole table as it was at a mark, written by another thread while the table goes on.
//!
//! At the mark nothing is copied: the segments are shared, which are final, and so are the notes of what
//! is dead in them; the table makes a copy of its own of the notes of a segment when something in it dies
//! while an image still looks (an eighth of a byte per eight of the segment, once). That is two counters
//! per segment, so about 1000 for a gigabyte. A segment of which all is live becomes part of the image as
//! it is; of the others the live entries are copied into fresh segments, one at a time, by whoever asks
//! for the next.
//!
//! # Invariants
//! 1. Every name that had a value at the mark occurs once, in any order; nothing else occurs.
//! 2. An image holds its segments in memory until they were asked for.

use std::sync::Arc;

use crate::Error;
use crate::entry::{self, Item, SEGMENT_HEADER};
use crate::segment;
use crate::table::StateLog;

/// A segment at the mark.
#[derive(Debug)]
struct Piece {
    bytes: Arc<Vec<u8>>,
    dead: Arc<Vec<u64>>,
    /// Nothing but live entries.
    whole: bool,
    /// The next item to look at.
    at: usize,
}

/// The segments of an image, to be asked for one by one.
#[derive(Debug)]
pub(crate) struct Image {
    pieces: std::vec::IntoIter<Piece>,
    current: Option<Piece>,
    segment_bytes: usize,
    /// The segment being filled; empty while there is none.
    filling: Vec<u8>,
}

impl StateLog {
    /// The table as it is, which is as it was at the last mark.
    pub(crate) fn image_of_mark(&mut self) -> Result<Image, Error> {
        let mut pieces = Vec::with_capacity(self.log.segments.len());
        if self.log.segments.iter().any(|segment| segment.is_mutable() && segment.used() > 0) {
            return Err(Error::NotAtMark);
        }
        self.log.end_moved();
        for number in 0..self.log.segments.len() {
            let needed = self.log.segments.get(number).is_some_and(|segment| segment.live > 0);
            if !needed {
                continue;
            }
            let bytes = self.log.seal(number);
            if let Some(segment) = self.log.segments.get_mut(number) {
                let whole = segment.live == segment.used();
                pieces.push(Piece { bytes, dead: segment.share_dead(), whole, at: SEGMENT_HEADER.len() });
            }
        }
        let segment_bytes = self.log.segment_bytes();
        Ok(Image { pieces: pieces.into_iter(), current: None, segment_bytes, filling: Vec::new() })
    }
}

impl Image {
    /// Copies live entries of `piece` until the segment is full; whether it is.
    fn fill(&mut self, piece: &mut Piece) -> bool {
        while let Some(bytes) = piece.bytes.get(piece.at..).filter(|rest| !rest.is_empty()) {
            let item = Item::at(&piece.bytes, piece.at);
            if let Item::Entry(head) = item
                && !head.is_tombstone()
                && !segment::is_dead(&piece.dead, piece.at)
            {
                let length = SEGMENT_HEADER.len().max(self.filling.len()) + head.size();
                if !self.filling.is_empty() && length > self.segment_bytes {
                    return true;
                }
                if self.filling.is_empty() {
                    self.filling.reserve_exact(self.segment_bytes.max(length));
                    self.filling.extend_from_slice(&SEGMENT_HEADER);
                }
                let start = self.filling.len();
                self.filling.extend(bytes.iter().take(head.size()));
                entry::clear_first(&mut self.filling, start);
            }
            piece.at += item.size();
        }
        false
    }

    /// The segment that was filled.
    fn filled(&mut self) -> Arc<Vec<u8>> {
        let mut bytes = std::mem::take(&mut self.filling);
        bytes.shrink_to_fit();
        Arc::new(bytes)
    }
}

impl Iterator for Image {
    type Item = Result<Arc<Vec<u8>>, contract::Error>;

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(mut piece) = self.current.take().or_else(|| self.pieces.next()) {
            if piece.whole {
                return Some(Ok(piece.bytes));
            }
            if self.fill(&mut piece) {
                self.current = Some(piece);
                return Some(Ok(self.filled()));
            }
        }
        (!self.filling.is_empty()).then(|| Ok(self.filled()))
    }
}

#[cfg(test)]
mod tests;
