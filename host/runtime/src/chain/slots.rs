//! Numbers the distinct keys of a batch.

use std::mem;
use std::sync::Arc;

use contract::SlotKeys;
use model::Routing;

/// A small hash table over the keys of one batch, reused for the next. An entry is a tag of the hash and
/// the slot plus one; 0 is free. Keys are compared where they lie, at the first row that has them.
#[derive(Debug, Default)]
pub(crate) struct SlotTable {
    entries: Vec<u64>,
    /// The first row of each slot.
    firsts: Vec<u32>,
}

impl SlotTable {
    /// Gives every row its slot, in order of first appearance. The keys are moved out of `routing` where
    /// every row has its own, and copied otherwise; [`restore`] undoes it.
    #[expect(clippy::indexing_slicing, reason = "positions are masked, rows and slots are below their lengths")]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a position is the low bits of the hash, a slot the low half of an entry"
    )]
    pub(crate) fn assign(&mut self, routing: &mut Routing, slots: &mut Vec<u32>) -> Arc<SlotKeys> {
        let rows = routing.hashes.len();
        let size = (rows * 2).next_power_of_two();
        let mask = size - 1;
        if self.entries.len() < size {
            self.entries.resize(size, 0);
        }
        let entries = &mut self.entries[..size];
        entries.fill(0);
        self.firsts.clear();
        slots.clear();
        slots.reserve(rows);
        let keys = &routing.keys;
        for (row, &hash) in (0u32..).zip(&routing.hashes) {
            let tag = hash >> 32;
            let mut at = hash as usize & mask;
            let slot = loop {
                let entry = entries[at];
                if entry == 0 {
                    let slot = self.firsts.len() as u32;
                    self.firsts.push(row);
                    entries[at] = (tag << 32) | u64::from(slot + 1);
                    break slot;
                }
                if entry >> 32 == tag {
                    let slot = entry as u32 - 1;
                    let first = self.firsts[slot as usize] as usize;
                    if routing.hashes[first] == hash && keys.get(first) == keys.get(row as usize) {
                        break slot;
                    }
                }
                at = (at + 1) & mask;
            };
            slots.push(slot);
        }
        if self.firsts.len() == rows {
            let routing = mem::take(routing);
            return Arc::new(SlotKeys { keys: routing.keys, hashes: routing.hashes, ..SlotKeys::default() });
        }
        let hashes = self.firsts.iter().map(|&row| routing.hashes[row as usize]).collect();
        Arc::new(SlotKeys { keys: keys.select(&self.firsts), hashes, ..SlotKeys::default() })
    }
}

/// Undoes [`SlotTable::assign`]: gives the rows their keys back.
pub(crate) fn restore(routing: &mut Routing, slots: &SlotKeys, rows: usize) {
    if routing.hashes.len() != rows {
        *routing = Routing { keys: slots.keys.clone(), hashes: slots.hashes.clone() };
    }
}

#[cfg(test)]
mod tests;
