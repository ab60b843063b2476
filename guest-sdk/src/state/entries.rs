//! Entries per key: what [`Map`](crate::Map) and [`List`](crate::List) stand on.
//!
//! # Words
//! - *entry key*: the key of an entry among those of one slot; *complete*: all entries of a slot are
//!   known, so that one not in the table does not exist.
//!
//! # Invariants
//! 1. An entry is asked for at most once per batch, and told at most once, at the end of it.
//! 2. What was written in this batch is never replaced by what the host holds.

use std::hash::{BuildHasher, Hasher};
use std::ops::Range;

use hashbrown::HashTable;

use crate::bindings::state::Writes;
use crate::bindings::types::{Column, OptionalColumn};
use crate::error::Flaw;
use crate::function::{Declared, Part, Row};
use crate::hash::FixedState;
use crate::state::Storable;
use crate::state::mark::{Life, Mark};
use crate::{Error, Result, host};

/// Entries asked for in one call: a few hundred make the crossing cheap, and bound what is copied when
/// a function looks at the first ones only.
const SCAN_PAGE: u32 = 512;

/// No further entry in a chain.
const END: u32 = u32::MAX;

/// The promise behind an entry number.
const NUMBERED: &str = "entry numbers come from this table";

/// The entries of the slots of a batch.
pub(super) struct Entries<T> {
    declared: Declared,
    life: Life,
    at: Row,
    slots: usize,
    table: HashTable<u32>,
    /// The bytes of all entry keys.
    keys: Vec<u8>,
    /// The values as the host gave them, where reading is writing.
    raw: Vec<u8>,
    entries: Vec<Entry<T>>,
    /// Per slot: its chain of entries, newest first, and whether it is complete.
    chains: Vec<Chain>,
    /// Entries written, in the order of their first write.
    written: Vec<u32>,
    writes: Writes,
    /// For the one key of a single look-up.
    wanted: Column,
}

struct Entry<T> {
    slot: u32,
    key: Range<usize>,
    next: u32,
    value: Option<T>,
    known: bool,
    written: bool,
    /// Whether it was written otherwise than by reading it.
    changed: bool,
    row: u32,
    mark: Mark,
    /// The value as the host gave it, in `raw`.
    raw: Range<usize>,
}

#[derive(Clone, Copy)]
struct Chain {
    first: u32,
    complete: bool,
}

impl<T: Storable> Entries<T> {
    pub(super) fn new(declared: Declared) -> Self {
        let writes = Writes {
            slots: Vec::new(),
            entry_keys: Some(Column::new()),
            values: OptionalColumn::new(),
            rows: Vec::new(),
        };
        Self {
            declared,
            life: Life::of(&declared),
            at: Row::default(),
            raw: Vec::new(),
            slots: 0,
            table: HashTable::new(),
            keys: Vec::new(),
            entries: Vec::new(),
            chains: Vec::new(),
            written: Vec::new(),
            writes,
            wanted: Column::new(),
        }
    }

    /// The value of an entry of the current slot.
    pub(super) fn get(&mut self, key: impl FnOnce(&mut Vec<u8>)) -> Result<&mut Option<T>> {
        let number = self.number(key);
        self.know(number)?;
        self.refresh(number);
        Ok(&mut self.entry(number).value)
    }

    /// Writes an entry of the current slot.
    pub(super) fn write(&mut self, key: impl FnOnce(&mut Vec<u8>), value: Option<T>) {
        let number = self.number(key);
        self.write_number(number, value);
    }

    /// Changes an entry of the current slot, also from nothing and into nothing.
    pub(super) fn change<R>(
        &mut self,
        key: impl FnOnce(&mut Vec<u8>),
        change: impl FnOnce(&mut Option<T>) -> R,
    ) -> Result<R> {
        let number = self.number(key);
        self.know(number)?;
        self.mark_written(number);
        let value = &mut self.entry(number).value;
        let was_absent = value.is_none();
        let changed = change(value);
        let is_absent = value.is_none();
        self.note(number, was_absent, is_absent);
        Ok(changed)
    }

    /// The entries of the current slot that exist, in the order of their keys.
    pub(super) fn all(&mut self) -> Result<Vec<u32>> {
        self.complete()?;
        let mut numbers = Vec::new();
        let mut next = self.chain().first;
        while let Some(entry) = self.entries.get(next as usize) {
            if entry.value.is_some() {
                numbers.push(next);
            }
            next = entry.next;
        }
        numbers.iter().for_each(|&number| self.refresh(number));
        numbers.sort_unstable_by(|&a, &b| self.key(a).cmp(self.key(b)));
        Ok(numbers)
    }

    /// Deletes all entries of the current slot.
    pub(super) fn clear(&mut self) -> Result<()> {
        for number in self.all()? {
            self.write_number(number, None);
        }
        Ok(())
    }

    /// The key of an entry given by [`Self::all`].
    pub(super) fn key(&self, number: u32) -> &[u8] {
        self.entries.get(number as usize).and_then(|entry| self.keys.get(entry.key.clone())).expect(NUMBERED)
    }

    /// The value of an entry given by [`Self::all`].
    pub(super) fn value(&self, number: u32) -> Option<&T> {
        self.entries.get(number as usize).expect(NUMBERED).value.as_ref()
    }

    fn write_number(&mut self, number: u32, value: Option<T>) {
        self.mark_written(number);
        let is_complete = self.chain().complete;
        let is_absent = value.is_none();
        let entry = self.entry(number);
        let was_absent = (entry.known || is_complete) && entry.value.is_none();
        entry.value = value;
        entry.known = true;
        self.note(number, was_absent, is_absent);
    }

    fn mark_written(&mut self, number: u32) {
        let row = self.at.number;
        let entry = self.entry(number);
        entry.row = row;
        entry.changed = true;
        if !entry.written {
            entry.written = true;
            self.written.push(number);
        }
    }

    /// Notes what the current row did to an entry.
    fn note(&mut self, number: u32, was_absent: bool, is_absent: bool) {
        let (life, at) = (self.life, self.at);
        if life.is_mortal() {
            self.entry(number).mark.note(life, at, was_absent, is_absent);
        }
    }

    /// Writes an entry again as it is, if it exists and reading it starts its life anew.
    fn refresh(&mut self, number: u32) {
        let row = self.at.number;
        if !self.life.refreshes_on_read() || self.entry(number).value.is_none() {
            return;
        }
        let entry = self.entry(number);
        if !entry.written {
            entry.written = true;
            entry.row = row;
            self.written.push(number);
        }
        self.note(number, false, false);
    }

    fn entry(&mut self, number: u32) -> &mut Entry<T> {
        self.entries.get_mut(number as usize).expect(NUMBERED)
    }

    fn chain(&mut self) -> &mut Chain {
        if self.chains.is_empty() {
            self.chains.resize(self.slots, Chain { first: END, complete: false });
        }
        self.chains.get_mut(self.at.slot as usize).expect("the host numbers slots from 0 below the number of keys")
    }

    /// The number of an entry of the current slot, which may not be known yet.
    fn number(&mut self, key: impl FnOnce(&mut Vec<u8>)) -> u32 {
        let start = self.keys.len();
        key(&mut self.keys);
        let key = start..self.keys.len();
        let (slot, entries, keys) = (self.at.slot, &self.entries, &self.keys);
        let own = keys.get(key.clone()).expect(NUMBERED);
        let hash = hash(slot, own);
        let found = self.table.find(hash, |&number| {
            let entry = entries.get(number as usize).expect(NUMBERED);
            entry.slot == slot && keys.get(entry.key.clone()) == Some(own)
        });
        if let Some(&number) = found {
            self.keys.truncate(start);
            return number;
        }
        let number = u32::try_from(self.entries.len()).expect("a batch touches fewer than 2^32 entries");
        let next = std::mem::replace(&mut self.chain().first, number);
        self.entries.push(Entry {
            slot,
            key,
            next,
            value: None,
            known: false,
            written: false,
            changed: false,
            row: 0,
            mark: Mark::default(),
            raw: 0..0,
        });
        let (entries, keys) = (&self.entries, &self.keys);
        self.table.insert_unique(hash, number, |&number| {
            let entry = entries.get(number as usize).expect(NUMBERED);
            self::hash(entry.slot, keys.get(entry.key.clone()).expect(NUMBERED))
        });
        number
    }

    /// Asks the host for an entry that is not known.
    fn know(&mut self, number: u32) -> Result<()> {
        if self.entry(number).known {
            return Ok(());
        }
        if !self.chain().complete {
            let mut wanted = std::mem::replace(&mut self.wanted, Column::new());
            wanted.clear();
            wanted.push(self.key(number));
            let found = host::load_entries(self.declared.id, &[self.at.slot], &wanted);
            self.wanted = wanted;
            let value = found.get(0).map(T::decode).transpose().map_err(|error| self.unreadable(&error))?;
            self.keep_raw(number, found.get(0));
            self.entry(number).value = value;
        }
        self.entry(number).known = true;
        Ok(())
    }

    /// Asks the host for all entries of the current slot.
    fn complete(&mut self) -> Result<()> {
        if self.chain().complete {
            return Ok(());
        }
        let mut after: Option<Vec<u8>> = None;
        loop {
            let (keys, values) = host::scan(self.declared.id, self.at.slot, after.as_deref(), SCAN_PAGE);
            for (key, value) in keys.iter().zip(values.iter()) {
                let number = self.number(|into| into.extend_from_slice(key));
                if !self.entry(number).known {
                    self.keep_raw(number, Some(value));
                    let value = T::decode(value).map_err(|error| self.unreadable(&error))?;
                    let entry = self.entry(number);
                    entry.value = Some(value);
                    entry.known = true;
                }
            }
            if keys.len() < SCAN_PAGE as usize {
                break;
            }
            after = Some(keys.get(keys.len() - 1).to_vec());
        }
        self.chain().complete = true;
        Ok(())
    }

    /// Keeps a value as the host gave it, where reading it is writing it again.
    fn keep_raw(&mut self, number: u32, value: Option<&[u8]>) {
        if self.life.refreshes_on_read() {
            let start = self.raw.len();
            self.raw.extend_from_slice(value.unwrap_or_default());
            self.entry(number).raw = start..self.raw.len();
        }
    }

    fn unreadable(&self, error: &Error) -> Error {
        self.declared.unreadable(error)
    }
}

impl<T: Storable> Part for Entries<T> {
    fn begin_batch(&mut self, slots: usize) {
        self.slots = slots;
        self.table.clear();
        self.keys.clear();
        self.raw.clear();
        self.entries.clear();
        self.chains.clear();
        self.written.clear();
        self.writes.slots.clear();
        self.writes.values.clear();
        self.writes.rows.clear();
        if let Some(keys) = &mut self.writes.entry_keys {
            keys.clear();
        }
    }

    #[inline]
    fn select(&mut self, at: Row) {
        self.at = at;
    }

    fn finish_batch(&mut self) -> Result<(), Flaw> {
        if self.written.is_empty() {
            return Ok(());
        }
        let Writes { slots, entry_keys, values, rows } = &mut self.writes;
        let entry_keys = entry_keys.as_mut().expect("entries are written with their keys");
        for &number in &self.written {
            let entry = self.entries.get(number as usize).expect(NUMBERED);
            let key = self.keys.get(entry.key.clone()).expect(NUMBERED);
            if self.life.is_mortal() && entry.mark.was_deleted() && entry.value.is_some() {
                slots.push(entry.slot);
                entry_keys.push(key);
                values.push_absent();
                rows.extend(self.life.is_dated().then_some(entry.mark.row()));
            }
            slots.push(entry.slot);
            entry_keys.push(key);
            rows.extend(self.life.is_dated().then_some(entry.mark.row()));
            match &entry.value {
                None => values.push_absent(),
                Some(_) if !entry.changed => values.push(self.raw.get(entry.raw.clone())),
                Some(value) => {
                    let encoded = value.encode(&mut values.items.bytes);
                    encoded.map_err(|error| Flaw { row: entry.row, error: self.declared.unwritable(&error) })?;
                    values.close_item();
                }
            }
        }
        host::store(self.declared.id, &self.writes);
        Ok(())
    }
}

fn hash(slot: u32, key: &[u8]) -> u64 {
    let mut hasher = FixedState.build_hasher();
    hasher.write_u32(slot);
    hasher.write(key);
    hasher.finish()
}
