//! Byte strings laid end to end, as they cross into the sandbox.
//!
//! # Invariants
//! 1. `ends` never falls and its last element is the length of `bytes`.
//! 2. An empty `present` means that every item exists; otherwise it has one byte, 0 or 1, per item, at
//!    least one of them 0, and an absent item has length 0. So equal items make equal columns.
//!
//! A column from a guest is checked by [`Column::from_parts`] before anything else sees it.

/// Byte strings laid end to end: item `i` is `bytes[ends[i-1]..ends[i]]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

/// What is wrong with the parts of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ColumnError {
    /// `ends` falls.
    #[error("ends fall at item {item}")]
    EndsFall {
        /// The first item that ends before it starts.
        item: usize,
    },
    /// The last end is not the length of the bytes.
    #[error("the last end is {last_end}, the bytes are {bytes} long")]
    LengthMismatch {
        /// The last element of `ends`, 0 if there is none.
        last_end: usize,
        /// The length of `bytes`.
        bytes: usize,
    },
    /// `present` has another length than `ends`.
    #[error("present has {present} items, ends has {items}")]
    PresenceMismatch {
        /// The length of `present`.
        present: usize,
        /// The length of `ends`.
        items: usize,
    },
    /// An absent item has bytes, or a presence is neither 0 nor 1.
    #[error("item {item} is marked {mark} but has {bytes} bytes")]
    AbsentWithBytes {
        /// The item.
        item: usize,
        /// Its presence byte.
        mark: u8,
        /// The length of the item.
        bytes: usize,
    },
    /// More than `u32::MAX` bytes.
    #[error("a column holds at most 4 GiB")]
    TooLong,
}

impl Column {
    /// An empty column with room.
    #[must_use]
    pub fn with_capacity(items: usize, bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), ends: Vec::with_capacity(items) }
    }

    /// Checks parts that come from somebody else.
    ///
    /// # Errors
    /// [`ColumnError`] where invariant 1 is broken.
    pub fn from_parts(bytes: Vec<u8>, ends: Vec<u32>) -> Result<Self, ColumnError> {
        if u32::try_from(bytes.len()).is_err() {
            return Err(ColumnError::TooLong);
        }
        if let Some(at) = ends.iter().zip(ends.iter().skip(1)).position(|(end, next)| end > next) {
            return Err(ColumnError::EndsFall { item: at + 1 });
        }
        let last_end = ends.last().map_or(0, |&end| end as usize);
        if last_end != bytes.len() {
            return Err(ColumnError::LengthMismatch { last_end, bytes: bytes.len() });
        }
        Ok(Self { bytes, ends })
    }

    /// Appends an item.
    ///
    /// # Panics
    /// When the column would exceed 4 GiB; batches are bounded far below.
    #[inline]
    pub fn push(&mut self, item: &[u8]) {
        self.bytes.extend_from_slice(item);
        self.close_item();
    }

    /// Appends bytes to the item that [`Self::close_item`] will end.
    #[inline]
    pub fn extend_item(&mut self, part: &[u8]) {
        self.bytes.extend_from_slice(part);
    }

    /// Ends the item made of the bytes appended since the last one.
    ///
    /// # Panics
    /// As [`Self::push`].
    #[inline]
    pub fn close_item(&mut self) {
        let end = u32::try_from(self.bytes.len()).expect("a column is bounded by the batch size");
        self.ends.push(end);
    }

    /// Number of items.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Item `index`.
    ///
    /// # Panics
    /// When `index` is not below [`Self::len`].
    #[must_use]
    #[inline]
    #[expect(
        clippy::indexing_slicing,
        reason = "invariant 1 keeps the range inside; the index is the caller's promise"
    )]
    pub fn get(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.bytes[start..self.ends[index] as usize]
    }

    /// The items, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// All bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The end of each item.
    #[must_use]
    pub fn ends(&self) -> &[u32] {
        &self.ends
    }

    /// Bytes that the items and their ends take.
    #[must_use]
    pub fn weight_bytes(&self) -> usize {
        self.bytes.len() + self.ends.len() * size_of::<u32>()
    }

    /// The parts, to be moved elsewhere.
    #[must_use]
    pub fn into_parts(self) -> (Vec<u8>, Vec<u32>) {
        (self.bytes, self.ends)
    }

    /// Forgets the items and keeps the room.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// A column of the items `rows`, in that order.
    ///
    /// # Panics
    /// When a row is not below [`Self::len`].
    #[must_use]
    pub fn select(&self, rows: &[u32]) -> Self {
        // About what the rows take; where some are repeated, no more than all of them once, because items
        // differ and a guess must not ask for more memory than there is.
        let share = self.bytes.len() * rows.len() / self.len().max(1);
        let mut selected = Self::with_capacity(rows.len(), (share + share / 8).min(self.bytes.len()));
        for &row in rows {
            selected.push(self.get(row as usize));
        }
        selected
    }
}

impl<T: AsRef<[u8]>> FromIterator<T> for Column {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut column = Self::default();
        for item in items {
            column.push(item.as_ref());
        }
        column
    }
}

/// A column whose items may be absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptionalColumn {
    present: Vec<u8>,
    items: Column,
}

impl OptionalColumn {
    /// An empty column with room.
    #[must_use]
    pub fn with_capacity(items: usize, bytes: usize) -> Self {
        Self { present: Vec::new(), items: Column::with_capacity(items, bytes) }
    }

    /// Checks parts that come from somebody else.
    ///
    /// # Errors
    /// [`ColumnError`] where invariant 2 is broken.
    pub fn from_parts(present: Vec<u8>, items: Column) -> Result<Self, ColumnError> {
        if !present.is_empty() {
            if present.len() != items.len() {
                return Err(ColumnError::PresenceMismatch { present: present.len(), items: items.len() });
            }
            for (item, (&mark, value)) in present.iter().zip(items.iter()).enumerate() {
                if mark > 1 || (mark == 0 && !value.is_empty()) {
                    return Err(ColumnError::AbsentWithBytes { item, mark, bytes: value.len() });
                }
            }
        }
        Ok(Self { present: shorten_present(present), items })
    }

    /// Appends an item, or the absence of one.
    ///
    /// # Panics
    /// As [`Column::push`].
    #[inline]
    pub fn push(&mut self, item: Option<&[u8]>) {
        match item {
            Some(item) => {
                if !self.present.is_empty() {
                    self.present.push(1);
                }
                self.items.push(item);
            }
            None => {
                if self.present.is_empty() {
                    self.present.resize(self.items.len(), 1);
                }
                self.present.push(0);
                self.items.close_item();
            }
        }
    }

    /// Item `index`, `None` where it is absent.
    ///
    /// # Panics
    /// When `index` is not below [`Self::len`].
    #[must_use]
    #[inline]
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let item = self.items.get(index);
        match self.present.get(index) {
            Some(0) => None,
            _ => Some(item),
        }
    }

    /// The items, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<&[u8]>> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// Number of items, absent ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are no items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The presence of each item; empty when every item exists.
    #[must_use]
    pub fn present(&self) -> &[u8] {
        &self.present
    }

    /// The items; an absent one has length 0.
    #[must_use]
    pub fn items(&self) -> &Column {
        &self.items
    }

    /// Bytes that the items, their ends and their presence take.
    #[must_use]
    pub fn weight_bytes(&self) -> usize {
        self.items.weight_bytes() + self.present.len()
    }

    /// The parts, to be moved elsewhere.
    #[must_use]
    pub fn into_parts(self) -> (Vec<u8>, Column) {
        (self.present, self.items)
    }

    /// Forgets the items and keeps the room.
    pub fn clear(&mut self) {
        self.present.clear();
        self.items.clear();
    }

    /// A column of the items `rows`, in that order.
    ///
    /// # Panics
    /// When a row is not below [`Self::len`].
    #[must_use]
    pub fn select(&self, rows: &[u32]) -> Self {
        Self { present: select_present(&self.present, rows), items: self.items.select(rows) }
    }
}

impl From<Column> for OptionalColumn {
    fn from(items: Column) -> Self {
        Self { present: Vec::new(), items }
    }
}

/// The presence of `rows`; stays empty where everything is present.
#[expect(clippy::indexing_slicing, reason = "a presence list that is not empty has one byte per row")]
pub(crate) fn select_present(present: &[u8], rows: &[u32]) -> Vec<u8> {
    if present.is_empty() {
        return Vec::new();
    }
    shorten_present(rows.iter().map(|&row| present[row as usize]).collect())
}

/// A presence list, empty where everything is present.
fn shorten_present(present: Vec<u8>) -> Vec<u8> {
    if present.contains(&0) { present } else { Vec::new() }
}
