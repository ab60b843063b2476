//! Keyed state in a sorted map: slow, plain, and what the others are measured by.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use model::{Blame, Column, HostTime, KeyGroup, OptionalColumn, Retry, SlotIndex, StateId, StateKind};

use crate::{Error, KeyedState, SlotKeys, StateBackend, StateScope, StateStats, StateWrites};

/// State, key, and entry key; the last is empty for a value.
type Name = (StateId, Vec<u8>, Vec<u8>);

/// Makes tables that are sorted maps.
#[derive(Clone, Copy, Debug, Default)]
pub struct MapBackend;

impl StateBackend for MapBackend {
    fn open(&self, scope: StateScope) -> Result<Box<dyn KeyedState>, Error> {
        Ok(Box::new(MapState::new(scope)))
    }
}

/// The keyed state of one subtask as a sorted map. Hashes tell it only whose a key is.
#[derive(Clone, Debug)]
pub struct MapState {
    scope: StateScope,
    entries: BTreeMap<Name, Vec<u8>>,
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
        Self { scope, entries: BTreeMap::new() }
    }

    fn expect_kind(&self, state: StateId, mapped: bool) -> Result<(), Error> {
        let declared = self.scope.states.iter().find(|declared| declared.id == state);
        let declared = declared.ok_or_else(|| refuse(format!("state {state} was not declared")))?;
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

    /// Refuses writes that could not be applied whole.
    fn check(&self, slots: &SlotKeys, writes: &[StateWrites]) -> Result<(), Error> {
        check_slots(slots)?;
        for write in writes {
            self.expect_kind(write.state, write.entry_keys.is_some())?;
            let expected = write.slots.len();
            check_length("values", write.values.len(), expected)?;
            check_length("entry keys", write.entry_keys.as_ref().map_or(expected, Column::len), expected)?;
            write.slots.iter().try_for_each(|&slot| self.owned(slots, slot).map(|_| ()))?;
        }
        Ok(())
    }
}

impl KeyedState for MapState {
    fn load(&mut self, state: StateId, slots: &SlotKeys, out: &mut OptionalColumn) -> Result<(), Error> {
        self.expect_kind(state, false)?;
        check_slots(slots)?;
        (0u32..).zip(&slots.hashes).try_for_each(|(slot, _)| self.owned(slots, SlotIndex(slot)).map(|_| ()))?;
        for key in slots.keys.iter() {
            out.push(self.entries.get(&(state, key.to_vec(), Vec::new())).map(Vec::as_slice));
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
        check_slots(slots)?;
        check_length("entry keys", entry_keys.len(), which.len())?;
        which.iter().try_for_each(|&slot| self.owned(slots, slot).map(|_| ()))?;
        for (&slot, entry_key) in which.iter().zip(entry_keys.iter()) {
            let name = (state, key(slots, slot)?.to_vec(), entry_key.to_vec());
            out.push(self.entries.get(&name).map(Vec::as_slice));
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
        check_slots(slots)?;
        let key = self.owned(slots, slot)?;
        let from = match after {
            None => Bound::Included((state, key.to_vec(), Vec::new())),
            Some(after) => Bound::Excluded((state, key.to_vec(), after.to_vec())),
        };
        let of_the_key =
            self.entries.range((from, Bound::Unbounded)).take_while(|(name, _)| name.0 == state && name.1 == key);
        let (mut keys, mut values) = (Column::default(), Column::default());
        for ((_, _, entry_key), value) in of_the_key.take(limit) {
            keys.push(entry_key);
            values.push(value);
        }
        Ok((keys, values))
    }

    fn apply(&mut self, slots: &Arc<SlotKeys>, writes: &[StateWrites], _now: HostTime) -> Result<(), Error> {
        self.check(slots, writes)?;
        for write in writes {
            for (row, (&slot, value)) in write.slots.iter().zip(write.values.iter()).enumerate() {
                let entry_key = write.entry_keys.as_ref().map_or(&[][..], |entry_keys| entry_keys.get(row));
                let name = (write.state, key(slots, slot)?.to_vec(), entry_key.to_vec());
                match value {
                    Some(value) => self.entries.insert(name, value.to_vec()),
                    None => self.entries.remove(&name),
                };
            }
        }
        Ok(())
    }

    fn maintain(&mut self, _budget_bytes: usize) -> Result<usize, Error> {
        Ok(0)
    }

    fn stats(&self) -> StateStats {
        let bytes =
            |((_, key, entry_key), value): (&Name, &Vec<u8>)| (key.len() + entry_key.len() + value.len()) as u64;
        let live_bytes = self.entries.iter().map(bytes).sum();
        StateStats {
            live_entries: self.entries.len() as u64,
            live_bytes,
            dead_bytes: 0,
            index_bytes: 0,
            memory_bytes: live_bytes,
        }
    }
}
