//! CSV records from fields.

use model::{Cells, FieldColumn, FieldKind, FieldSpec};

use super::{EncodeError, check_json, write_plain};
use crate::csv::{check_delimiter, column_of};
use crate::{CsvFormat, CutError, pointer};

/// Which field stands in which column.
#[derive(Debug)]
pub(super) struct Layout {
    delimiter: u8,
    /// The field of each column; `None` where no field is written.
    fields: Vec<Option<usize>>,
}

impl Layout {
    /// The columns of the format, or those the fields name where it lists none.
    pub(super) fn new(format: &CsvFormat, fields: &[FieldSpec]) -> Result<Self, CutError> {
        check_delimiter(format.delimiter)?;
        let mut names = format.columns.clone();
        if names.is_empty() {
            for field in fields {
                names.extend(pointer::steps(&field.path)?.into_iter().take(1));
            }
        }
        let mut placed: Vec<Option<usize>> = vec![None; names.len()];
        for (index, field) in fields.iter().enumerate() {
            let collides = |other: Option<usize>| CutError::PathsCollide {
                name: field.name.clone(),
                path: field.path.clone(),
                other: other.and_then(|other| fields.get(other)).map_or_else(String::new, |other| other.path.clone()),
            };
            let place = match column_of(&names, &field.path) {
                Err(CutError::AmbiguousColumn { .. }) if format.columns.is_empty() => {
                    let twin = fields.iter().position(|other| other.path == field.path);
                    return Err(collides(twin));
                }
                place => place?,
            };
            let Some(slot) = placed.get_mut(place) else { continue };
            if slot.is_some() {
                return Err(collides(*slot));
            }
            *slot = Some(index);
        }
        Ok(Self { delimiter: format.delimiter, fields: placed })
    }

    /// Appends the record of one row.
    pub(super) fn write(
        &self,
        row: usize,
        fields: &[FieldSpec],
        columns: &[FieldColumn],
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let start = out.len();
        for (place, index) in self.fields.iter().enumerate() {
            if place > 0 {
                out.push(self.delimiter);
            }
            let Some(index) = *index else { continue };
            if let (Some(field), Some(column)) = (fields.get(index), columns.get(index))
                && column.is_present(row)
            {
                self.write_cell(row, field, column, out)?;
            }
        }
        if out.len() == start {
            // Without quotes a record of one empty cell would be an empty line, which readers skip.
            out.extend_from_slice(b"\"\"");
        }
        Ok(())
    }

    fn write_cell(
        &self,
        row: usize,
        field: &FieldSpec,
        column: &FieldColumn,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let Cells::Texts(cells) = &column.cells else { return write_plain(row, field, column, out) };
        let cell = cells.get(row);
        if field.kind == FieldKind::Json {
            check_json(row, field, cell, 0)?;
        }
        self.write_text(cell, out);
        Ok(())
    }

    /// Appends a text, in quotes where it could be read otherwise without.
    fn write_text(&self, text: &[u8], out: &mut Vec<u8>) {
        let special = memchr::memchr3(b'"', b'\n', b'\r', text).or_else(|| memchr::memchr(self.delimiter, text));
        if special.is_none() && !text.is_empty() {
            out.extend_from_slice(text);
            return;
        }
        out.push(b'"');
        for &byte in text {
            if byte == b'"' {
                out.push(b'"');
            }
            out.push(byte);
        }
        out.push(b'"');
    }
}
