//! Keyed state in a sorted map: slow, plain, and what the others are measured by.

mod segment;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use model::{
    Blame, Column, EventTime, HostTime, KeyGroup, OptionalColumn, Refresh, Retry, SlotIndex, StateDescriptor, StateId,
    StateKind, TtlClock,
};

use crate::{
    Error, KeyedState, SlotKeys, StateBackend, StateDelta, StateEntry, StateImage, StatePart, StateScope, StateStats,
    StateWrites,
};

/// State, key, and entry key; the last is empty for a value.
type Name = (StateId, Vec<u8>, Vec<u8>);

/// What lies under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cell {
    hash: u64,
    written: i64,
    value: Vec<u8>,
}

/// Makes tables that are sorted maps.
#[derive(Clone, Copy, Debug, Default)]
pub struct MapBackend;

impl StateBackend for MapBackend {
    fn open(&self, scope: StateScope) -> Result<Box<dyn KeyedState>, Error> {
        Ok(Box::new(MapState::new(scope)))
    }

    fn restore(
        &self,
        scope: StateScope,
        parts: &mut dyn Iterator<Item = Result<StatePart, Error>>,
    ) -> Result<Box<dyn KeyedState>, Error> {
        let mut table = MapState::new(scope);
        for part in parts {
            table.take_part(&part?)?;
        }
        Ok(Box::new(table))
    }
}

/// The keyed state of one subtask as a sorted map. Hashes tell it only whose a key is.
#[derive(Clone, Debug)]
pub struct MapState {
    scope: StateScope,
    entries: BTreeMap<Name, Cell>,
    /// What changed since the last mark.
    changed: BTreeMap<Name, u64>,
    /// What a complete checkpoint allows to purge by event time.
    watermark: EventTime,
    /// The latest look or write by the host's clock.
    now: HostTime,
}

fn refuse(message: String) -> Error {
    Error::new(Blame::Host, Retry::No, message)
}

fn check_length(what: &str, found: usize, expected: usize) -> Result<(), Error> {
    if found == expected { Ok(()) } else { Err(refuse(format!("{found} {what}, {expected} expected"))) }
}

fn check_slots(slots: &SlotKeys) -> Result<(), Error> {
    check_length("hashes of the slots", slots.hashes.len(), slots.keys.len())
}

/// The key of `slot`.
fn key(slots: &SlotKeys, slot: SlotIndex) -> Result<&[u8], Error> {
    let count = slots.keys.len();
    if slot.0 as usize >= count {
        return Err(refuse(format!("slot {slot} was named, the batch has {count}")));
    }
    Ok(slots.keys.get(slot.0 as usize))
}

impl MapState {
    /// An empty table.
    #[must_use]
    pub fn new(scope: StateScope) -> Self {
        Self {
            scope,
            entries: BTreeMap::new(),
            changed: BTreeMap::new(),
            watermark: EventTime::UNKNOWN,
            now: HostTime(i64::MIN),
        }
    }

    fn declared(&self, state: StateId) -> Option<&StateDescriptor> {
        self.scope.states.iter().find(|declared| declared.id == state)
    }

    fn expect_kind(&self, state: StateId, mapped: bool) -> Result<(), Error> {
        let declared = self.declared(state).ok_or_else(|| refuse(format!("state {state} was not declared")))?;
        if (declared.kind != StateKind::Value) == mapped {
            return Ok(());
        }
        Err(refuse(format!("state {state} has the kind {:?}, the call is for another", declared.kind)))
    }

    /// The key of `slot`, which the subtask owns.
    fn owned<'s>(&self, slots: &'s SlotKeys, slot: SlotIndex) -> Result<&'s [u8], Error> {
        let key = key(slots, slot)?;
        let hash = slots.hashes.get(slot.0 as usize).copied().unwrap_or_default();
        let group = KeyGroup::of_hash(hash, self.scope.key_group_count);
        if self.scope.key_groups.contains(group) {
            return Ok(key);
        }
        Err(refuse(format!("slot {slot} has key group {group}, which the subtask does not own")))
    }

    /// The first time at which `cell` is no longer visible, and the clock that decides.
    fn expiry(&self, state: StateId, cell: &Cell) -> Option<(TtlClock, i64)> {
        let ttl = self.declared(state)?.ttl?;
        Some((ttl.clock, cell.written.saturating_add_unsigned(ttl.millis)))
    }

    /// Whether the rows of `slot` see `cell`.
    fn is_visible(&self, state: StateId, cell: &Cell, slots: &SlotKeys, slot: SlotIndex) -> bool {
        match self.expiry(state, cell) {
            None => true,
            Some((TtlClock::ProcessingTime, expiry)) => slots.looks.now.0 < expiry,
            Some((TtlClock::EventTime, expiry)) => {
                slots.looks.latest.get(slot.0 as usize).is_none_or(|latest| latest.0 < expiry)
            }
        }
    }

    fn visible<'s>(&'s self, name: &Name, slots: &SlotKeys, slot: SlotIndex) -> Option<&'s Cell> {
        self.entries.get(name).filter(|cell| self.is_visible(name.0, cell, slots, slot))
    }

    /// The write time of a new value under `name`.
    fn write_time(&self, name: &Name, at: i64, slots: &SlotKeys, slot: SlotIndex) -> i64 {
        let Some(old) = self.visible(name, slots, slot) else { return at };
        match self.declared(name.0).and_then(|declared| declared.ttl) {
            Some(ttl) if ttl.refresh == Refresh::OnCreate => old.written,
            Some(_) => old.written.max(at),
            None => at,
        }
    }

    fn put(&mut self, name: Name, cell: Option<Cell>, hash: u64) {
        self.changed.insert(name.clone(), hash);
        match cell {
            Some(cell) => self.entries.insert(name, cell),
            None => self.entries.remove(&name),
        };
    }

    fn take_part(&mut self, part: &StatePart) -> Result<(), Error> {
        for segment in &part.segments {
            for read in segment::decode(segment)? {
                let group = KeyGroup::of_hash(read.hash, self.scope.key_group_count);
                if !self.scope.key_groups.contains(group) || !part.key_groups.contains(group) {
                    continue;
                }
                match read.cell {
                    Some((written, value)) => {
                        self.entries.insert(read.name, Cell { hash: read.hash, written, value });
                    }
                    None => {
                        self.entries.remove(&read.name);
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether `cell` may be purged: nobody who looks from now on can see it.
    fn is_purgeable(&self, state: StateId, cell: &Cell) -> bool {
        match self.expiry(state, cell) {
            None => false,
            Some((TtlClock::ProcessingTime, expiry)) => expiry <= self.now.0,
            Some((TtlClock::EventTime, expiry)) => expiry <= self.watermark.0,
        }
    }

    /// Refuses writes that could not be applied whole.
    fn check(&self, slots: &SlotKeys, writes: &[StateWrites]) -> Result<(), Error> {
        check_slots(slots)?;
        for write in writes {
            self.expect_kind(write.state, write.entry_keys.is_some())?;
            let expected = write.slots.len();
            check_length("values", write.values.len(), expected)?;
            check_length("entry keys", write.entry_keys.as_ref().map_or(expected, Column::len), expected)?;
            let written = if write.written.is_empty() { expected } else { write.written.len() };
            check_length("write times", written, expected)?;
            write.slots.iter().try_for_each(|&slot| self.owned(slots, slot).map(|_| ()))?;
        }
        Ok(())
    }
}

impl KeyedState for MapState {
    fn load(&mut self, state: StateId, slots: &SlotKeys, out: &mut OptionalColumn) -> Result<(), Error> {
        self.expect_kind(state, false)?;
        self.now = self.now.max(slots.looks.now);
        check_slots(slots)?;
        (0u32..).zip(&slots.hashes).try_for_each(|(slot, _)| self.owned(slots, SlotIndex(slot)).map(|_| ()))?;
        for (slot, key) in (0u32..).zip(slots.keys.iter()) {
            let name = (state, key.to_vec(), Vec::new());
            out.push(self.visible(&name, slots, SlotIndex(slot)).map(|cell| cell.value.as_slice()));
        }
        Ok(())
    }

    fn load_entries(
        &mut self,
        state: StateId,
        slots: &SlotKeys,
        which: &[SlotIndex],
        entry_keys: &Column,
        out: &mut OptionalColumn,
    ) -> Result<(), Error> {
        self.expect_kind(state, true)?;
        self.now = self.now.max(slots.looks.now);
        check_slots(slots)?;
        check_length("entry keys", entry_keys.len(), which.len())?;
        which.iter().try_for_each(|&slot| self.owned(slots, slot).map(|_| ()))?;
        for (&slot, entry_key) in which.iter().zip(entry_keys.iter()) {
            let name = (state, key(slots, slot)?.to_vec(), entry_key.to_vec());
            out.push(self.visible(&name, slots, slot).map(|cell| cell.value.as_slice()));
        }
        Ok(())
    }

    fn scan(
        &mut self,
        state: StateId,
        slots: &SlotKeys,
        slot: SlotIndex,
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<(Column, Column), Error> {
        self.expect_kind(state, true)?;
        self.now = self.now.max(slots.looks.now);
        check_slots(slots)?;
        let key = self.owned(slots, slot)?;
        let from = match after {
            None => Bound::Included((state, key.to_vec(), Vec::new())),
            Some(after) => Bound::Excluded((state, key.to_vec(), after.to_vec())),
        };
        let of_the_key =
            self.entries.range((from, Bound::Unbounded)).take_while(|(name, _)| name.0 == state && name.1 == key);
        let visible = of_the_key.filter(|(_, cell)| self.is_visible(state, cell, slots, slot));
        let (mut keys, mut values) = (Column::default(), Column::default());
        for ((_, _, entry_key), cell) in visible.take(limit) {
            keys.push(entry_key);
            values.push(&cell.value);
        }
        Ok((keys, values))
    }

    fn apply(&mut self, slots: &Arc<SlotKeys>, writes: &[StateWrites], now: HostTime) -> Result<(), Error> {
        self.check(slots, writes)?;
        self.now = self.now.max(now).max(slots.looks.now);
        for write in writes {
            let by_event_time = self.declared(write.state).and_then(|declared| declared.ttl);
            let by_event_time = by_event_time.is_some_and(|ttl| ttl.clock == TtlClock::EventTime);
            for (row, (&slot, value)) in write.slots.iter().zip(write.values.iter()).enumerate() {
                let entry_key = write.entry_keys.as_ref().map_or(&[][..], |entry_keys| entry_keys.get(row));
                let name = (write.state, key(slots, slot)?.to_vec(), entry_key.to_vec());
                let hash = slots.hashes.get(slot.0 as usize).copied().unwrap_or_default();
                let latest = || slots.looks.latest.get(slot.0 as usize).map_or(now.0, |latest| latest.0);
                let at = match by_event_time {
                    true => write.written.get(row).map_or_else(latest, |written| written.0),
                    false => now.0,
                };
                let written = self.write_time(&name, at, slots, slot);
                self.put(name, value.map(|value| Cell { hash, written, value: value.to_vec() }), hash);
            }
        }
        Ok(())
    }

    fn changes(
        &mut self,
        slots: &SlotKeys,
        which: &[SlotIndex],
        out: &mut Vec<Option<EventTime>>,
    ) -> Result<(), Error> {
        check_slots(slots)?;
        which.iter().try_for_each(|&slot| self.owned(slots, slot).map(|_| ()))?;
        for &slot in which {
            let key = key(slots, slot)?;
            let at = slot.0 as usize;
            let (Some(&earliest), Some(&latest)) = (slots.looks.earliest.get(at), slots.looks.latest.get(at)) else {
                out.push(None);
                continue;
            };
            let by_event_time = |clock: TtlClock| clock == TtlClock::EventTime;
            let of_entries = self
                .entries
                .iter()
                .filter(|(name, _)| name.1 == key)
                .filter_map(|(name, cell)| self.expiry(name.0, cell))
                .filter_map(|(clock, expiry)| by_event_time(clock).then_some(expiry));
            // What the earliest row writes may expire for a later one.
            let of_writes = self.scope.states.iter().filter_map(|declared| declared.ttl);
            let of_writes = of_writes.filter(|ttl| by_event_time(ttl.clock));
            let of_writes = of_writes.map(|ttl| earliest.0.saturating_add_unsigned(ttl.millis));
            let changes = of_entries.chain(of_writes).filter(|&at| earliest.0 < at && at <= latest.0);
            out.push(changes.min().map(EventTime));
        }
        Ok(())
    }

    fn snapshot(&mut self) -> Result<StateDelta, Error> {
        let changed = std::mem::take(&mut self.changed);
        if changed.is_empty() {
            return Ok(StateDelta::default());
        }
        let items = changed.iter().map(|(name, &hash)| {
            let cell = self.entries.get(name).map(|cell| (cell.written, cell.value.as_slice()));
            (name, hash, cell)
        });
        Ok(StateDelta { segments: vec![Arc::new(segment::encode(items))] })
    }

    fn image(&mut self) -> Result<StateImage, Error> {
        let items =
            self.entries.iter().map(|(name, cell)| (name, cell.hash, Some((cell.written, cell.value.as_slice()))));
        let segment = Arc::new(segment::encode(items));
        Ok(Box::new(std::iter::once(Ok(segment))))
    }

    fn completed(&mut self, watermark: EventTime) {
        self.watermark = self.watermark.max(watermark);
    }

    fn export(&mut self, visit: &mut dyn FnMut(StateEntry<'_>) -> Result<(), Error>) -> Result<(), Error> {
        let mut by_group: Vec<_> = self.entries.iter().collect();
        by_group.sort_by_key(|(_, cell)| KeyGroup::of_hash(cell.hash, self.scope.key_group_count));
        for (name, cell) in by_group {
            let mapped = self.declared(name.0).is_some_and(|declared| declared.kind != StateKind::Value);
            visit(StateEntry {
                state: name.0,
                hash: cell.hash,
                key: &name.1,
                entry_key: mapped.then_some(name.2.as_slice()),
                value: &cell.value,
                written_millis: cell.written,
            })?;
        }
        Ok(())
    }

    fn import(&mut self, entry: StateEntry<'_>) -> Result<(), Error> {
        self.expect_kind(entry.state, entry.entry_key.is_some())?;
        let group = KeyGroup::of_hash(entry.hash, self.scope.key_group_count);
        if !self.scope.key_groups.contains(group) {
            return Err(refuse(format!("an entry has key group {group}, which the subtask does not own")));
        }
        let name = (entry.state, entry.key.to_vec(), entry.entry_key.unwrap_or_default().to_vec());
        let cell = Cell { hash: entry.hash, written: entry.written_millis, value: entry.value.to_vec() };
        self.put(name, Some(cell), entry.hash);
        Ok(())
    }

    fn maintain(&mut self, _budget_bytes: usize) -> Result<usize, Error> {
        let purged: BTreeSet<Name> = self
            .entries
            .iter()
            .filter(|(name, cell)| self.is_purgeable(name.0, cell))
            .map(|(name, _)| name.clone())
            .collect();
        for name in &purged {
            self.entries.remove(name);
        }
        Ok(purged.len())
    }

    fn stats(&self) -> StateStats {
        let bytes =
            |((_, key, entry_key), cell): (&Name, &Cell)| (key.len() + entry_key.len() + cell.value.len()) as u64;
        let live_bytes = self.entries.iter().map(bytes).sum();
        let is_expired = |(name, cell): &(&Name, &Cell)| self.is_purgeable(name.0, cell);
        StateStats {
            live_entries: self.entries.len() as u64,
            live_bytes,
            dead_bytes: 0,
            index_bytes: 0,
            memory_bytes: live_bytes,
            expired_entries: self.entries.iter().filter(is_expired).count() as u64,
        }
    }
}
