//! A table over a base: what keeps log and base together.
//!
//! # Words
//! - *pass*: a walk of the compaction over everything, slice by slice, so that what has expired goes

use std::ops::Range;
use std::sync::Arc;

use contract::StateStats;
use model::TtlClock;

use super::base::Base;
use super::filter::{self, Filter, SharedFilter};
use super::helper::{Done, Drain, Helper, Job};
use super::key;
use super::young::Cursor;
use super::{Bounds, Error};
use crate::census::Tally;
use crate::entry::EntryName;
use crate::table::StateLog;

/// Names of the filter for each entry that is held, from which on it is made anew: at first names that were deleted
/// cost a look each, in the end they fill the filter.
const STALE_NAMES: u64 = 3;
/// Nor before it has so many times the names that it had when it was made.
const GROWN: u64 = 2;
/// Bytes that are given up while a batch is waited for, where the log did not grow by more than half of it.
const GIVE_UP_BYTES: usize = 1 << 20;

/// A pass that goes on.
#[derive(Debug)]
struct Pass {
    /// The key with which the next slice begins.
    next: Vec<u8>,
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
    pub(super) bounds: Bounds,
    /// Where giving up is.
    cursor: Cursor,
    /// Bytes of the log when it was last looked whether it is too large.
    last_bytes: usize,
    /// Bytes that are under way to the base.
    under_way: usize,
    pass: Option<Pass>,
    /// A slice of the pass is being rewritten.
    is_purging: bool,
    is_refiltering: bool,
    /// Names of the filter when it was made anew.
    fresh_names: u64,
    /// What the base had removed when the census last heard of it.
    removed: u64,
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
            last_bytes: 0,
            under_way: 0,
            pass: None,
            is_purging: false,
            is_refiltering: false,
            fresh_names: 0,
            removed: 0,
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
        // Twice as fast as it grows: a log of any values is back below its bound before it was written once over.
        let grown = self.young.log.memory.saturating_sub(self.last_bytes);
        self.give_up(GIVE_UP_BYTES.max(2 * grown));
        self.last_bytes = self.young.log.memory;
        Ok(())
    }

    fn hear(&mut self, done: Done) {
        match done {
            Done::Drained { numbers, bytes } => {
                self.under_way -= bytes;
                self.young.drained(&numbers);
            }
            Done::Purged { next } => {
                self.is_purging = false;
                match (&mut self.pass, next) {
                    (Some(pass), Some(next)) => pass.next = next,
                    _ => self.end_pass(),
                }
            }
            Done::Refiltered(filter) => {
                self.is_refiltering = false;
                self.fresh_names = filter.names();
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
        let least = self.bounds.least_names.max(self.fresh_names * GROWN);
        if self.is_refiltering || names < least || names / STALE_NAMES < self.held().entries {
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
        let first = match &mut self.pass {
            Some(pass) => std::mem::take(&mut pass.next),
            None => {
                self.note_removed();
                let (expired, held) = (self.young.expired(), self.young.held().entries);
                if expired.entries == 0 || expired.entries * 100 < held * u64::from(self.bounds.purge_percent) {
                    return Ok(false);
                }
                self.pass = Some(Pass { next: Vec::new(), expired });
                Vec::new()
            }
        };
        self.is_purging = true;
        self.helper.give(Job::Purge { first, slice_bytes: self.bounds.slice_bytes })?;
        self.tidy()?;
        Ok(true)
    }

    /// Ends the pass: what had expired when it began is gone, but for what has not reached the base yet.
    fn end_pass(&mut self) {
        let Some(pass) = self.pass.take() else { return };
        let since = self.take_removed();
        self.young.passed(pass.expired.share(since));
    }

    /// Tells the census what compactions removed by themselves. A pass tells it when it ends.
    fn note_removed(&mut self) {
        let since = self.take_removed();
        if since > 0 {
            let expired = self.young.expired();
            self.young.passed(expired.share(since));
        }
    }

    /// How many entries the base removed that the census has not heard of.
    fn removed_since(&self) -> u64 {
        self.base.purging.removed() - self.removed
    }

    /// As [`Self::removed_since`]; the census hears of it now.
    fn take_removed(&mut self) -> u64 {
        let since = self.removed_since();
        self.removed += since;
        since
    }

    /// What has expired and is not known to be gone.
    pub(super) fn left_over(&self) -> Tally {
        let mut expired = self.young.expired_as_known();
        expired.take(expired.share(self.removed_since()));
        expired
    }

    /// What log and base hold, but for what is known to be gone.
    pub(super) fn held(&self) -> Tally {
        let (expired, mut held) = (self.young.expired_as_known(), self.young.held());
        held.take(expired.share(self.removed_since()));
        held
    }

    /// Tells the compaction how far the clocks are.
    pub(super) fn tell_limits(&mut self) {
        for clock in [TtlClock::EventTime, TtlClock::ProcessingTime] {
            self.base.purging.note(clock, self.young.log.policies.limit(clock));
        }
    }

    pub(super) fn figures(&self) -> StateStats {
        let (log, held) = (self.young.figures(), self.held());
        let filter = self.filter.bytes() as u64;
        StateStats {
            live_entries: held.entries,
            live_bytes: held.bytes,
            dead_bytes: log.dead_bytes,
            index_bytes: log.index_bytes + filter,
            memory_bytes: log.memory_bytes + filter,
            expired_entries: self.left_over().entries,
        }
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
