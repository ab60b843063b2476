//! The seam: a batch of slots at a time.
//!
//! A batch is looked up in pieces of [`PIECE`] slots and three passes: ask for the index lines, then
//! look into them and ask for the entries, then compare and copy. So a table far larger than the
//! caches costs about one wait for memory per piece instead of two per key.
#![expect(clippy::indexing_slicing, reason = "slots and columns are checked before they are used")]

use std::ops::Range;
use std::sync::Arc;

use contract::{KeyedState, SlotKeys, StateDelta, StateEntry, StateImage, StateStats, StateWrites};
use model::{Column, EventTime, HostTime, OptionalColumn, SlotIndex, StateId};

use crate::entry::{self, EntryName, Head};
use crate::expiry::Look;
use crate::log::{Log, Place};
use crate::table::{Found, Stamp, StateLog, name_of, tag_of_key, tag_of_name};
use crate::{Error, StateKind};

/// Slots that are looked up together: enough to keep the memory busy, few enough that what was asked
/// for is still near when it is used.
pub(crate) const PIECE: usize = 128;

impl StateLog {
    /// Finds group and tag of the names `rows` and asks for the index lines and then, with those at
    /// hand, for the entries they lead to.
    #[inline]
    pub(crate) fn approach<'a>(
        &self,
        rows: Range<usize>,
        name: &impl Fn(usize) -> EntryName<'a>,
        mapped: bool,
        found: &mut [Found; PIECE],
    ) -> Result<(), Error> {
        let piece = &mut found[..rows.len()];
        for (at, row) in piece.iter_mut().zip(rows) {
            let name = name(row);
            *at = Found { group: self.group(name.hash)?, tag: tag_of_name(&name), first: None };
            let group = &self.groups[at.group];
            let index = if mapped { &group.entries } else { &group.values };
            index.prefetch(at.tag);
        }
        piece.iter_mut().for_each(|at| self.look(at, mapped));
        Ok(())
    }

    /// Looks into an index line and asks for the entry that it leads to.
    #[inline]
    pub(crate) fn look(&self, at: &mut Found, mapped: bool) {
        let group = &self.groups[at.group];
        let index = if mapped { &group.entries } else { &group.values };
        at.first = index.first(at.tag);
        if let Some(first) = at.first {
            let reference = index.reference(first);
            let place = if mapped { self.directories.cells.place(reference as u32) } else { Place(reference) };
            self.log.prefetch(place);
        }
    }

    /// Where the entry called `name` lies, which was looked for and not written since.
    #[inline]
    pub(crate) fn place_of(&self, at: Found, name: &EntryName<'_>) -> Option<Place> {
        let first = at.first?;
        let group = &self.groups[at.group];
        Some(if name.entry_key.is_some() {
            let is_called = |cell| self.log.is_called(self.directories.cells.place(cell as u32), name);
            let position = group.entries.find_from(first, at.tag, is_called)?;
            self.directories.cells.place(group.entries.reference(position) as u32)
        } else {
            let position = group.values.find_from(first, at.tag, |place| self.log.is_called(Place(place), name))?;
            Place(group.values.reference(position))
        })
    }

    /// Appends to `out` the values of `count` names that `sees` says of row and write time, a piece at a time.
    #[inline]
    fn load_names<'a>(
        &self,
        count: usize,
        name: impl Fn(usize) -> EntryName<'a>,
        mapped: bool,
        sees: impl Fn(usize, HostTime) -> bool,
        out: &mut OptionalColumn,
    ) -> Result<(), Error> {
        let mut found = [Found::default(); PIECE];
        for start in (0..count).step_by(PIECE) {
            let rows = start..count.min(start + PIECE);
            self.approach(rows.clone(), &name, mapped, &mut found)?;
            for (&at, row) in found.iter().zip(rows) {
                let value = self.place_of(at, &name(row)).and_then(|place| {
                    let (bytes, at) = self.log.bytes(place);
                    entry::value(bytes, at).filter(|_| sees(row, entry::written(bytes, at)))
                });
                out.push(value);
            }
        }
        Ok(())
    }

    /// How the rows of a batch look at `state`; `None` where nothing expires.
    #[inline]
    pub(crate) fn look_at<'a>(&mut self, state: StateId, slots: &'a SlotKeys) -> Option<Look<'a>> {
        self.log.policies.note_now(slots.looks.now);
        self.log.policies.get(state).map(|ttl| Look::new(ttl, slots))
    }

    /// Refuses writes that could not be applied whole.
    pub(crate) fn check(&self, slots: &SlotKeys, writes: &[StateWrites]) -> Result<(), Error> {
        check_slots(slots)?;
        let (mut count, mut bytes) = (0, 0);
        for write in writes {
            let mapped = self.kind(write.state)? != StateKind::Value;
            let expected = write.slots.len();
            check_length("values", write.values.len(), expected)?;
            if !write.written.is_empty() {
                check_length("write times", write.written.len(), expected)?;
            }
            match &write.entry_keys {
                Some(entry_keys) if mapped => check_length("entry keys", entry_keys.len(), expected)?,
                None if !mapped => {}
                _ => return Err(Error::WrongKind { state: write.state, kind: self.kind(write.state)? }),
            }
            for (row, &slot) in write.slots.iter().enumerate() {
                check_slot(slots, slot)?;
                let name = name_of_write(slots, write, row);
                self.group(name.hash)?;
                bytes += name.size(write.values.get(row).map_or(0, <[u8]>::len));
            }
            count += expected;
        }
        if self.log.has_room(count, bytes) { Ok(()) } else { Err(self.log.full()) }
    }

    /// Applies one set of writes that was checked before; `stamp` says of a row when it was written.
    #[inline]
    fn apply_checked<S: Stamp>(
        &mut self,
        slots: &SlotKeys,
        write: &StateWrites,
        stamp: impl Fn(usize) -> S,
    ) -> Result<(), Error> {
        let mut found = [Found::default(); PIECE];
        let (count, mapped) = (write.slots.len(), write.entry_keys.is_some());
        let name = |row| name_of_write(slots, write, row);
        for start in (0..count).step_by(PIECE) {
            let rows = start..count.min(start + PIECE);
            self.approach(rows.clone(), &name, mapped, &mut found)?;
            for (&at, row) in found.iter().zip(rows) {
                self.put(at, &name(row), write.values.get(row), &stamp(row));
            }
        }
        Ok(())
    }
}

/// A write to a state with a time to live.
struct Dated<'a> {
    look: Look<'a>,
    slot: usize,
    at: HostTime,
}

impl Stamp for Dated<'_> {
    #[inline]
    fn mortal(&self) -> bool {
        true
    }

    #[inline]
    fn made(&self) -> HostTime {
        self.at
    }

    #[inline]
    fn over(&self, log: &Log, place: Place) -> HostTime {
        let (bytes, at) = log.bytes(place);
        self.look.refreshed(self.slot, &Head::at(bytes, at), self.at)
    }
}

/// What write `row` is called.
#[inline]
pub(crate) fn name_of_write<'a>(slots: &'a SlotKeys, write: &'a StateWrites, row: usize) -> EntryName<'a> {
    let name = name_of(slots, write.slots[row].0 as usize, write.state);
    EntryName { entry_key: write.entry_keys.as_ref().map(|entry_keys| entry_keys.get(row)), ..name }
}

pub(crate) fn check_length(what: &'static str, found: usize, expected: usize) -> Result<(), Error> {
    if found == expected { Ok(()) } else { Err(Error::Lengths { what, found, expected }) }
}

pub(crate) fn check_slots(slots: &SlotKeys) -> Result<(), Error> {
    check_length("hashes of the slots", slots.hashes.len(), slots.keys.len())
}

#[inline]
pub(crate) fn check_slot(slots: &SlotKeys, slot: SlotIndex) -> Result<(), Error> {
    if (slot.0 as usize) < slots.keys.len() {
        return Ok(());
    }
    Err(Error::NoSuchSlot { slot, slots: slots.keys.len() })
}

impl KeyedState for StateLog {
    fn load(&mut self, state: StateId, slots: &SlotKeys, out: &mut OptionalColumn) -> Result<(), contract::Error> {
        let end = SlotIndex(u32::try_from(slots.keys.len()).expect("a batch has fewer than 2^32 slots"));
        self.load_range(state, slots, SlotIndex(0)..end, out)
    }

    fn load_range(
        &mut self,
        state: StateId,
        slots: &SlotKeys,
        range: Range<SlotIndex>,
        out: &mut OptionalColumn,
    ) -> Result<(), contract::Error> {
        self.expect_kind(state, false)?;
        check_slots(slots)?;
        let (first, end) = (range.start.0 as usize, range.end.0 as usize);
        let missing = Error::NoSuchSlot { slot: range.end, slots: slots.keys.len() };
        let hashes = slots.hashes.get(first..end).ok_or(missing)?;
        hashes.iter().try_for_each(|&hash| self.group(hash).map(|_| ()))?;
        let name = |row| name_of(slots, first + row, state);
        Ok(match self.look_at(state, slots) {
            None => self.load_names(end - first, name, false, |_, _| true, out),
            Some(look) => {
                self.load_names(end - first, name, false, |row, written| look.sees(first + row, written), out)
            }
        }?)
    }

    fn load_entries(
        &mut self,
        state: StateId,
        slots: &SlotKeys,
        which: &[SlotIndex],
        entry_keys: &Column,
        out: &mut OptionalColumn,
    ) -> Result<(), contract::Error> {
        self.expect_kind(state, true)?;
        check_slots(slots)?;
        check_length("entry keys", entry_keys.len(), which.len())?;
        for &slot in which {
            check_slot(slots, slot)?;
            self.group(slots.hashes[slot.0 as usize])?;
        }
        let name = |row: usize| {
            let name = name_of(slots, which[row].0 as usize, state);
            EntryName { entry_key: Some(entry_keys.get(row)), ..name }
        };
        Ok(match self.look_at(state, slots) {
            None => self.load_names(which.len(), name, true, |_, _| true, out),
            Some(look) => {
                let sees = |row: usize, written| look.sees(which[row].0 as usize, written);
                self.load_names(which.len(), name, true, sees, out)
            }
        }?)
    }

    fn scan(
        &mut self,
        state: StateId,
        slots: &SlotKeys,
        slot: SlotIndex,
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<(Column, Column), contract::Error> {
        self.expect_kind(state, true)?;
        check_slots(slots)?;
        check_slot(slots, slot)?;
        let name = name_of(slots, slot.0 as usize, state);
        let look = self.look_at(state, slots);
        let sees = |written| look.is_none_or(|look| look.sees(slot.0 as usize, written));
        let heads = &self.groups[self.group(name.hash)?].heads;
        let (mut keys, mut values) = (Column::default(), Column::default());
        let log = &self.log;
        for place in self.directories.scan(log, heads, tag_of_key(name.hash, state), &name, after) {
            if keys.len() == limit {
                break;
            }
            let (bytes, at) = log.bytes(place);
            if let Some(value) = entry::value(bytes, at).filter(|_| sees(entry::written(bytes, at))) {
                keys.push(entry::entry_key(bytes, at));
                values.push(value);
            }
        }
        Ok((keys, values))
    }

    fn apply(&mut self, slots: &Arc<SlotKeys>, writes: &[StateWrites], now: HostTime) -> Result<(), contract::Error> {
        self.check(slots, writes)?;
        self.log.policies.note_now(now);
        for write in writes {
            match self.look_at(write.state, slots) {
                None => self.apply_checked(slots, write, |_| now)?,
                Some(look) => self.apply_checked(slots, write, |row| {
                    let slot = write.slots[row].0 as usize;
                    Dated { look, slot, at: look.write_time(slot, write.written.get(row).copied(), now) }
                })?,
            }
        }
        Ok(())
    }

    fn changes(
        &mut self,
        slots: &SlotKeys,
        which: &[SlotIndex],
        out: &mut Vec<Option<EventTime>>,
    ) -> Result<(), contract::Error> {
        check_slots(slots)?;
        for &slot in which {
            check_slot(slots, slot)?;
            self.group(slots.hashes[slot.0 as usize])?;
        }
        out.extend(which.iter().map(|slot| self.change_of(slots, slot.0 as usize)));
        Ok(())
    }

    fn snapshot(&mut self) -> Result<StateDelta, contract::Error> {
        Ok(StateDelta { segments: self.mark() })
    }

    fn image(&mut self) -> Result<StateImage, contract::Error> {
        Ok(Box::new(self.image_of_mark()?))
    }

    fn completed(&mut self, watermark: EventTime) {
        self.log.policies.note_watermark(watermark);
    }

    fn time_passed(&mut self, now: HostTime) {
        self.log.policies.note_now(now);
    }

    fn export(
        &mut self,
        visit: &mut dyn FnMut(StateEntry<'_>) -> Result<(), contract::Error>,
    ) -> Result<(), contract::Error> {
        self.visit_entries(visit)
    }

    fn import(&mut self, entry: StateEntry<'_>) -> Result<(), contract::Error> {
        Ok(self.put_entry(entry)?)
    }

    fn maintain(&mut self, budget_bytes: usize) -> Result<usize, contract::Error> {
        Ok(self.clean(budget_bytes))
    }

    fn stats(&self) -> StateStats {
        self.figures()
    }
}
