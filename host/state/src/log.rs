//! The segments of a table, and what may happen to an entry in them.
//!
//! # Words
//! - *place*: where an entry lies: the number of its segment and its first word
//! - *oversize*: an entry longer than an eighth of a segment; it gets a segment of its own, so that
//!   the room lost at the end of a segment stays below an eighth
//!
//! # Invariants
//! 1. `used`, `live`, `kept`, `memory`, `entries` and `payload` are exact after every call; no segment is due
//!    to be swept before `due`.
//! 2. A segment number is given again only when nothing refers to the segment.
//!
//! # Absent on purpose
//! Names and indexes: who may call an entry dead is the table's affair.
#![expect(clippy::indexing_slicing, reason = "places are made here, and a segment outlives every reference to it")]

use std::collections::VecDeque;
use std::sync::Arc;

use model::HostTime;

use crate::Error;
use crate::census::Census;
use crate::entry::{self, EntryName, Head, SEGMENT_HEADER, WORD, flag};
use crate::expiry::{NEVER, Policies, earlier};
use crate::index::REFERENCE_BITS;
use crate::prefetch::prefetch;
use crate::segment::{Purpose, Segment};

/// Bits of the word within a segment.
const WORD_BITS: u32 = 18;
/// The longest segment that may hold more than one entry, in bytes: 2 MiB.
pub(crate) const MAX_SEGMENT_BYTES: usize = WORD << WORD_BITS;
/// Most segments of a table. At 1 MiB each they hold 256 GiB.
const MAX_SEGMENTS: usize = 1 << (REFERENCE_BITS - WORD_BITS);

/// Where an entry lies. Never 0: a segment begins with its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(pub(crate) u64);

impl Place {
    #[inline]
    pub(crate) fn new(segment: usize, at: usize) -> Self {
        Self((segment as u64) << WORD_BITS | (at / WORD) as u64)
    }

    #[inline]
    pub(crate) fn segment(self) -> usize {
        (self.0 >> WORD_BITS) as usize
    }

    #[inline]
    pub(crate) fn at(self) -> usize {
        (self.0 & ((1 << WORD_BITS) - 1)) as usize * WORD
    }
}

/// The segments of a table.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) segments: Vec<Segment>,
    pub(crate) policies: Policies,
    /// When the first segment is to be swept, by clock.
    pub(crate) due: [i64; 2],
    vacant: Vec<u32>,
    tail: Option<usize>,
    moved: Option<usize>,
    segment_bytes: usize,
    /// A segment emptied, or an epoch ended, since somebody asked.
    changed: bool,
    /// Bytes of items in all segments.
    pub(crate) used: usize,
    /// Bytes of live entries.
    pub(crate) live: usize,
    /// Bytes of tombstones of the running epoch.
    pub(crate) kept: usize,
    /// Live entries.
    pub(crate) entries: usize,
    /// Bytes of their keys, entry keys and values.
    pub(crate) payload: usize,
    /// Bytes of memory of all segments.
    pub(crate) memory: usize,
    /// Whether what is not found here may lie in a base behind the log.
    pub(crate) is_over_base: bool,
    /// What table and base hold together; `None` without a base, where the log itself knows.
    pub(crate) census: Option<Census>,
    /// Segments over a base that may be given up, oldest first.
    pub(crate) evictable: VecDeque<usize>,
}

impl Log {
    pub(crate) fn new(segment_bytes: usize, policies: Policies) -> Self {
        Self {
            segments: Vec::new(),
            policies,
            due: NEVER,
            vacant: Vec::new(),
            tail: None,
            moved: None,
            segment_bytes: segment_bytes.clamp(64, MAX_SEGMENT_BYTES).next_multiple_of(WORD),
            changed: false,
            used: 0,
            live: 0,
            kept: 0,
            entries: 0,
            payload: 0,
            memory: 0,
            is_over_base: false,
            census: None,
            evictable: VecDeque::new(),
        }
    }

    pub(crate) fn segment_bytes(&self) -> usize {
        self.segment_bytes
    }

    /// Bytes of the lists of segments.
    pub(crate) fn list_bytes(&self) -> usize {
        self.segments.capacity() * size_of::<Segment>() + self.vacant.capacity() * size_of::<u32>()
    }

    /// Whether a segment emptied, or an epoch ended, since the last call.
    pub(crate) fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// Whether entries may still be added to `segment`.
    pub(crate) fn grows(&self, segment: usize) -> bool {
        self.tail == Some(segment) || self.moved == Some(segment)
    }

    /// Whether `count` entries of `bytes` in all are sure to find room.
    pub(crate) fn has_room(&self, count: usize, bytes: usize) -> bool {
        let shared = bytes / (self.segment_bytes - self.segment_bytes / 8 - WORD) + 2;
        let oversize = count.min(bytes / (self.segment_bytes / 8) + 1);
        self.vacant.len() + (MAX_SEGMENTS - self.segments.len()) >= shared + oversize
    }

    /// The segment at `place`, and where in it.
    #[inline]
    pub(crate) fn bytes(&self, place: Place) -> (&[u8], usize) {
        (self.segments[place.segment()].bytes(), place.at())
    }

    /// Asks for the lines with the head and the key of an entry.
    #[inline]
    pub(crate) fn prefetch(&self, place: Place) {
        let (bytes, at) = self.bytes(place);
        if let [first, .., last] = &bytes[at..bytes.len().min(at + 64)] {
            prefetch(first);
            prefetch(last);
        }
    }

    /// Whether the entry at `place` is called `name`.
    #[inline]
    pub(crate) fn is_called(&self, place: Place, name: &EntryName<'_>) -> bool {
        let (bytes, at) = self.bytes(place);
        entry::is_called(bytes, at, name)
    }

    /// Appends an entry for a name that has none.
    #[inline]
    pub(crate) fn append(&mut self, name: &EntryName<'_>, value: Option<&[u8]>, flags: u8, now: HostTime) -> Place {
        let value_len = value.map_or(0, <[u8]>::len);
        let size = name.size(value_len);
        let number = self.segment_for(Purpose::Log, size);
        let segment = &mut self.segments[number];
        if value.is_some() {
            segment.live += size;
            self.live += size;
            self.entries += 1;
            self.payload += name.key.len() + name.entry_key.map_or(0, <[u8]>::len) + value_len;
        } else {
            segment.kept += size;
            segment.tombstones += 1;
            self.kept += size;
        }
        self.used += size;
        let bytes = segment.open_bytes().expect("a segment that grows is open");
        let place = Place::new(number, bytes.len());
        entry::append(bytes, name, value, flags, now);
        if !self.policies.is_empty() || self.is_over_base {
            let head = Head::at(bytes, place.at());
            self.count_lifetime(number, &head, true);
        }
        place
    }

    /// Appends a copy of an entry that lies in the base.
    #[cfg(feature = "rocksdb")]
    pub(crate) fn append_copy(&mut self, name: &EntryName<'_>, value: &[u8], written: HostTime) -> Place {
        let size = name.size(value.len());
        let number = self.segment_for(Purpose::Moved, size);
        let bytes = self.segments[number].open_bytes().expect("a segment that grows is open");
        let place = Place::new(number, bytes.len());
        entry::append(bytes, name, Some(value), 0, written);
        let head = Head::at(bytes, place.at());
        self.used += size;
        self.count(number, &head, true);
        place
    }

    /// Whether the entry at `place` can be deleted without a tombstone: no earlier epoch knows its name.
    #[inline]
    pub(crate) fn is_forgettable(&self, place: Place) -> bool {
        let segment = &self.segments[place.segment()];
        segment.is_mutable() && Head::at(segment.bytes(), place.at()).is_first()
    }

    /// Writes to the entry at `place`, which is called `name`; `None` leaves a tombstone. Returns where
    /// the entry lies now.
    pub(crate) fn rewrite(&mut self, place: Place, name: &EntryName<'_>, value: Option<&[u8]>, now: HostTime) -> Place {
        let (bytes, at) = self.bytes(place);
        let head = Head::at(bytes, at);
        let mutable = self.segments[place.segment()].is_mutable();
        let deleted_before = !mutable && head.is_tombstone();
        if deleted_before && value.is_none() || mutable && self.overwrite(place, &head, value, now) {
            return place;
        }
        // Nothing of an earlier epoch needs to be deleted where the name was new in this one, or where
        // an earlier epoch deleted it. Over a base it may lie there still, under what deleted it.
        let first = deleted_before && !self.is_over_base || mutable && head.is_first();
        self.kill(place);
        self.append(name, value, if first { flag::FIRST } else { 0 }, now)
    }

    /// Changes an entry of the running epoch where it lies; `false` when the value has no room there.
    fn overwrite(&mut self, place: Place, old: &Head, value: Option<&[u8]>, now: HostTime) -> bool {
        let (number, at) = (place.segment(), place.at());
        let segment = &mut self.segments[number];
        let bytes = segment.open_bytes().expect("a mutable segment is open");
        let room = old.size() + entry::gap_len(bytes, at + old.size());
        if !entry::overwrite(bytes, at, room, value, now) {
            return false;
        }
        let new = Head::at(bytes, at);
        let is_alike = old.is_tombstone() == new.is_tombstone() && old.payload() == new.payload();
        if is_alike && self.policies.is_empty() {
            // Neither a figure nor an expiry changes.
            return true;
        }
        self.count(number, old, false);
        self.count(number, &new, true);
        true
    }

    /// Adds an entry to the figures, or takes it out. A tombstone counts only while its epoch lasts.
    fn count(&mut self, number: usize, head: &Head, add: bool) {
        let change = |figure: &mut usize, by: usize| *figure = if add { *figure + by } else { *figure - by };
        let segment = &mut self.segments[number];
        if !head.is_tombstone() {
            change(&mut segment.live, head.size());
            change(&mut self.live, head.size());
            change(&mut self.entries, 1);
            change(&mut self.payload, head.payload());
            if !self.policies.is_empty() || self.is_over_base {
                self.count_lifetime(number, head, add);
            }
            return;
        }
        change(&mut segment.tombstones, 1);
        if segment.is_mutable() {
            change(&mut segment.kept, head.size());
            change(&mut self.kept, head.size());
        }
    }

    /// Adds an entry to what its segment knows of expiries, or takes it out.
    fn count_lifetime(&mut self, number: usize, head: &Head, add: bool) {
        if head.is_tombstone() {
            return;
        }
        if let Some(census) = &mut self.census {
            census.count(&self.policies, head, add);
        }
        let lifetimes = &mut self.segments[number].lifetimes;
        lifetimes.count(&self.policies, head, add);
        if add {
            self.due = earlier(self.due, lifetimes.due());
        }
    }

    /// The entry at `place` is no longer needed.
    pub(crate) fn kill(&mut self, place: Place) {
        let (number, at) = (place.segment(), place.at());
        let head = Head::at(self.segments[number].bytes(), at);
        self.count(number, &head, false);
        let segment = &mut self.segments[number];
        self.changed |= segment.live == 0 && segment.kept == 0;
        if segment.is_mutable() {
            let bytes = segment.open_bytes().expect("a mutable segment is open");
            entry::make_gap(bytes, at, head.size());
        } else {
            self.memory -= segment.memory();
            segment.set_dead(at);
            self.memory += segment.memory();
        }
    }

    /// Makes the entry at `place` of the running epoch a tombstone, where it lies.
    pub(crate) fn bury(&mut self, place: Place) {
        let head = Head::at(self.segments[place.segment()].bytes(), place.at());
        let buried = self.overwrite(place, &head, None, head.written);
        debug_assert!(buried, "a tombstone has room where a value had");
    }

    /// Copies the entry at `place` to where it may stay, and kills it where it was.
    pub(crate) fn relocate(&mut self, place: Place) -> Place {
        let (number, at) = (place.segment(), place.at());
        let size = Head::at(self.segments[number].bytes(), at).size();
        let purpose = if self.segments[number].is_mutable() { Purpose::Log } else { Purpose::Moved };
        let target = self.segment_for(purpose, size);
        let mut bytes = std::mem::take(self.segments[target].open_bytes().expect("a segment that grows is open"));
        let start = bytes.len();
        bytes.extend_from_slice(&self.segments[number].bytes()[at..at + size]);
        let head = Head::at(&bytes, start);
        *self.segments[target].open_bytes().expect("a segment that grows is open") = bytes;
        self.used += size;
        self.count(target, &head, true);
        self.kill(place);
        Place::new(target, start)
    }

    /// The number of a segment of `purpose` that has room for `size` bytes.
    #[inline]
    fn segment_for(&mut self, purpose: Purpose, size: usize) -> usize {
        let current = if purpose == Purpose::Log { self.tail } else { self.moved };
        match current {
            Some(number) if self.segments[number].bytes().len() + size <= self.segment_bytes => number,
            _ => self.open_segment(purpose, size),
        }
    }

    #[cold]
    fn open_segment(&mut self, purpose: Purpose, size: usize) -> usize {
        let oversize = size > self.segment_bytes / 8;
        let capacity = if oversize { SEGMENT_HEADER.len() + size } else { self.segment_bytes };
        let number = self.place_segment(Segment::open(purpose, capacity));
        if oversize && purpose == Purpose::Moved && self.is_over_base {
            self.evictable.push_back(number);
        }
        if !oversize {
            match purpose {
                Purpose::Log => self.tail = Some(number),
                Purpose::Moved => {
                    // A moved segment that is full is final at once.
                    if let Some(full) = self.moved.replace(number) {
                        self.seal(full);
                        if self.is_over_base {
                            self.evictable.push_back(full);
                        }
                    }
                }
            }
        }
        number
    }

    /// Gives a segment a number.
    fn place_segment(&mut self, segment: Segment) -> usize {
        self.memory += segment.memory();
        self.used += segment.used();
        if let Some(number) = self.vacant.pop() {
            self.segments[number as usize] = segment;
            return number as usize;
        }
        assert!(self.segments.len() < MAX_SEGMENTS, "whoever writes asked `has_room` before");
        self.segments.push(segment);
        self.segments.len() - 1
    }

    /// Gives the memory of `segment` back. Nothing refers to it any more.
    pub(crate) fn free(&mut self, number: usize) {
        let segment = std::mem::replace(&mut self.segments[number], Segment::vacant());
        debug_assert!(segment.live == 0 && segment.kept == 0 && segment.tombstones == 0, "segment {number} is needed");
        self.memory -= segment.memory();
        self.used -= segment.used();
        self.tail = self.tail.filter(|&tail| tail != number);
        self.moved = self.moved.filter(|&moved| moved != number);
        self.vacant.push(u32::try_from(number).expect("segments are fewer than 2^18"));
    }

    /// Gives a segment back of which nothing was adopted.
    pub(crate) fn free_if_unneeded(&mut self, number: usize) {
        let segment = &self.segments[number];
        if segment.live == 0 && segment.kept == 0 && segment.tombstones == 0 {
            self.free(number);
        }
    }

    /// Makes the bytes of a segment final.
    pub(crate) fn seal(&mut self, number: usize) -> Arc<Vec<u8>> {
        let segment = &mut self.segments[number];
        self.memory -= segment.memory();
        let bytes = segment.seal();
        self.memory += segment.memory();
        bytes
    }

    /// Ends the segment that entries are moved to: what was moved so far is final.
    pub(crate) fn end_moved(&mut self) {
        self.moved = None;
    }

    /// As [`Self::end_moved`], so that what was copied so far can be given up.
    #[cfg(feature = "rocksdb")]
    pub(crate) fn end_moved_over_base(&mut self) {
        if let Some(number) = self.moved.take() {
            self.seal(number);
            self.evictable.push_back(number);
        }
    }

    /// Ends the epoch: seals what it wrote and returns it. Its tombstones have served from here on.
    pub(crate) fn mark(&mut self) -> Vec<Arc<Vec<u8>>> {
        let mut sealed = Vec::new();
        self.changed = true;
        for number in 0..self.segments.len() {
            let segment = &mut self.segments[number];
            if !segment.is_mutable() || segment.is_vacant() {
                continue;
            }
            if segment.live == 0 && segment.kept == 0 {
                self.free(number);
                continue;
            }
            self.kept -= segment.kept;
            segment.kept = 0;
            sealed.push(self.seal(number));
        }
        self.tail = None;
        sealed
    }

    /// Takes a segment that was written before. Its entries are nobody's until [`Self::adopt`].
    ///
    /// # Errors
    /// [`Error::Full`].
    pub(crate) fn take_in(&mut self, bytes: Arc<Vec<u8>>) -> Result<usize, Error> {
        if !self.has_room(0, 0) {
            return Err(Error::Full { segments: MAX_SEGMENTS });
        }
        Ok(self.place_segment(Segment::sealed(bytes)))
    }

    /// The entry at `place` of a segment that was taken in is live.
    pub(crate) fn adopt(&mut self, place: Place, head: &Head) {
        self.count(place.segment(), head, true);
    }

    /// The entry at `place` of a segment that was taken in is not needed.
    pub(crate) fn reject(&mut self, place: Place) {
        let segment = &mut self.segments[place.segment()];
        self.memory -= segment.memory();
        segment.set_dead(place.at());
        self.memory += segment.memory();
    }

    /// Whether entries that come and go are none to the census: they are copies of what lies in the base.
    pub(crate) fn uncounted(&mut self, uncounted: bool) {
        if let Some(census) = &mut self.census {
            census.is_paused = uncounted;
        }
    }

    /// The error of a table without room.
    pub(crate) fn full(&self) -> Error {
        Error::Full { segments: MAX_SEGMENTS }
    }
}
