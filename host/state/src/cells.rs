//! Cells: a fixed number for an entry of a map or list, wherever the entry lies.
//!
//! The index and the directory of a map both refer to the cell, so an entry that moves is noted once.
//!
//! # Invariants
//! 1. Cells are numbered from 1: references to cells are never 0.
//! 2. A cell that is *gone* holds no place; it is given again after [`Cells::free`].

use crate::log::Place;
use crate::pieces::Pieces;

const GONE: u64 = 0;
const FREE: u64 = 1 << 63;

/// The cells of a table.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    /// Cell `n` is item `n - 1`.
    places: Pieces<u64>,
    /// The first of the free cells, which are chained; 0 for none.
    free: u32,
}

impl Cells {
    /// Bytes of memory they take.
    pub(crate) fn bytes(&self) -> usize {
        self.places.bytes()
    }

    #[inline]
    fn get(&self, cell: u32) -> u64 {
        *self.places.get(cell as usize - 1)
    }

    fn put(&mut self, cell: u32, content: u64) {
        *self.places.get_mut(cell as usize - 1) = content;
    }

    /// A new cell for the entry at `place`.
    pub(crate) fn add(&mut self, place: Place) -> u32 {
        if self.free == 0 {
            let number = self.places.push(place.0) + 1;
            return u32::try_from(number).expect("entries of 32 bytes and more in 512 GiB are fewer than 2^32");
        }
        let cell = self.free;
        self.free = self.get(cell) as u32;
        self.put(cell, place.0);
        cell
    }

    /// Where the entry of `cell` lies; the cell is not gone.
    #[inline]
    pub(crate) fn place(&self, cell: u32) -> Place {
        Place(self.get(cell))
    }

    pub(crate) fn set(&mut self, cell: u32, place: Place) {
        self.put(cell, place.0);
    }

    /// The entry of `cell` is no more.
    pub(crate) fn set_gone(&mut self, cell: u32) {
        self.put(cell, GONE);
    }

    #[inline]
    pub(crate) fn is_gone(&self, cell: u32) -> bool {
        self.get(cell) == GONE
    }

    /// Nothing refers to `cell` any more.
    pub(crate) fn free(&mut self, cell: u32) {
        self.put(cell, FREE | u64::from(self.free));
        self.free = cell;
    }
}
