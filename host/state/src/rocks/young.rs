//! What a log over a base does that one without does not.
//!
//! # Words
//! - *to drain*: to write what is sealed to the base; *under way*: somebody does
//! - *to bring up*: to copy an entry of the base into the log, so that a write finds what it writes over
//! - *to give up*: to forget an entry that lies in the base as well
#![expect(clippy::indexing_slicing, reason = "rows, pieces and segment numbers are made here")]

use std::sync::Arc;

use contract::StateScope;
use model::{HostTime, KeyGroup};

use crate::census::{Census, Tally};
use crate::clean::Fate;
use crate::entry::{self, EntryName, Head, Item, SEGMENT_HEADER};
use crate::keyed::PIECE;
use crate::log::Place;
use crate::segment::{Draining, Purpose, is_dead};
use crate::table::{Found, StateLog, tag_of_key, tag_of_name};
use crate::{Error, Options};

/// A sealed segment on its way to the base: what of it was not dead at the mark.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) bytes: Arc<Vec<u8>>,
    dead: Arc<Vec<u64>>,
}

impl Piece {
    /// Where the entries lie, tombstones among them, with their heads.
    pub(super) fn entries(&self) -> impl Iterator<Item = (usize, Head)> + '_ {
        let mut at = SEGMENT_HEADER.len();
        std::iter::from_fn(move || {
            while at < self.bytes.len() {
                let (here, item) = (at, Item::at(&self.bytes, at));
                at += item.size();
                if let Item::Entry(head) = item
                    && !is_dead(&self.dead, here)
                {
                    return Some((here, head));
                }
            }
            None
        })
    }
}

/// What lies under a map or list: an entry key, and value and write time unless it is deleted.
pub(super) type UnderName<'a> = (&'a [u8], Option<(&'a [u8], HostTime)>);

/// Where giving up is: a segment, and the next item in it.
pub(super) type Cursor = Option<(usize, usize)>;

impl StateLog {
    /// An empty log over an empty base.
    pub(super) fn over_base(scope: StateScope, options: Options) -> Self {
        let census = Census::new(&scope.states);
        let mut log = Self::new(scope, options);
        log.log.is_over_base = true;
        log.log.census = Some(census);
        log
    }

    /// What log and base hold.
    pub(super) fn held(&self) -> Tally {
        self.log.census.as_ref().map_or_else(Tally::default, |census| census.held)
    }

    /// What is known to have expired and not to be purged.
    pub(super) fn expired(&mut self) -> Tally {
        let log = &mut self.log;
        log.census.as_mut().map_or_else(Tally::default, |census| census.expired(&log.policies))
    }

    /// As [`Self::expired`], for who only looks.
    pub(super) fn expired_as_known(&self) -> Tally {
        self.log.census.as_ref().map_or_else(Tally::default, |census| census.expired_now(&self.log.policies))
    }

    /// The key group of a name.
    pub(super) fn key_group(&self, name: &EntryName<'_>) -> KeyGroup {
        self.key_group_of(name.hash)
    }

    /// The key group of a hash.
    pub(super) fn key_group_of(&self, hash: u64) -> KeyGroup {
        protocol::key_group::group_of(hash, self.scope.key_group_count)
    }

    /// The base removed so much.
    pub(super) fn passed(&mut self, gone: Tally) {
        if let Some(census) = &mut self.log.census {
            census.passed(gone);
        }
    }

    /// Appends to `missing` the rows whose names the log does not know, not even as deleted.
    #[inline]
    pub(super) fn missing<'a>(
        &self,
        count: usize,
        name: &impl Fn(usize) -> EntryName<'a>,
        mapped: bool,
        missing: &mut Vec<u32>,
    ) -> Result<(), Error> {
        let mut found = [Found::default(); PIECE];
        for start in (0..count).step_by(PIECE) {
            let rows = start..count.min(start + PIECE);
            self.approach(rows.clone(), name, mapped, &mut found)?;
            let absent = found.iter().zip(rows).filter(|&(&at, row)| self.place_of(at, &name(row)).is_none());
            missing.extend(absent.map(|(_, row)| row as u32));
        }
        Ok(())
    }

    /// Whether the log knows `name`, be it as deleted.
    pub(super) fn knows(&self, name: &EntryName<'_>) -> bool {
        let Ok(group) = self.group(name.hash) else { return false };
        let mut found = Found { group, tag: tag_of_name(name), first: None };
        self.look(&mut found, name.entry_key.is_some());
        self.place_of(found, name).is_some()
    }

    /// Copies an entry of the base into the log, which does not know it.
    pub(super) fn bring_up(&mut self, name: &EntryName<'_>, value: &[u8], written: HostTime) -> Result<(), Error> {
        let group = self.group(name.hash)?;
        if !self.log.has_room(1, name.size(value.len())) {
            return Err(self.log.full());
        }
        self.log.uncounted(true);
        let place = self.log.append_copy(name, value, written);
        self.log.uncounted(false);
        let Self { groups, log, directories, .. } = self;
        let (group, tag) = (&mut groups[group], tag_of_name(name));
        if name.entry_key.is_some() {
            let head_tag = tag_of_key(name.hash, name.state);
            let cell = directories.add(log, &mut group.heads, head_tag, name, place);
            group.entries.insert(tag, u64::from(cell));
        } else {
            group.values.insert(tag, place.0);
        }
        Ok(())
    }

    /// Whether a batch was applied since the last mark.
    pub(super) fn is_past_mark(&self) -> bool {
        self.log.segments.iter().any(|segment| segment.is_mutable() && segment.used() > 0)
    }

    /// What is sealed and not on its way to the base; it is from now on. Numbers and pieces.
    pub(super) fn take_undrained(&mut self) -> (Vec<usize>, Vec<Piece>) {
        let (mut numbers, mut pieces) = (Vec::new(), Vec::new());
        for number in 0..self.log.segments.len() {
            let segment = &self.log.segments[number];
            let is_due = !segment.is_vacant() && !segment.is_mutable() && segment.purpose == Purpose::Log;
            if !is_due || segment.draining != Draining::Not {
                continue;
            }
            let bytes = self.log.seal(number);
            let segment = &mut self.log.segments[number];
            segment.draining = Draining::Under;
            numbers.push(number);
            pieces.push(Piece { bytes, dead: segment.share_dead() });
        }
        // What the base purges later, deltas know still.
        self.purged |= !pieces.is_empty() && !self.log.policies.is_empty();
        (numbers, pieces)
    }

    /// What of these segments is not dead lies in the base.
    pub(super) fn drained(&mut self, numbers: &[usize]) {
        for &number in numbers {
            self.log.segments[number].draining = Draining::Done;
            self.log.evictable.push_back(number);
        }
    }

    /// Gives up entries of about `budget` bytes, oldest first; returns the bytes it went over.
    pub(super) fn give_up(&mut self, cursor: &mut Cursor, budget: usize) -> usize {
        let mut done = 0;
        self.log.uncounted(true);
        while done < budget {
            if cursor.is_none() && self.log.evictable.is_empty() {
                self.log.end_moved_over_base();
            }
            let next = || Some((self.log.evictable.pop_front()?, SEGMENT_HEADER.len()));
            let Some((number, at)) = cursor.take().or_else(next) else { break };
            let bytes = self.log.segments[number].bytes();
            if at >= bytes.len() {
                self.log.free(number);
                self.forget_freed_victim();
                continue;
            }
            let item = Item::at(bytes, at);
            if let Item::Entry(head) = item
                && !self.log.segments[number].is_dead(at)
            {
                self.settle(Place::new(number, at), &head, Fate::Drop);
            }
            done += item.size();
            *cursor = Some((number, at + item.size()));
        }
        self.log.uncounted(false);
        done
    }

    /// What the log knows under the map or list `name`, in order, after `after`.
    pub(super) fn entries_under<'a>(
        &'a mut self,
        name: &EntryName<'_>,
        after: Option<&[u8]>,
    ) -> Result<impl Iterator<Item = UnderName<'a>> + 'a, Error> {
        let group = self.group(name.hash)?;
        let Self { groups, log, directories, .. } = self;
        let (log, heads) = (&*log, &groups[group].heads);
        let places = directories.scan(log, heads, tag_of_key(name.hash, name.state), name, after);
        Ok(places.map(move |place| {
            let (bytes, at) = log.bytes(place);
            let value = entry::value(bytes, at).map(|value| (value, entry::written(bytes, at)));
            (entry::entry_key(bytes, at), value)
        }))
    }

    /// Bytes of log segments that are not in the base.
    pub(super) fn undrained_bytes(&self) -> usize {
        let is_young = |segment: &&crate::segment::Segment| !segment.is_in_base();
        self.log.segments.iter().filter(is_young).map(crate::segment::Segment::memory).sum()
    }
}
