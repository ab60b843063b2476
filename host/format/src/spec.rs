//! What a decoder is asked for: a format and the cuts to make in every value.

use model::{FieldKind, PointerError, TimeUnit};

/// How values are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// Bytes of any kind: only the whole value can be cut.
    Raw,
    /// One JSON document per value.
    Json,
    /// One CSV record per value.
    Csv(CsvFormat),
}

/// How CSV records are written. Quoting is that of RFC 4180.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvFormat {
    /// The byte between cells, by [`model::is_csv_delimiter`].
    pub delimiter: u8,
    /// The names of the columns, in order.
    pub columns: Vec<String>,
}

/// The path of the whole value, whatever the format.
pub const WHOLE_VALUE: &str = "$value";

/// One thing to cut out of every value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// A JSON pointer (`/customer/id`), for CSV a column name after the slash, or [`WHOLE_VALUE`].
    pub path: String,
    /// What it becomes.
    pub kind: CutKind,
    /// Whether a value without it is at fault. A key is always required.
    pub required: bool,
}

/// What a cut becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CutKind {
    /// A typed field.
    Field(FieldKind),
    /// The bytes of a key: a string unescaped, a number as it is written, `true` or `false`.
    Key,
    /// An event time; its column holds milliseconds since 1970.
    Time(TimeUnit),
}

/// Why cuts cannot be made, or fields cannot be written, in a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CutError {
    /// The path is neither a JSON pointer nor `$value`.
    #[error("path `{path}` is not a JSON pointer: expected `/name`, `/outer/inner` or `$value`, {why}")]
    NotAPointer {
        /// The path.
        path: String,
        /// The rule it breaks.
        why: PointerError,
    },
    /// A pointer into bytes without structure.
    #[error("path `{path}` cannot be cut out of raw values: expected `$value`, or a source with `format: json`")]
    RawHasNoPaths {
        /// The path.
        path: String,
    },
    /// The whole value, as something it cannot be read as.
    #[error("the whole value cannot be read as {kind}: expected a key, a text{also}")]
    WholeValueKind {
        /// What was asked for.
        kind: String,
        /// What else the format would allow.
        also: &'static str,
    },
    /// A pointer of several steps into a flat record.
    #[error("path `{path}` has {found} steps: a CSV column is named by one, like `/name`")]
    NestedInCsv {
        /// The path.
        path: String,
        /// How many steps it has.
        found: usize,
    },
    /// No column has that name.
    #[error("path `{path}` names no column: the columns are {columns}")]
    NoSuchColumn {
        /// The path.
        path: String,
        /// The names there are.
        columns: String,
    },
    /// Two columns have that name.
    #[error("path `{path}` names more than one column")]
    AmbiguousColumn {
        /// The path.
        path: String,
    },
    /// The delimiter would be taken for something else.
    #[error(
        "delimiter {delimiter:?} cannot stand between cells: expected a character like `,` `;` `|` or a tab, not a quote, a line end or a part of a number"
    )]
    Delimiter {
        /// The delimiter.
        delimiter: char,
    },
    /// Two fields would be written at one place, or one inside the other.
    #[error("field `{name}`: path `{path}` collides with path `{other}`: each field needs a place of its own")]
    PathsCollide {
        /// The later field.
        name: String,
        /// Its path.
        path: String,
        /// The path of the earlier field.
        other: String,
    },
    /// Fields for a format that has none.
    #[error("field `{name}`: raw values have no fields: write bytes, or give the sink `format: json` or `csv`")]
    RawHasNoFields {
        /// The first field.
        name: String,
    },
}

impl CutError {
    /// The code of its page.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotAPointer { .. } => "E0730",
            Self::RawHasNoPaths { .. } | Self::WholeValueKind { .. } | Self::RawHasNoFields { .. } => "E0731",
            Self::NestedInCsv { .. } | Self::NoSuchColumn { .. } | Self::AmbiguousColumn { .. } => "E0732",
            Self::Delimiter { .. } => "E0733",
            Self::PathsCollide { .. } => "E0734",
        }
    }
}
