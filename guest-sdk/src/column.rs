//! Byte strings laid end to end, and the lists of typed cells beside them.
//!
//! # Invariants
//! 1. `ends` has one element per item, never falls, and ends with the length of `bytes`.
//! 2. An empty `present` means that every item exists.
//!
//! The host keeps these for what it passes in; a broken column from it is a bug, and panics.

use crate::bindings::types::{Cells, Column, FieldColumn, FieldKind, OptionalColumn};

/// The promise that reading a column rests on.
const BROKEN: &str = "the host passed a column whose ends do not fit its bytes";

/// The range of item `index` in the bytes of a column with these `ends`.
#[inline]
pub(crate) fn item_range(ends: &[u32], index: usize) -> Option<std::ops::Range<usize>> {
    let end = *ends.get(index)? as usize;
    let start = match index.checked_sub(1) {
        Some(before) => *ends.get(before)? as usize,
        None => 0,
    };
    Some(start..end)
}

impl Column {
    /// An empty column.
    pub(crate) const fn new() -> Self {
        Self { bytes: Vec::new(), ends: Vec::new() }
    }

    /// Appends an item.
    #[inline]
    pub(crate) fn push(&mut self, item: &[u8]) {
        self.bytes.extend_from_slice(item);
        self.close_item();
    }

    /// Ends the item made of the bytes appended since the last one.
    #[inline]
    pub(crate) fn close_item(&mut self) {
        let end = u32::try_from(self.bytes.len()).expect("a batch is far below 4 GiB");
        self.ends.push(end);
    }

    /// Drops the bytes appended since the last item ended.
    pub(crate) fn drop_open_item(&mut self) {
        self.bytes.truncate(self.ends.last().map_or(0, |&end| end as usize));
    }

    /// Number of items.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Item `index`.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> &[u8] {
        item_range(&self.ends, index).and_then(|range| self.bytes.get(range)).expect(BROKEN)
    }

    /// The items, in order.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// Forgets the items and keeps the room.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}

impl<T: AsRef<[u8]>> FromIterator<T> for Column {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut column = Self::new();
        for item in items {
            column.push(item.as_ref());
        }
        column
    }
}

impl OptionalColumn {
    /// An empty column.
    pub(crate) const fn new() -> Self {
        Self { present: Vec::new(), items: Column::new() }
    }

    /// Appends an item, or the absence of one.
    #[inline]
    pub(crate) fn push(&mut self, item: Option<&[u8]>) {
        match item {
            Some(item) => {
                self.items.bytes.extend_from_slice(item);
                self.close_item();
            }
            None => self.push_absent(),
        }
    }

    /// Ends the item made of the bytes appended to `items` since the last one.
    #[inline]
    pub(crate) fn close_item(&mut self) {
        mark_present(&mut self.present);
        self.items.close_item();
    }

    /// Appends the absence of an item.
    pub(crate) fn push_absent(&mut self) {
        mark_absent(&mut self.present, self.items.len());
        self.items.close_item();
    }

    /// Item `index`; `None` where it is absent.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&[u8]> {
        if self.is_present(index) { Some(self.items.get(index)) } else { None }
    }

    /// Whether item `index` exists.
    #[inline]
    pub(crate) fn is_present(&self, index: usize) -> bool {
        self.present.get(index) != Some(&0)
    }

    /// Number of items, absent ones included.
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// Forgets the items and keeps the room.
    pub(crate) fn clear(&mut self) {
        self.present.clear();
        self.items.clear();
    }
}

impl FieldColumn {
    /// An empty column for a kind.
    pub(crate) fn for_kind(kind: FieldKind) -> Self {
        let cells = match kind {
            FieldKind::Text | FieldKind::Json => Cells::Texts(Column::new()),
            FieldKind::Integer | FieldKind::Timestamp => Cells::Integers(Vec::new()),
            FieldKind::Float => Cells::Floats(Vec::new()),
            FieldKind::Boolean => Cells::Booleans(Vec::new()),
        };
        Self { present: Vec::new(), cells }
    }

    /// Notes that the cell just appended exists.
    #[inline]
    pub(crate) fn mark_present(&mut self) {
        mark_present(&mut self.present);
    }

    /// Appends the cell of a record that lacks the field.
    pub(crate) fn push_absent(&mut self) {
        let rows = match &mut self.cells {
            Cells::Texts(cells) => {
                cells.close_item();
                cells.len()
            }
            Cells::Integers(cells) => push_counted(cells, 0),
            Cells::Floats(cells) => push_counted(cells, 0.0),
            Cells::Booleans(cells) => push_counted(cells, 0),
        };
        mark_absent(&mut self.present, rows - 1);
    }

    /// Forgets the cells and keeps the room.
    pub(crate) fn clear(&mut self) {
        self.present.clear();
        match &mut self.cells {
            Cells::Texts(cells) => cells.clear(),
            Cells::Integers(cells) => cells.clear(),
            Cells::Floats(cells) => cells.clear(),
            Cells::Booleans(cells) => cells.clear(),
        }
    }
}

fn push_counted<T>(cells: &mut Vec<T>, cell: T) -> usize {
    cells.push(cell);
    cells.len()
}

#[inline]
fn mark_present(present: &mut Vec<u8>) {
    if !present.is_empty() {
        present.push(1);
    }
}

fn mark_absent(present: &mut Vec<u8>, items_before: usize) {
    if present.is_empty() {
        present.resize(items_before, 1);
    }
    present.push(0);
}
