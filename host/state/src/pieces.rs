//! A list in pieces: it grows without moving what it holds, so that growth stops nothing.
#![expect(clippy::indexing_slicing, reason = "whoever has a number got it from `push`")]

/// Items per piece.
const PIECE: usize = 1024;

/// A list in pieces.
#[derive(Debug)]
pub(crate) struct Pieces<T> {
    pieces: Vec<Vec<T>>,
}

impl<T> Default for Pieces<T> {
    fn default() -> Self {
        Self { pieces: Vec::new() }
    }
}

impl<T> Pieces<T> {
    /// Bytes of memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.pieces.capacity() * size_of::<Vec<T>>() + self.pieces.len() * PIECE * size_of::<T>()
    }

    /// Appends an item; returns its number.
    pub(crate) fn push(&mut self, item: T) -> usize {
        if self.pieces.last().is_none_or(|piece| piece.len() == PIECE) {
            self.pieces.push(Vec::with_capacity(PIECE));
        }
        let last = self.pieces.len() - 1;
        self.pieces[last].push(item);
        last * PIECE + self.pieces[last].len() - 1
    }

    /// Item `number`.
    #[inline]
    pub(crate) fn get(&self, number: usize) -> &T {
        &self.pieces[number / PIECE][number % PIECE]
    }

    /// Item `number`.
    #[inline]
    pub(crate) fn get_mut(&mut self, number: usize) -> &mut T {
        &mut self.pieces[number / PIECE][number % PIECE]
    }

    /// The items, in order.
    #[cfg(test)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.pieces.iter().flatten()
    }
}
