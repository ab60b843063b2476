//! The index of one key group: where the entry of a name lies.
//!
//! An open-addressing table of 8-byte slots, ordered: a slot is a *tag* (28 bits of hash) above a
//! *reference* (36 bits), and the *home* of a tag is its share of the table, so homes rise with tags.
//! Slots lie at or after their home, in the order of their tags. A search therefore ends at the first
//! higher tag, an absent name costs no more than a present one, the table may be four fifths full, and
//! it grows in one sweep over slots that are already in order, without looking at a single entry.
//!
//! # Invariants
//! 1. Between the home of a slot and the slot there is no empty one.
//! 2. Tags never fall from one slot to the next that is not empty.
//! 3. A reference is never 0, so an empty slot is all zeros.
//!
//! # Absent on purpose
//! Names: whether a reference is the one sought is for the caller to say.
#![expect(clippy::indexing_slicing, reason = "positions come from the searches of this table")]

use crate::prefetch::prefetch;

/// Bits of a tag.
const TAG_BITS: u32 = 28;
/// Bits of a reference.
pub(crate) const REFERENCE_BITS: u32 = 36;
const REFERENCE_MASK: u64 = (1 << REFERENCE_BITS) - 1;

/// Slots beyond the last home, for those that are displaced past it.
const SPARE_SLOTS: usize = 8;

/// The part of a hash that the index works with: low bits, since the high ones chose the key group.
#[inline]
pub(crate) fn tag_of(hash: u64) -> u32 {
    hash as u32 >> (u32::BITS - TAG_BITS)
}

/// The index of one key group.
#[derive(Debug, Default)]
pub(crate) struct Index {
    slots: Vec<u64>,
    homes: u32,
    len: u32,
}

#[inline]
fn tag(slot: u64) -> u32 {
    (slot >> REFERENCE_BITS) as u32
}

impl Index {
    /// Bytes of memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<u64>()
    }

    #[inline]
    fn home(&self, tag: u32) -> usize {
        home(tag, self.homes)
    }

    /// Asks for the line where a search for `tag` begins.
    #[inline]
    pub(crate) fn prefetch(&self, tag: u32) {
        if let Some(slot) = self.slots.get(self.home(tag)) {
            prefetch(slot);
        }
    }

    /// The position of the first slot with `wanted`: where a search compares first, if it compares at all.
    #[inline]
    pub(crate) fn first(&self, wanted: u32) -> Option<usize> {
        self.find(wanted, |_| true)
    }

    /// The position of the slot with `wanted` whose reference is the one sought.
    #[inline]
    pub(crate) fn find(&self, wanted: u32, is_sought: impl FnMut(u64) -> bool) -> Option<usize> {
        self.seek(self.home(wanted), wanted, is_sought).ok()
    }

    /// As [`Self::find`], from what [`Self::first`] gave.
    #[inline]
    pub(crate) fn find_from(&self, first: usize, wanted: u32, is_sought: impl FnMut(u64) -> bool) -> Option<usize> {
        self.seek(first, wanted, is_sought).ok()
    }

    /// As [`Self::find`]; where there is none, the position where [`Self::insert_at`] puts it.
    #[inline]
    pub(crate) fn find_or_gap(&self, wanted: u32, is_sought: impl FnMut(u64) -> bool) -> Result<usize, usize> {
        self.seek(self.home(wanted), wanted, is_sought)
    }

    #[inline]
    fn seek(&self, from: usize, wanted: u32, mut is_sought: impl FnMut(u64) -> bool) -> Result<usize, usize> {
        for (distance, &slot) in self.slots[from..].iter().enumerate() {
            if slot == 0 || tag(slot) > wanted {
                return Err(from + distance);
            }
            if tag(slot) == wanted && is_sought(slot & REFERENCE_MASK) {
                return Ok(from + distance);
            }
        }
        Err(self.slots.len())
    }

    /// The reference at `position`.
    #[inline]
    pub(crate) fn reference(&self, position: usize) -> u64 {
        self.slots[position] & REFERENCE_MASK
    }

    /// Changes the reference at `position`.
    #[inline]
    pub(crate) fn set(&mut self, position: usize, reference: u64) {
        debug_assert!(reference != 0 && reference <= REFERENCE_MASK, "a reference has 36 bits and is not 0");
        let slot = &mut self.slots[position];
        *slot = *slot & !REFERENCE_MASK | reference;
    }

    /// Adds a slot; the caller knows that the name is not there.
    pub(crate) fn insert(&mut self, wanted: u32, reference: u64) {
        let gap = self.find_or_gap(wanted, |_| false).unwrap_or_else(|gap| gap);
        self.insert_at(gap, wanted, reference);
    }

    /// Adds a slot at the position that [`Self::find_or_gap`] gave.
    #[inline]
    pub(crate) fn insert_at(&mut self, mut gap: usize, wanted: u32, reference: u64) {
        debug_assert!(reference != 0 && reference <= REFERENCE_MASK, "a reference has 36 bits and is not 0");
        if (u64::from(self.len) + 1) * 5 > u64::from(self.homes) * 4 {
            self.grow();
            gap = self.find_or_gap(wanted, |_| false).unwrap_or_else(|gap| gap);
        }
        let mut carried = u64::from(wanted) << REFERENCE_BITS | reference;
        self.len += 1;
        for slot in &mut self.slots[gap..] {
            carried = std::mem::replace(slot, carried);
            if carried == 0 {
                return;
            }
        }
        self.slots.reserve_exact(SPARE_SLOTS);
        self.slots.push(carried);
    }

    /// Removes the slot at `position`.
    pub(crate) fn remove(&mut self, position: usize) {
        let next = position + 1;
        let stays = |(distance, &slot): (usize, &u64)| slot == 0 || self.home(tag(slot)) == next + distance;
        let shifted = self.slots[next..].iter().enumerate().position(|slot| stays((slot.0, slot.1)));
        let end = shifted.map_or(self.slots.len(), |distance| next + distance);
        self.slots.copy_within(next..end, position);
        self.slots[end - 1] = 0;
        self.len -= 1;
        if self.homes > 64 && u64::from(self.len) * 5 < u64::from(self.homes) * 2 {
            self.shrink();
        }
    }

    /// Spreads the slots over more homes, where they are: a second table would cost the pages of both.
    #[cold]
    fn grow(&mut self) {
        let homes = self.homes + self.homes / 5 + 8;
        // No slot lies further past the last home than before, since homes move apart.
        let overhang = (self.slots.len() - self.homes as usize).max(SPARE_SLOTS);
        let old_end = self.slots.len();
        self.slots.reserve_exact(homes as usize + overhang - old_end);
        self.slots.resize(homes as usize + overhang, 0);
        // First all to the end, in order; what they leave is empty.
        let mut start = self.slots.len();
        for position in (0..old_end).rev() {
            let slot = std::mem::take(&mut self.slots[position]);
            // An empty slot is overwritten by the next: no branch to be guessed wrong.
            self.slots[start - 1] = slot;
            start -= usize::from(slot != 0);
        }
        // Then each to its home or behind the one before; it never passes those still waiting.
        let mut next = 0;
        for position in start..self.slots.len() {
            let slot = std::mem::take(&mut self.slots[position]);
            let place = home(tag(slot), homes).max(next);
            self.slots[place] = slot;
            next = place + 1;
        }
        self.homes = homes;
    }

    /// Moves the slots to a table with fewer homes, in order.
    #[cold]
    fn shrink(&mut self) {
        let homes = self.len + self.len / 2;
        let mut slots = vec![0; homes as usize + SPARE_SLOTS];
        let mut next = 0;
        for &slot in self.slots.iter().filter(|&&slot| slot != 0) {
            let position = home(tag(slot), homes).max(next);
            if position == slots.len() {
                slots.reserve_exact(SPARE_SLOTS);
                slots.push(0);
            }
            slots[position] = slot;
            next = position + 1;
        }
        self.slots = slots;
        self.homes = homes;
    }

    /// All references, in the order of their slots.
    pub(crate) fn references(&self) -> impl Iterator<Item = u64> {
        self.slots.iter().filter(|&&slot| slot != 0).map(|&slot| slot & REFERENCE_MASK)
    }

    /// Whether the invariants hold.
    #[cfg(test)]
    pub(crate) fn is_sound(&self) -> bool {
        let taken = |position: usize| self.slots[position] != 0;
        let homes_reach = (0..self.slots.len())
            .filter(|&position| taken(position))
            .all(|position| (self.home(tag(self.slots[position]))..=position).all(taken));
        let tags: Vec<u32> = self.slots.iter().filter(|&&slot| slot != 0).map(|&slot| tag(slot)).collect();
        homes_reach && tags.is_sorted() && tags.len() == self.len as usize
    }
}

#[inline]
fn home(tag: u32, homes: u32) -> usize {
    ((u64::from(tag) * u64::from(homes)) >> TAG_BITS) as usize
}

#[cfg(test)]
mod tests;
