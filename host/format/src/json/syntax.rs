//! What makes a document no JSON, and where.

use crate::FaultKind;

/// The result of a step of the scanner.
pub(crate) type Scan<T> = Result<T, Syntax>;

/// Where a document breaks, and why: one word, so that a result stays in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Syntax(u64);

impl Syntax {
    /// The byte of the document.
    pub(crate) fn at(self) -> usize {
        (self.0 >> 8) as usize
    }

    /// The rule it breaks.
    pub(crate) fn why(self) -> Why {
        let code = (self.0 & 0xff) as usize;
        Why::ALL.get(code).copied().expect("the code of a rule is its place among all")
    }
}

/// The rules of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// Something else than a value stands where one must.
    Value,
    /// Something else than a string or `}` stands where a member must.
    Key,
    /// No colon after a key.
    Colon,
    /// Neither a comma nor `}` after a member.
    CommaOrBrace,
    /// Neither a comma nor `]` after an element.
    CommaOrBracket,
    /// The document ends inside.
    End,
    /// The document ends inside a string.
    EndInString,
    /// A control character in a string.
    Control,
    /// A backslash before something that cannot be escaped.
    Escape,
    /// Half of a surrogate pair.
    Surrogate,
    /// Something that begins like a number.
    Number,
    /// A number above every finite float.
    NumberRange,
    /// Nested deeper than [`MAX_DEPTH`].
    Depth,
    /// Something after the document.
    Trailing,
}

/// How deep arrays and objects may nest.
pub(crate) const MAX_DEPTH: u32 = model::MAX_JSON_DEPTH;

impl Why {
    /// Every rule, in order of declaration.
    const ALL: [Self; 14] = [
        Self::Value,
        Self::Key,
        Self::Colon,
        Self::CommaOrBrace,
        Self::CommaOrBracket,
        Self::End,
        Self::EndInString,
        Self::Control,
        Self::Escape,
        Self::Surrogate,
        Self::Number,
        Self::NumberRange,
        Self::Depth,
        Self::Trailing,
    ];

    /// The kind of fault it makes the whole value.
    pub(crate) fn kind(self) -> FaultKind {
        match self {
            Self::NumberRange => FaultKind::NumberOutOfRange,
            Self::Depth => FaultKind::TooDeep,
            Self::Trailing => FaultKind::TrailingBytes,
            _ => FaultKind::BrokenJson,
        }
    }

    /// What was expected, for a person.
    pub(crate) fn expected(self) -> &'static str {
        match self {
            Self::Value => "expected a JSON value",
            Self::Key => "expected a member name in quotes or `}`",
            Self::Colon => "expected `:` after a member name",
            Self::CommaOrBrace => "expected `,` or `}` after a member",
            Self::CommaOrBracket => "expected `,` or `]` after an element",
            Self::End => "expected more: the document ends inside a value",
            Self::EndInString => "expected more: the document ends inside a string",
            Self::Control => "expected no control character in a string: it must be escaped",
            Self::Escape => "expected one of `\"\\/bfnrt` or `u` and four hexadecimal digits after a backslash",
            Self::Surrogate => "expected a whole surrogate pair: one half alone is no character",
            Self::Number => "expected a number like `-12.5e3`, without leading zeros or a bare point",
            Self::NumberRange => "expected a number that fits a 64-bit float",
            Self::Depth => "expected at most 127 levels of arrays and objects",
            Self::Trailing => "expected the end of the value",
        }
    }
}

/// A broken rule at a byte.
#[cold]
#[inline(never)]
pub(crate) fn broken<T>(at: usize, why: Why) -> Scan<T> {
    Err(Syntax((at as u64) << 8 | why as u64))
}
