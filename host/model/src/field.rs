//! Typed fields: what the host cuts out of a value, and what it encodes back.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Column;
use crate::column::select_present;

/// What a field is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FieldKind {
    /// A string, unescaped.
    Text,
    /// A whole number that fits 64 signed bits.
    Integer,
    /// A number.
    Float,
    /// True or false.
    Boolean,
    /// Milliseconds since 1970, a whole number.
    Timestamp,
    /// The raw text of whatever stands there.
    Json,
}

impl fmt::Display for FieldKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "text",
            Self::Integer => "integer",
            Self::Float => "float",
            Self::Boolean => "boolean",
            Self::Timestamp => "timestamp",
            Self::Json => "json",
        })
    }
}

/// How a time is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    /// Seconds since 1970: a whole number, or a decimal fraction without exponent, rounded down to
    /// milliseconds.
    S,
    /// Milliseconds since 1970, a whole number.
    Ms,
    /// Microseconds since 1970, a whole number, rounded down to milliseconds.
    Us,
    /// Nanoseconds since 1970, a whole number, rounded down to milliseconds.
    Ns,
    /// Text like `2026-04-14T09:30:00.125Z` or with an offset like `+02:00`; rounded down to
    /// milliseconds.
    Rfc3339,
}

/// Whether a byte can stand between two CSV cells: ASCII, and no quote, line end, NUL, letter, digit, `+`,
/// `-` or `.`, which could not be told from the cells themselves.
#[must_use]
pub fn is_csv_delimiter(byte: u8) -> bool {
    let in_numbers = byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    byte.is_ascii() && !in_numbers && !matches!(byte, b'"' | b'\r' | b'\n' | 0)
}

/// A field a function reads or writes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FieldSpec {
    /// The name of the field in the function.
    pub name: String,
    /// A JSON pointer (`/customer/id`); for CSV a column name after the slash.
    pub path: String,
    /// What it is read as.
    pub kind: FieldKind,
    /// Whether a record without it is a bad record.
    pub required: bool,
}

/// The cells of one field, one per row; an absent cell holds an empty text or zero.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// For [`FieldKind::Text`] and [`FieldKind::Json`].
    Texts(Column),
    /// For [`FieldKind::Integer`] and [`FieldKind::Timestamp`].
    Integers(Vec<i64>),
    /// For [`FieldKind::Float`].
    Floats(Vec<f64>),
    /// For [`FieldKind::Boolean`]: 0 or 1.
    Booleans(Vec<u8>),
}

impl Cells {
    /// Empty cells for a kind.
    #[must_use]
    pub fn for_kind(kind: FieldKind) -> Self {
        match kind {
            FieldKind::Text | FieldKind::Json => Self::Texts(Column::default()),
            FieldKind::Integer | FieldKind::Timestamp => Self::Integers(Vec::new()),
            FieldKind::Float => Self::Floats(Vec::new()),
            FieldKind::Boolean => Self::Booleans(Vec::new()),
        }
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Texts(cells) => cells.len(),
            Self::Integers(cells) => cells.len(),
            Self::Floats(cells) => cells.len(),
            Self::Booleans(cells) => cells.len(),
        }
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends the cell of a row that lacks the field.
    pub fn push_absent(&mut self) {
        match self {
            Self::Texts(cells) => cells.push(&[]),
            Self::Integers(cells) => cells.push(0),
            Self::Floats(cells) => cells.push(0.0),
            Self::Booleans(cells) => cells.push(0),
        }
    }
}

/// One field of every row of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldColumn {
    /// 1 where the row has the field, 0 where not; empty when every row has it, so that equal columns are
    /// equal.
    pub present: Vec<u8>,
    /// The cells, one per row.
    pub cells: Cells,
}

impl FieldColumn {
    /// An empty column for a kind.
    #[must_use]
    pub fn for_kind(kind: FieldKind) -> Self {
        Self { present: Vec::new(), cells: Cells::for_kind(kind) }
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Whether `row` has the field.
    #[must_use]
    pub fn is_present(&self, row: usize) -> bool {
        self.present.get(row) != Some(&0)
    }

    /// Bytes that the cells and their presence take.
    #[must_use]
    pub fn weight_bytes(&self) -> usize {
        let cells = match &self.cells {
            Cells::Texts(cells) => cells.weight_bytes(),
            Cells::Integers(cells) => cells.len() * size_of::<i64>(),
            Cells::Floats(cells) => cells.len() * size_of::<f64>(),
            Cells::Booleans(cells) => cells.len(),
        };
        cells + self.present.len()
    }

    /// Appends a row that lacks the field.
    pub fn push_absent(&mut self) {
        if self.present.is_empty() {
            self.present.resize(self.cells.len(), 1);
        }
        self.present.push(0);
        self.cells.push_absent();
    }

    /// Notes that the cell just appended exists.
    #[inline]
    pub fn mark_present(&mut self) {
        if !self.present.is_empty() {
            self.present.push(1);
        }
    }

    /// An empty column of the same kind.
    #[must_use]
    pub fn empty_like(&self) -> Self {
        let cells = match &self.cells {
            Cells::Texts(_) => Cells::Texts(Column::default()),
            Cells::Integers(_) => Cells::Integers(Vec::new()),
            Cells::Floats(_) => Cells::Floats(Vec::new()),
            Cells::Booleans(_) => Cells::Booleans(Vec::new()),
        };
        Self { present: Vec::new(), cells }
    }

    /// Appends the cell `row` of a column of the same kind.
    ///
    /// # Panics
    /// When a row is not below [`Self::len`], or the columns are of different kinds.
    #[expect(clippy::indexing_slicing, reason = "the row is the caller's promise")]
    pub fn push_from(&mut self, other: &Self, row: usize) {
        if !other.is_present(row) {
            self.push_absent();
            return;
        }
        match (&mut self.cells, &other.cells) {
            (Cells::Texts(cells), Cells::Texts(from)) => cells.push(from.get(row)),
            (Cells::Integers(cells), Cells::Integers(from)) => cells.push(from[row]),
            (Cells::Floats(cells), Cells::Floats(from)) => cells.push(from[row]),
            (Cells::Booleans(cells), Cells::Booleans(from)) => cells.push(from[row]),
            _ => panic!("columns of one field have one kind"),
        }
        self.mark_present();
    }

    /// The rows `rows`, in that order.
    ///
    /// # Panics
    /// When a row is not below [`Self::len`].
    #[must_use]
    #[expect(clippy::indexing_slicing, reason = "the rows are the caller's promise")]
    pub fn select(&self, rows: &[u32]) -> Self {
        let cells = match &self.cells {
            Cells::Texts(cells) => Cells::Texts(cells.select(rows)),
            Cells::Integers(cells) => Cells::Integers(rows.iter().map(|&row| cells[row as usize]).collect()),
            Cells::Floats(cells) => Cells::Floats(rows.iter().map(|&row| cells[row as usize]).collect()),
            Cells::Booleans(cells) => Cells::Booleans(rows.iter().map(|&row| cells[row as usize]).collect()),
        };
        Self { present: select_present(&self.present, rows), cells }
    }
}
