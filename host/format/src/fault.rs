//! What is wrong with a value, said so that a person can find and mend it.

use std::fmt::{self, Write as _};

/// What kind of wrong it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FaultKind {
    /// The value is not a JSON document.
    BrokenJson,
    /// The value, or a text in it, is not UTF-8.
    InvalidUtf8,
    /// A required field, the key or the time is not there, or is null.
    MissingField,
    /// The key is null, or an empty CSV cell.
    NullKey,
    /// Something else stands where the field is expected.
    WrongType,
    /// A number that cannot be held exactly as what it is read as, or that is no finite number.
    NumberOutOfRange,
    /// Something follows the value.
    TrailingBytes,
    /// The document is nested deeper than is accepted.
    TooDeep,
    /// The value begins with a byte order mark.
    Bom,
    /// There is no value, or only white space.
    EmptyValue,
    /// A CSV record has more or fewer cells than there are columns.
    WrongCellCount,
    /// A text that is not a time.
    NotATime,
    /// A quote of a CSV record is never closed.
    BrokenCsv,
}

impl FaultKind {
    /// Every kind, in the order of their codes.
    pub const ALL: [Self; 13] = [
        Self::BrokenJson,
        Self::InvalidUtf8,
        Self::MissingField,
        Self::NullKey,
        Self::WrongType,
        Self::NumberOutOfRange,
        Self::TrailingBytes,
        Self::TooDeep,
        Self::Bom,
        Self::EmptyValue,
        Self::WrongCellCount,
        Self::NotATime,
        Self::BrokenCsv,
    ];

    /// Its name in counters.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::BrokenJson => "broken-json",
            Self::InvalidUtf8 => "invalid-utf8",
            Self::MissingField => "missing-field",
            Self::NullKey => "null-key",
            Self::WrongType => "wrong-type",
            Self::NumberOutOfRange => "number-out-of-range",
            Self::TrailingBytes => "trailing-bytes",
            Self::TooDeep => "too-deep",
            Self::Bom => "bom",
            Self::EmptyValue => "empty-value",
            Self::WrongCellCount => "wrong-cell-count",
            Self::NotATime => "not-a-time",
            Self::BrokenCsv => "broken-csv",
        }
    }

    /// The code of its page.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::BrokenJson => "E0701",
            Self::InvalidUtf8 => "E0702",
            Self::MissingField => "E0703",
            Self::NullKey => "E0704",
            Self::WrongType => "E0705",
            Self::NumberOutOfRange => "E0706",
            Self::TrailingBytes => "E0707",
            Self::TooDeep => "E0708",
            Self::Bom => "E0709",
            Self::EmptyValue => "E0710",
            Self::WrongCellCount => "E0711",
            Self::NotATime => "E0712",
            Self::BrokenCsv => "E0713",
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One thing wrong with one row. At most one per row and cut; a row whose value is broken as a whole
/// has exactly one, and no cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The row.
    pub row: u32,
    /// The cut that could not be made; `None` when the whole value is broken.
    pub cut: Option<usize>,
    /// What kind of wrong it is.
    pub kind: FaultKind,
    /// Path, what was expected, what was found, where, and a short sample.
    pub message: String,
}

/// Most characters of a sample: enough to recognise a value, too few to flood a log.
pub(crate) const SAMPLE_CHARS: usize = 40;

/// The beginning of `bytes` for a person: printable, in backquotes, at most [`SAMPLE_CHARS`] characters
/// between them.
pub(crate) fn sample(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(SAMPLE_CHARS + 8);
    text.push('`');
    let head = bytes.get(..4 * SAMPLE_CHARS).unwrap_or(bytes);
    let mut chars = 0;
    let mut whole = head.len() == bytes.len();
    'parts: for part in head.utf8_chunks() {
        for symbol in part.valid().chars() {
            let room = SAMPLE_CHARS - chars;
            let shown = symbol.escape_debug();
            let plain = matches!(symbol, '"' | '\'' | '\\');
            let width = if plain { 1 } else { shown.len() };
            if width > room {
                whole = false;
                break 'parts;
            }
            if plain {
                text.push(symbol);
            } else {
                text.extend(shown);
            }
            chars += width;
        }
        for byte in part.invalid() {
            if chars + 4 > SAMPLE_CHARS {
                whole = false;
                break 'parts;
            }
            write!(text, "\\x{byte:02x}").expect("writing to a string cannot fail");
            chars += 4;
        }
    }
    text.push('`');
    if !whole {
        text.push('…');
    }
    text
}
