//! Writes columns back as values.

mod csv;
mod json;

use model::{Cells, Column, FieldColumn, FieldKind, FieldSpec};

use crate::fault::sample;
use crate::json::validate_json_within;
use crate::utf8::first_invalid;
use crate::{CutError, Format};

/// Why a row cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// A required field is absent.
    #[error("row {row}: field `{field}` is absent: it is declared as required")]
    RequiredAbsent {
        /// The row.
        row: u32,
        /// The name of the field.
        field: String,
    },
    /// A float that no JSON or CSV number can express.
    #[error("row {row}: field `{field}` is {found}: expected a finite number")]
    NotFinite {
        /// The row.
        row: u32,
        /// The name of the field.
        field: String,
        /// The number.
        found: String,
    },
    /// A text is not UTF-8.
    #[error("row {row}: field `{field}` is not UTF-8: {sample}")]
    NotUtf8 {
        /// The row.
        row: u32,
        /// The name of the field.
        field: String,
        /// Its beginning.
        sample: String,
    },
    /// The raw text of a `json` field is not a JSON document.
    #[error("row {row}: field `{field}` is not JSON: {why}")]
    NotJson {
        /// The row.
        row: u32,
        /// The name of the field.
        field: String,
        /// What is wrong with it, and where.
        why: String,
    },
    /// The columns are not those of the fields, or of different lengths.
    #[error("{found}: expected {expected}")]
    Columns {
        /// What was given.
        found: String,
        /// What the fields ask for.
        expected: String,
    },
}

impl EncodeError {
    /// The code of its page.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::RequiredAbsent { .. } => "E0720",
            Self::NotFinite { .. } => "E0721",
            Self::NotUtf8 { .. } => "E0722",
            Self::NotJson { .. } => "E0723",
            Self::Columns { .. } => "E0724",
        }
    }
}

/// Writes the declared fields of every row as one value.
///
/// JSON values are objects on one line, with the fields in declared order, those below one path step
/// together where the first of them stands; an absent optional field is left out, and so is an object
/// without fields. CSV values are records without line end, with the cells in the order of the format's
/// columns; an absent cell is empty, an empty text is `""`. No record of column names is written.
#[derive(Debug)]
pub struct Encoder {
    fields: Vec<FieldSpec>,
    by: By,
}

#[derive(Debug)]
enum By {
    Json(json::Tree),
    Csv(csv::Layout),
}

/// The values written so far.
#[derive(Debug, Default)]
struct Written {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Written {
    fn close(&mut self) {
        self.ends.push(u32::try_from(self.bytes.len()).expect("a column is bounded by the batch size"));
    }
}

impl Encoder {
    /// An encoder of `fields`, in their order.
    ///
    /// # Errors
    /// [`CutError`] when a path is no path, collides with another, or makes no sense in the format.
    pub fn new(format: &Format, fields: &[FieldSpec]) -> Result<Self, CutError> {
        let by = match format {
            Format::Json => By::Json(json::Tree::new(fields)?),
            Format::Csv(format) => By::Csv(csv::Layout::new(format, fields)?),
            Format::Raw => {
                let name = fields.first().map_or_else(String::new, |field| field.name.clone());
                return Err(CutError::RawHasNoFields { name });
            }
        };
        Ok(Self { fields: fields.to_vec(), by })
    }

    /// One value per row. `columns` are the fields, in their order.
    ///
    /// # Errors
    /// [`EncodeError`] for a row that cannot be written; nothing is written then.
    pub fn encode(&mut self, columns: &[FieldColumn]) -> Result<Column, EncodeError> {
        let rows = check_columns(&self.fields, columns)?;
        check_cells(&self.fields, columns)?;
        let mut written = Written::default();
        written.ends.reserve(rows);
        for row in 0..rows {
            match &self.by {
                By::Json(tree) => tree.write(row, &self.fields, columns, &mut written.bytes)?,
                By::Csv(layout) => layout.write(row, &self.fields, columns, &mut written.bytes)?,
            }
            written.close();
        }
        Ok(Column::from_parts(written.bytes, written.ends).expect("ends were taken from the length as it grew"))
    }
}

/// Checks that there is a column for each field, of its kind, all of one length. Returns that.
fn check_columns(fields: &[FieldSpec], columns: &[FieldColumn]) -> Result<usize, EncodeError> {
    let wrong = |found, expected| Err(EncodeError::Columns { found, expected });
    if columns.len() != fields.len() {
        return wrong(format!("{} columns", columns.len()), format!("{}, one per field", fields.len()));
    }
    let rows = columns.first().map_or(0, FieldColumn::len);
    for (field, column) in fields.iter().zip(columns) {
        let name = &field.name;
        if column.len() != rows {
            return wrong(
                format!("field `{name}` has {} rows", column.len()),
                format!("{rows}, as the first field has"),
            );
        }
        if !column.present.is_empty() && column.present.len() != rows {
            let found = format!("field `{name}` marks {} rows as present or absent", column.present.len());
            return wrong(found, format!("none or all {rows}"));
        }
        let fits = matches!(
            (field.kind, &column.cells),
            (FieldKind::Text | FieldKind::Json, Cells::Texts(_))
                | (FieldKind::Integer | FieldKind::Timestamp, Cells::Integers(_))
                | (FieldKind::Float, Cells::Floats(_))
                | (FieldKind::Boolean, Cells::Booleans(_))
        );
        if !fits {
            let found = match column.cells {
                Cells::Texts(_) => "texts",
                Cells::Integers(_) => "integers",
                Cells::Floats(_) => "floats",
                Cells::Booleans(_) => "booleans",
            };
            return wrong(format!("field `{name}` has {found}"), format!("cells for the kind {}", field.kind));
        }
    }
    Ok(rows)
}

/// Checks what can be checked of whole columns: that required cells are there and texts are UTF-8.
fn check_cells(fields: &[FieldSpec], columns: &[FieldColumn]) -> Result<(), EncodeError> {
    let at = |row: usize| u32::try_from(row).expect("a batch has fewer than 2^32 rows");
    for (field, column) in fields.iter().zip(columns) {
        if field.required
            && let Some(row) = memchr::memchr(0, &column.present)
        {
            return Err(EncodeError::RequiredAbsent { row: at(row), field: field.name.clone() });
        }
        if let (FieldKind::Text, Cells::Texts(cells)) = (field.kind, &column.cells)
            && let Some(row) = first_invalid(cells)
        {
            let sample = sample(cells.get(row));
            return Err(EncodeError::NotUtf8 { row: at(row), field: field.name.clone(), sample });
        }
    }
    Ok(())
}

/// Appends a number or a boolean as both formats write it. Texts are not written.
#[inline]
fn write_plain(row: usize, field: &FieldSpec, column: &FieldColumn, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    match &column.cells {
        Cells::Integers(cells) => {
            let cell = cells.get(row).copied().unwrap_or_default();
            out.extend_from_slice(itoa::Buffer::new().format(cell).as_bytes());
        }
        Cells::Floats(cells) => {
            let cell = cells.get(row).copied().unwrap_or_default();
            if !cell.is_finite() {
                return Err(not_finite(row, field, cell));
            }
            out.extend_from_slice(zmij::Buffer::new().format_finite(cell).as_bytes());
        }
        Cells::Booleans(cells) => {
            let truth = cells.get(row).is_some_and(|&cell| cell != 0);
            out.extend_from_slice(if truth { b"true" } else { b"false" });
        }
        Cells::Texts(_) => {}
    }
    Ok(())
}

#[cold]
fn not_finite(row: usize, field: &FieldSpec, cell: f64) -> EncodeError {
    let row = u32::try_from(row).unwrap_or(u32::MAX);
    EncodeError::NotFinite { row, field: field.name.clone(), found: cell.to_string() }
}

/// Checks the raw text of a `json` field that goes inside `depth` objects.
fn check_json(row: usize, field: &FieldSpec, cell: &[u8], depth: u32) -> Result<(), EncodeError> {
    validate_json_within(cell, depth).map_err(|why| EncodeError::NotJson {
        row: u32::try_from(row).unwrap_or(u32::MAX),
        field: field.name.clone(),
        why,
    })
}
