//! Writes columns back as values.

use model::{Column, FieldColumn, FieldSpec};

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
#[derive(Debug)]
pub struct Encoder {
    fields: Vec<FieldSpec>,
}

impl Encoder {
    /// An encoder of `fields`, in their order.
    ///
    /// # Errors
    /// [`CutError`] when a path is no path, collides with another, or makes no sense in the format.
    pub fn new(format: &Format, fields: &[FieldSpec]) -> Result<Self, CutError> {
        let _ = format;
        Ok(Self { fields: fields.to_vec() })
    }

    /// The row of column names that begins a file; `None` where the format has none.
    #[must_use]
    pub fn header(&self) -> Option<Vec<u8>> {
        None
    }

    /// One value per row. `columns` are the fields, in their order.
    ///
    /// # Errors
    /// [`EncodeError`] for the first row that cannot be written; nothing is written then.
    pub fn encode(&mut self, columns: &[FieldColumn]) -> Result<Column, EncodeError> {
        let _ = (columns, &self.fields);
        Ok(Column::default())
    }
}
