//! Whether values are UTF-8: one look over a whole batch where its values lie close together.

use model::{Column, Span, Values};

/// What is known of the values of a batch.
pub(crate) enum Utf8<'a> {
    /// All bytes from `from` on to the end of `text` are UTF-8.
    Whole {
        /// The bytes.
        text: &'a str,
        /// Where they begin in the arena.
        from: u32,
    },
    /// Nothing: each value must be looked at.
    Each,
}

impl<'a> Utf8<'a> {
    /// Looks over a batch.
    pub(crate) fn of(values: &'a Values) -> Self {
        let (mut from, mut to, mut total) = (u32::MAX, 0, 0);
        for span in values.spans().iter().filter(|&&span| span != Span::ABSENT) {
            from = from.min(span.start);
            to = to.max(span.end);
            total += span.len();
        }
        let Some(range) = values.arena().get(from as usize..to as usize) else { return Self::Each };
        if range.len() / 2 > total {
            return Self::Each;
        }
        simdutf8::basic::from_utf8(range).map_or(Self::Each, |text| Self::Whole { text, from })
    }

    /// Whether the value `bytes` at `span` is UTF-8.
    #[inline]
    pub(crate) fn holds(&self, span: Span, bytes: &[u8]) -> bool {
        match self {
            Self::Whole { text, from } => {
                let boundary = |at: u32| text.is_char_boundary((at - from) as usize);
                boundary(span.start) && boundary(span.end)
            }
            Self::Each => simdutf8::basic::from_utf8(bytes).is_ok(),
        }
    }
}

/// The first item of `column` that is not UTF-8.
pub(crate) fn first_invalid(column: &Column) -> Option<usize> {
    let whole = simdutf8::basic::from_utf8(column.bytes());
    if whole.is_ok_and(|text| column.ends().iter().all(|&end| text.is_char_boundary(end as usize))) {
        return None;
    }
    column.iter().position(|item| simdutf8::basic::from_utf8(item).is_err())
}
