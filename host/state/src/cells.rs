//! Cells: a fixed number for an entry of a map or list, wherever the entry lies.
//!
//! The index and the directory of a map both refer to the cell, so an entry that moves is noted once.
//!
//! # Invariants
//! 1. Cell 0 is never given out: references to cells are never 0.
//! 2. A cell that is *gone* holds no place; it is given again after [`Cells::free`].
#![expect(clippy::indexing_slicing, reason = "cell numbers are made here")]

use crate::log::Place;

/// Cells per piece of memory: small enough that a new piece stops nothing, 32 KiB.
const PIECE: usize = 4096;
const GONE: u64 = 0;
const FREE: u64 = 1 << 63;

/// The cells of a table.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    pieces: Vec<Box<[u64; PIECE]>>,
    len: u32,
    /// The first of the free cells, which are chained; 0 for none.
    free: u32,
}

impl Cells {
    /// Bytes of memory they take.
    pub(crate) fn bytes(&self) -> usize {
        self.pieces.capacity() * size_of::<usize>() + self.pieces.len() * PIECE * size_of::<u64>()
    }

    #[inline]
    fn cell(&self, cell: u32) -> u64 {
        self.pieces[cell as usize / PIECE][cell as usize % PIECE]
    }

    fn cell_mut(&mut self, cell: u32) -> &mut u64 {
        &mut self.pieces[cell as usize / PIECE][cell as usize % PIECE]
    }

    /// A new cell for the entry at `place`.
    pub(crate) fn add(&mut self, place: Place) -> u32 {
        let cell = if self.free != 0 {
            let cell = self.free;
            self.free = self.cell(cell) as u32;
            cell
        } else {
            self.len += 1;
            if self.len as usize >= self.pieces.len() * PIECE {
                self.pieces.push(Box::new([0; PIECE]));
            }
            self.len
        };
        *self.cell_mut(cell) = place.0;
        cell
    }

    /// Where the entry of `cell` lies; the cell is not gone.
    #[inline]
    pub(crate) fn place(&self, cell: u32) -> Place {
        Place(self.cell(cell))
    }

    pub(crate) fn set(&mut self, cell: u32, place: Place) {
        *self.cell_mut(cell) = place.0;
    }

    /// The entry of `cell` is no more.
    pub(crate) fn set_gone(&mut self, cell: u32) {
        *self.cell_mut(cell) = GONE;
    }

    #[inline]
    pub(crate) fn is_gone(&self, cell: u32) -> bool {
        self.cell(cell) == GONE
    }

    /// Nothing refers to `cell` any more.
    pub(crate) fn free(&mut self, cell: u32) {
        *self.cell_mut(cell) = FREE | u64::from(self.free);
        self.free = cell;
    }
}
