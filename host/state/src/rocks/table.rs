//! A table over a base: what keeps log and base together.
//!
//! # Words
//! - *pass*: a walk of the compaction over all key groups, slice by slice, so that what has expired goes

use std::ops::Range;
use std::sync::Arc;

use contract::StateStats;
use model::{KeyGroup, TtlClock};

use super::base::Base;
use super::filter::{self, Filter, SharedFilter};
use super::helper::{Done, Drain, Helper, Job};
use super::key;
use super::young::Cursor;
use super::{Bounds, Error};
use crate::census::Tally;
use crate::entry::EntryName;
use crate::table::StateLog;

/// Slices of a pass: what a helper does at a time, while drains wait.
const SLICES: u16 = 16;
/// Names of the filter for each entry that is held, from which on it is made anew: at first names that were deleted
/// cost a look each, in the end they fill the filter.
const STALE_NAMES: u64 = 3;
/// A filter is not made anew for fewer names.
const LEAST_NAMES: u64 = 1 << 20;
/// Bytes that are given up at most while a batch is waited for.
const GIVE_UP_BYTES: usize = 1 << 20;

/// A pass that goes on.
#[derive(Clone, Copy, Debug)]
struct Pass {
    next: u16,
    /// What had expired when it began.
    expired: Tally,
}

/// What a search in the base needs room for.
#[derive(Debug, Default)]
struct Scratch {
    missing: Vec<u32>,
    prints: Vec<u64>,
    keys: Vec<u8>,
    /// Where the key of a row lies in `keys`.
    spans: Vec<(Range<usize>, u32)>,
}

/// Keyed state over RocksDB. See [`crate::rocks`].
#[derive(Debug)]
pub(super) struct RocksTable {
    pub(super) young: StateLog,
    pub(super) base: Arc<Base>,
    pub(super) filter: SharedFilter,
    pub(super) helper: Helper,
    bounds: Bounds,
    /// Where giving up is.
    cursor: Cursor,
    /// Bytes that are under way to the base.
    under_way: usize,
    pass: Option<Pass>,
    /// A slice of the pass is being rewritten.
    is_purging: bool,
    is_refiltering: bool,
    /// What the base had removed when the last pass ended.
    removed: Tally,
    failed: Option<Error>,
    scratch: Scratch,
}

impl RocksTable {
    pub(super) fn new(young: StateLog, base: Arc<Base>, filter: SharedFilter, helper: Helper, bounds: Bounds) -> Self {
        Self {
            young,
            base,
            filter,
            helper,
            bounds,
            cursor: None,
            under_way: 0,
            pass: None,
            is_purging: false,
            is_refiltering: false,
            removed: Tally::default(),
            failed: None,
            scratch: Scratch::default(),
        }
    }

    /// Hears what the helper did, and keeps the log small.
    ///
    /// # Errors
    /// The first error of the base, again and again.
    pub(super) fn tidy(&mut self) -> Result<(), contract::Error> {
        while let Some(done) = self.helper.poll()? {
            self.hear(done);
        }
        if let Some(error) = &self.failed {
            return Err(error.clone().into());
        }
        self.give_up(GIVE_UP_BYTES);
        Ok(())
    }

    fn hear(&mut self, done: Done) {
        match done {
            Done::Drained { numbers, bytes } => {
                self.under_way -= bytes;
                self.young.drained(&numbers);
            }
            Done::Purged => {
                self.is_purging = false;
                self.end_pass();
            }
            Done::Refiltered(filter) => {
                self.is_refiltering = false;
                self.filter = filter;
            }
            Done::Begun => {}
            Done::Failed(error) => self.failed = self.failed.take().or(Some(error)),
        }
    }

    /// Bytes that the log may keep.
    pub(super) fn young_bytes(&self) -> usize {
        self.bounds.young_bytes
    }

    /// Gives up copies, where the log is larger than it may be.
    pub(super) fn give_up(&mut self, budget: usize) -> usize {
        let excess = self.young.log.memory.saturating_sub(self.bounds.young_bytes);
        if excess == 0 { 0 } else { self.young.give_up(&mut self.cursor, budget) }
    }

    /// Gives everything that is sealed to the helper. Waits where too much is under way.
    ///
    /// # Errors
    /// The first error of the base.
    pub(super) fn drain(&mut self) -> Result<(), contract::Error> {
        let (numbers, pieces) = self.young.take_undrained();
        if pieces.is_empty() {
            return Ok(());
        }
        let bytes = pieces.iter().map(|piece| piece.bytes.len()).sum();
        self.under_way += bytes;
        self.helper.give(Job::Drain(Drain { numbers, pieces, bytes }))?;
        self.refilter()?;
        while self.under_way > self.bounds.under_way_bytes.max(bytes)
            && let Some(done) = self.helper.wait()?
        {
            self.hear(done);
        }
        self.tidy()
    }

    /// Waits until the helper has done everything.
    ///
    /// # Errors
    /// The first error of the base.
    #[cfg(test)]
    pub(super) fn settle_all(&mut self) -> Result<(), contract::Error> {
        while let Some(done) = self.helper.wait()? {
            self.hear(done);
        }
        self.tidy()
    }

    /// Has the filter made anew where most of its names are gone.
    fn refilter(&mut self) -> Result<(), Error> {
        let names = self.filter.names();
        if self.is_refiltering || names < LEAST_NAMES || names / STALE_NAMES < self.young.held().entries {
            return Ok(());
        }
        self.is_refiltering = true;
        self.helper.give(Job::Refilter)
    }

    /// Copies into the log what the base holds under names that the log does not know.
    ///
    /// # Errors
    /// When the base cannot be read.
    pub(super) fn bring<'a>(
        &mut self,
        count: usize,
        name: &impl Fn(usize) -> EntryName<'a>,
        mapped: bool,
    ) -> Result<(), contract::Error> {
        if self.filter.is_empty() {
            return Ok(());
        }
        let Self { young, base, filter, scratch, .. } = self;
        let Scratch { missing, prints, keys, spans } = scratch;
        missing.clear();
        young.missing(count, name, mapped, missing)?;
        keep_likely(filter, name, missing, prints);
        if missing.is_empty() {
            return Ok(());
        }
        keys.clear();
        spans.clear();
        for &row in missing.iter() {
            let name = name(row as usize);
            let start = keys.len();
            key::push(keys, young.key_group(&name), &name);
            spans.push((start..keys.len(), row));
        }
        let key_at = |span: &Range<usize>| keys.get(span.clone()).unwrap_or_default();
        spans.sort_unstable_by(|one, other| key_at(&one.0).cmp(key_at(&other.0)));
        spans.dedup_by(|one, other| key_at(&one.0) == key_at(&other.0));
        base.get(spans.iter().map(|span| key_at(&span.0)), |nth, value| {
            let Some((span, row)) = spans.get(nth) else { return Ok(()) };
            let stored = key::decode(key_at(span), value).ok_or_else(|| base.whose().damaged("read"))?;
            Ok(young.bring_up(&name(*row as usize), stored.value, stored.written)?)
        })
    }

    /// Whether the base may hold something under the map or list `name`.
    pub(super) fn may_hold_under(&self, name: &EntryName<'_>) -> bool {
        self.filter.may_hold(filter::print_of_key(name))
    }

    /// Begins a pass, or goes on with it, where it is worth it. Whether there was something to do.
    ///
    /// # Errors
    /// When the helper is gone.
    pub(super) fn purge(&mut self) -> Result<bool, contract::Error> {
        self.tell_limits();
        if self.is_purging {
            return Ok(false);
        }
        let groups = self.young.scope.key_groups.clone();
        let Pass { next, expired } = match self.pass {
            Some(pass) => pass,
            None => {
                let (expired, held) = (self.left_over(), self.young.held().entries);
                if expired.entries == 0 || expired.entries * 100 < held * u64::from(self.bounds.purge_percent) {
                    return Ok(false);
                }
                Pass { next: groups.first.0, expired: self.young.expired() }
            }
        };
        let slice = (groups.end.0 - groups.first.0).div_ceil(SLICES).max(1);
        let end = groups.end.0.min(next.saturating_add(slice));
        self.pass = Some(Pass { next: end, expired });
        self.is_purging = true;
        self.helper.give(Job::Purge { first: KeyGroup(next), end: KeyGroup(end) })?;
        self.tidy()?;
        Ok(true)
    }

    /// Ends the pass, if that was its last slice.
    fn end_pass(&mut self) {
        let Some(pass) = self.pass.filter(|pass| pass.next >= self.young.scope.key_groups.end.0) else { return };
        self.pass = None;
        let removed = self.base.purging.removed();
        let since = removed.entries - self.removed.entries;
        self.removed = removed;
        let gone = if since >= pass.expired.entries {
            pass.expired
        } else {
            // Some of it has not reached the base yet.
            let share = pass.expired.bytes / pass.expired.entries.max(1);
            Tally { entries: since, bytes: since * share }
        };
        self.young.passed(gone);
    }

    /// What has expired and is not known to be gone.
    pub(super) fn left_over(&mut self) -> Tally {
        let mut expired = self.young.expired();
        let mut since = self.base.purging.removed();
        since.take(self.removed);
        expired.take(Tally { bytes: 0, ..since });
        expired
    }

    /// Tells the compaction how far the clocks are.
    pub(super) fn tell_limits(&mut self) {
        for clock in [TtlClock::EventTime, TtlClock::ProcessingTime] {
            self.base.purging.note(clock, self.young.log.policies.limit(clock));
        }
    }

    pub(super) fn figures(&self) -> StateStats {
        let (log, held) = (self.young.figures(), self.young.held());
        let filter = self.filter.bytes() as u64;
        StateStats {
            live_entries: held.entries,
            live_bytes: held.bytes,
            dead_bytes: log.dead_bytes,
            index_bytes: log.index_bytes + filter,
            memory_bytes: log.memory_bytes + filter,
            expired_entries: self.expired_entries(),
        }
    }

    fn expired_entries(&self) -> u64 {
        let removed = self.base.purging.removed().entries - self.removed.entries;
        self.young.expired_as_known().saturating_sub(removed)
    }
}

/// Keeps the rows whose names the base may hold.
fn keep_likely<'a>(
    filter: &Filter,
    name: &impl Fn(usize) -> EntryName<'a>,
    missing: &mut Vec<u32>,
    prints: &mut Vec<u64>,
) {
    prints.clear();
    prints.extend(missing.iter().map(|&row| filter::print_of(&name(row as usize))));
    prints.iter().for_each(|&print| filter.prefetch(print));
    let mut likely = prints.iter().map(|&print| filter.may_hold(print));
    missing.retain(|_| likely.next().unwrap_or_default());
}
