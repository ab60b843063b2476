//! The types a field may have.

use crate::bindings::types::{Cells, Field, FieldColumn, FieldKind};
use crate::column::item_range;
use crate::{Error, Result, Timestamp};

/// The promise that reading a cell rests on.
const BROKEN: &str = "the host passed a field column with fewer cells than rows, or with text cut inside a character";

/// A type of a field.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a type of a field",
    label = "not a type of a field",
    note = "use i64, f64, bool, &str, String, Timestamp, RawJson, or Option of one of them"
)]
pub trait FieldType {
    /// What it is read as on the host.
    const KIND: FieldKind;
    /// Whether a record without it is a bad record.
    const REQUIRED: bool = true;
    /// The type with its text borrowed for `'a`.
    type At<'a>;
    /// The column of a batch, opened.
    type Column<'a>;

    /// Opens a column; `None` when it is of another kind.
    fn open(column: &FieldColumn) -> Option<Self::Column<'_>>;
    /// The cell in `row`.
    fn read<'a>(column: &Self::Column<'a>, row: usize) -> Self::At<'a>;
    /// Appends a cell; returns how many bytes it takes.
    fn append(cell: &Self::At<'_>, column: &mut FieldColumn) -> usize;
}

/// The raw text of a value inside a JSON record, whatever it is: an object, a list, a large number.
///
/// ```
/// use tidegate::prelude::*;
///
/// #[derive(Fields)]
/// struct Event<'a> {
///     payload: RawJson<'a>,
/// }
///
/// let event = Event { payload: RawJson::new(r#"{"a": [1, 2]}"#) };
/// assert_eq!(event.payload.text(), r#"{"a": [1, 2]}"#);
/// assert_eq!(event.payload.parse::<serde_json::Value>()?["a"][1], 2);
/// # Ok::<(), tidegate::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawJson<'a>(&'a str);

impl<'a> RawJson<'a> {
    /// Text that is JSON; as an output it goes out as it is.
    #[must_use]
    pub const fn new(text: &'a str) -> Self {
        Self(text)
    }

    /// The text.
    #[must_use]
    pub const fn text(self) -> &'a str {
        self.0
    }

    /// Reads the text as a type of serde.
    ///
    /// # Errors
    /// When the text is not a `T`.
    pub fn parse<T: serde::Deserialize<'a>>(self) -> Result<T> {
        Ok(serde_json::from_str(self.0)?)
    }
}

/// A column of text.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Texts<'a> {
    text: &'a str,
    ends: &'a [u32],
}

impl<'a> Texts<'a> {
    fn open(column: &'a FieldColumn) -> Option<Self> {
        let Cells::Texts(cells) = &column.cells else { return None };
        let text = std::str::from_utf8(&cells.bytes).expect("the host passes text as UTF-8");
        Some(Self { text, ends: &cells.ends })
    }

    #[inline]
    fn get(&self, row: usize) -> &'a str {
        item_range(self.ends, row).and_then(|range| self.text.get(range)).expect(BROKEN)
    }
}

fn append_text(text: &str, column: &mut FieldColumn) -> usize {
    column.mark_present();
    if let Cells::Texts(cells) = &mut column.cells {
        cells.push(text.as_bytes());
    }
    text.len() + 4
}

impl FieldType for &'static str {
    const KIND: FieldKind = FieldKind::Text;
    type At<'a> = &'a str;
    type Column<'a> = Texts<'a>;

    fn open(column: &FieldColumn) -> Option<Texts<'_>> {
        Texts::open(column)
    }
    #[inline]
    fn read<'a>(column: &Self::Column<'a>, row: usize) -> Self::At<'a> {
        column.get(row)
    }
    fn append(cell: &&str, column: &mut FieldColumn) -> usize {
        append_text(cell, column)
    }
}

impl FieldType for String {
    const KIND: FieldKind = FieldKind::Text;
    type At<'a> = Self;
    type Column<'a> = Texts<'a>;

    fn open(column: &FieldColumn) -> Option<Texts<'_>> {
        Texts::open(column)
    }
    fn read<'a>(column: &Self::Column<'a>, row: usize) -> Self::At<'a> {
        column.get(row).to_owned()
    }
    fn append(cell: &Self, column: &mut FieldColumn) -> usize {
        append_text(cell, column)
    }
}

impl FieldType for RawJson<'static> {
    const KIND: FieldKind = FieldKind::Json;
    type At<'a> = RawJson<'a>;
    type Column<'a> = Texts<'a>;

    fn open(column: &FieldColumn) -> Option<Texts<'_>> {
        Texts::open(column)
    }
    #[inline]
    fn read<'a>(column: &Self::Column<'a>, row: usize) -> Self::At<'a> {
        RawJson(column.get(row))
    }
    fn append(cell: &RawJson<'_>, column: &mut FieldColumn) -> usize {
        append_text(cell.0, column)
    }
}

/// A cell of a fixed width.
macro_rules! fixed_cell {
    ($type:ty, $kind:ident, $cells:ident, $wire:ty, $from:expr, $to:expr) => {
        impl FieldType for $type {
            const KIND: FieldKind = FieldKind::$kind;
            type At<'a> = Self;
            type Column<'a> = &'a [$wire];

            fn open(column: &FieldColumn) -> Option<&[$wire]> {
                if let Cells::$cells(cells) = &column.cells { Some(cells) } else { None }
            }
            #[inline]
            fn read<'a>(column: &Self::Column<'a>, row: usize) -> Self::At<'a> {
                $from(*column.get(row).expect(BROKEN))
            }
            fn append(cell: &Self, column: &mut FieldColumn) -> usize {
                column.mark_present();
                if let Cells::$cells(cells) = &mut column.cells {
                    cells.push($to(*cell));
                }
                std::mem::size_of::<$wire>()
            }
        }
    };
}

fixed_cell!(i64, Integer, Integers, i64, |wire| wire, |cell| cell);
fixed_cell!(f64, Float, Floats, f64, |wire| wire, |cell| cell);
fixed_cell!(bool, Boolean, Booleans, u8, |wire: u8| wire != 0, u8::from);
fixed_cell!(Timestamp, Timestamp, Integers, i64, Timestamp::from_millis, Timestamp::millis);

impl<C: FieldType> FieldType for Option<C> {
    const KIND: FieldKind = C::KIND;
    const REQUIRED: bool = false;
    type At<'a> = Option<C::At<'a>>;
    type Column<'a> = (&'a [u8], C::Column<'a>);

    fn open(column: &FieldColumn) -> Option<Self::Column<'_>> {
        Some((&column.present, C::open(column)?))
    }
    #[inline]
    fn read<'a>(column: &Self::Column<'a>, row: usize) -> Self::At<'a> {
        if column.0.get(row) == Some(&0) { None } else { Some(C::read(&column.1, row)) }
    }
    fn append(cell: &Self::At<'_>, column: &mut FieldColumn) -> usize {
        match cell {
            Some(cell) => C::append(cell, column) + 1,
            None => {
                column.push_absent();
                1
            }
        }
    }
}

/// What the host is asked to cut out for a field of type `C`.
#[doc(hidden)]
#[must_use]
pub fn spec<C: FieldType>(name: &str, path: &str) -> Field {
    Field { name: name.to_owned(), path: path.to_owned(), kind: C::KIND, required: C::REQUIRED }
}

/// Opens column `index` for a field of type `C`.
#[doc(hidden)]
pub fn open<'a, C: FieldType>(columns: &'a [FieldColumn], index: usize, name: &str) -> Result<C::Column<'a>> {
    columns
        .get(index)
        .and_then(C::open)
        .ok_or_else(|| Error::new(format!("the host passed no {:?} column for the field `{name}`", C::KIND)))
}
