//! The seam: what a batch names is brought up first, and then it is the log that reads and writes.
//!
//! Only a scan looks into both: a map may be larger than memory.
#![expect(clippy::indexing_slicing, reason = "slots and columns are checked before they are used")]

use std::ops::Range;
use std::sync::Arc;

use contract::{KeyedState, SlotKeys, StateDelta, StateEntry, StateImage, StateStats, StateWrites};
use model::{Column, EventTime, HostTime, KeyGroup, OptionalColumn, SlotIndex, StateId, StateKind};

use super::helper::Job;
use super::table::RocksTable;
use super::{image, key};
use crate::Error;
use crate::entry::EntryName;
use crate::expiry::{Look, expiry};
use crate::keyed::{check_length, check_slot, check_slots, name_of_write};
use crate::table::{StateLog, name_of};

impl RocksTable {
    /// Brings up the values of `state` of the slots in `range`.
    fn bring_slots(&mut self, state: StateId, slots: &SlotKeys, range: Range<usize>) -> Result<(), contract::Error> {
        let hashes = slots.hashes.get(range.clone()).filter(|_| range.end <= slots.keys.len());
        let Some(hashes) = hashes else { return Ok(()) };
        self.young.expect_kind(state, false)?;
        hashes.iter().try_for_each(|&hash| self.young.group(hash).map(|_| ()))?;
        self.bring(range.len(), &|row| name_of(slots, range.start + row, state), false)
    }

    /// Entries of log and base under `name`, in order, as far as they are seen.
    fn merged(
        &mut self,
        name: &EntryName<'_>,
        look: Option<(Look<'_>, usize)>,
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<(Column, Column), contract::Error> {
        let mut page = Page { keys: Column::default(), values: Column::default(), look, limit };
        let Self { young, base, .. } = self;
        let group = young.key_group(name);
        let mut log = young.entries_under(name, after)?.peekable();
        let mut prefix = Vec::new();
        key::push_prefix(&mut prefix, group, name);
        let end = key::after_prefix(&prefix);
        let mut first = prefix;
        if let Some(after) = after {
            first.extend_from_slice(after);
            first.push(0);
        }
        base.visit(&first, end, |stored| {
            let entry_key = stored.name.entry_key.unwrap_or_default();
            while let Some((key, entry)) = log.next_if(|(key, _)| *key < entry_key) {
                page.put(key, entry);
            }
            // What the log knows is newer.
            if log.peek().is_none_or(|(key, _)| *key != entry_key) {
                page.put(entry_key, Some((stored.value, stored.written)));
            }
            Ok(!page.is_full())
        })?;
        for (key, entry) in log {
            page.put(key, entry);
        }
        Ok((page.keys, page.values))
    }

    /// The least time at which an entry of the base under `name` expires, after `first` and not after `last`.
    fn change_in_base(
        &mut self,
        name: &EntryName<'_>,
        (first, last): (EventTime, EventTime),
        least: &mut Option<EventTime>,
    ) -> Result<(), contract::Error> {
        let Some(ttl) = self.young.log.policies.get(name.state) else { return Ok(()) };
        if !self.may_hold_under(name) {
            return Ok(());
        }
        let mut prefix = Vec::new();
        key::push_prefix(&mut prefix, self.young.key_group(name), name);
        let young = &self.young;
        self.base.visit(&prefix, key::after_prefix(&prefix), |stored| {
            let time = EventTime(expiry(stored.written, ttl));
            if first < time && time <= last && !young.knows(&stored.name) {
                *least = Some(least.map_or(time, |least| least.min(time)));
            }
            Ok(true)
        })
    }

    /// The states that expire by event time: values, or maps and lists.
    fn expiring(&self, mapped: bool) -> Vec<StateId> {
        let states = self.young.log.policies.by_event_time().map(|(state, _)| state);
        states.filter(|&state| self.young.kind(state).is_ok_and(|kind| (kind != StateKind::Value) == mapped)).collect()
    }

    fn check_which(&self, slots: &SlotKeys, which: &[SlotIndex]) -> Result<(), Error> {
        check_slots(slots)?;
        which.iter().try_for_each(|&slot| {
            check_slot(slots, slot)?;
            self.young.group(slots.hashes[slot.0 as usize]).map(|_| ())
        })
    }
}

/// What a scan found.
struct Page<'a> {
    keys: Column,
    values: Column,
    look: Option<(Look<'a>, usize)>,
    limit: usize,
}

impl Page<'_> {
    fn is_full(&self) -> bool {
        self.keys.len() >= self.limit
    }

    fn put(&mut self, key: &[u8], entry: Option<(&[u8], HostTime)>) {
        let Some((value, written)) = entry else { return };
        if !self.is_full() && self.look.is_none_or(|(look, slot)| look.sees(slot, written)) {
            self.keys.push(key);
            self.values.push(value);
        }
    }
}

/// Visits an entry of the base, unless the log knows its name.
fn visit_if_older(
    young: &StateLog,
    stored: &key::Stored<'_>,
    visit: &mut dyn FnMut(StateEntry<'_>) -> Result<(), contract::Error>,
) -> Result<bool, contract::Error> {
    if !young.knows(&stored.name) {
        let EntryName { state, hash, key, entry_key } = stored.name;
        let (value, written_millis) = (stored.value, stored.written.0);
        visit(StateEntry { state, hash, key, entry_key, value, written_millis })?;
    }
    Ok(true)
}

impl KeyedState for RocksTable {
    fn load(&mut self, state: StateId, slots: &SlotKeys, out: &mut OptionalColumn) -> Result<(), contract::Error> {
        self.tidy()?;
        check_slots(slots)?;
        self.bring_slots(state, slots, 0..slots.keys.len())?;
        self.young.load(state, slots, out)
    }

    fn load_range(
        &mut self,
        state: StateId,
        slots: &SlotKeys,
        range: Range<SlotIndex>,
        out: &mut OptionalColumn,
    ) -> Result<(), contract::Error> {
        self.tidy()?;
        check_slots(slots)?;
        self.bring_slots(state, slots, range.start.0 as usize..range.end.0 as usize)?;
        self.young.load_range(state, slots, range, out)
    }

    fn load_entries(
        &mut self,
        state: StateId,
        slots: &SlotKeys,
        which: &[SlotIndex],
        entry_keys: &Column,
        out: &mut OptionalColumn,
    ) -> Result<(), contract::Error> {
        self.tidy()?;
        self.young.expect_kind(state, true)?;
        check_length("entry keys", entry_keys.len(), which.len())?;
        self.check_which(slots, which)?;
        let name = |row: usize| {
            let name = name_of(slots, which[row].0 as usize, state);
            EntryName { entry_key: Some(entry_keys.get(row)), ..name }
        };
        self.bring(which.len(), &name, true)?;
        self.young.load_entries(state, slots, which, entry_keys, out)
    }

    fn scan(
        &mut self,
        state: StateId,
        slots: &SlotKeys,
        slot: SlotIndex,
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<(Column, Column), contract::Error> {
        self.tidy()?;
        self.young.expect_kind(state, true)?;
        self.check_which(slots, &[slot])?;
        let name = name_of(slots, slot.0 as usize, state);
        if !self.may_hold_under(&name) {
            return self.young.scan(state, slots, slot, after, limit);
        }
        let look = self.young.look_at(state, slots).map(|look| (look, slot.0 as usize));
        self.merged(&name, look, after, limit)
    }

    fn apply(&mut self, slots: &Arc<SlotKeys>, writes: &[StateWrites], now: HostTime) -> Result<(), contract::Error> {
        self.tidy()?;
        self.young.check(slots, writes)?;
        for write in writes {
            let name = |row| name_of_write(slots, write, row);
            self.bring(write.slots.len(), &name, write.entry_keys.is_some())?;
        }
        self.young.apply(slots, writes, now)
    }

    fn changes(
        &mut self,
        slots: &SlotKeys,
        which: &[SlotIndex],
        out: &mut Vec<Option<EventTime>>,
    ) -> Result<(), contract::Error> {
        self.tidy()?;
        self.check_which(slots, which)?;
        for state in self.expiring(false) {
            self.bring(which.len(), &|row| name_of(slots, which[row].0 as usize, state), false)?;
        }
        let mut changes = Vec::with_capacity(which.len());
        self.young.changes(slots, which, &mut changes)?;
        for state in self.expiring(true) {
            for (slot, change) in which.iter().map(|slot| slot.0 as usize).zip(&mut changes) {
                let looks = &slots.looks;
                if let (Some(&first), Some(&last)) = (looks.earliest.get(slot), looks.latest.get(slot))
                    && first < last
                {
                    self.change_in_base(&name_of(slots, slot, state), (first, last), change)?;
                }
            }
        }
        out.append(&mut changes);
        Ok(())
    }

    fn snapshot(&mut self) -> Result<StateDelta, contract::Error> {
        self.tidy()?;
        let segments = self.young.mark();
        self.drain()?;
        // A table that nobody writes to is purged as well.
        self.purge()?;
        Ok(StateDelta { segments })
    }

    fn image(&mut self) -> Result<StateImage, contract::Error> {
        self.tidy()?;
        if self.young.is_past_mark() {
            return Err(Error::NotAtMark.into());
        }
        self.drain()?;
        let (order, image) = image::order(&self.base, self.young.log.segment_bytes());
        self.helper.give(Job::Image(order))?;
        #[cfg(test)]
        while self.helper.step() {}
        Ok(Box::new(image))
    }

    fn completed(&mut self, watermark: EventTime) {
        self.young.completed(watermark);
        self.tell_limits();
    }

    fn time_passed(&mut self, now: HostTime) {
        self.young.time_passed(now);
        self.tell_limits();
    }

    fn export(
        &mut self,
        visit: &mut dyn FnMut(StateEntry<'_>) -> Result<(), contract::Error>,
    ) -> Result<(), contract::Error> {
        self.tidy()?;
        let groups = self.young.scope.key_groups.clone();
        for group in groups.groups() {
            self.young.visit_group(usize::from(group - groups.first.0), visit)?;
            let end = KeyGroup(group.wrapping_add(1));
            let end = (end.0 > 0).then(|| end.0.to_be_bytes().to_vec());
            let young = &self.young;
            self.base.visit(&group.to_be_bytes(), end, |stored| visit_if_older(young, &stored, visit))?;
        }
        Ok(())
    }

    fn visit_states(
        &mut self,
        states: &[StateId],
        visit: &mut dyn FnMut(StateEntry<'_>) -> Result<(), contract::Error>,
    ) -> Result<(), contract::Error> {
        self.tidy()?;
        let young = &self.young;
        young.visit_entries(&mut |entry| if states.contains(&entry.state) { visit(entry) } else { Ok(()) })?;
        for group in young.scope.key_groups.groups() {
            for &state in states {
                let mut prefix = Vec::new();
                key::push_state(&mut prefix, KeyGroup(group), state);
                self.base.visit(&prefix, key::after_prefix(&prefix), |stored| visit_if_older(young, &stored, visit))?;
            }
        }
        Ok(())
    }

    fn import(&mut self, entry: StateEntry<'_>) -> Result<(), contract::Error> {
        self.tidy()?;
        let StateEntry { state, hash, key, entry_key, .. } = entry;
        if self.young.group(hash).is_ok() {
            self.bring(1, &|_| EntryName { state, hash, key, entry_key }, entry_key.is_some())?;
        }
        Ok(self.young.put_entry(entry)?)
    }

    fn maintain(&mut self, budget_bytes: usize) -> Result<usize, contract::Error> {
        self.tidy()?;
        let cleaned = self.young.clean(budget_bytes) + self.give_up(budget_bytes);
        let has_purged = cleaned < budget_bytes && self.purge()?;
        Ok(cleaned + usize::from(has_purged))
    }

    fn stats(&self) -> StateStats {
        self.figures()
    }
}
