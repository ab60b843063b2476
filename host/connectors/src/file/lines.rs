//! Where records end in bytes.
//!
//! A record is a line: it ends at `\n` or `\r\n`. In CSV a line break between quotes is part of the
//! record. A quote counts only where a field starts, as readers of CSV have it.

use memchr::{memchr, memchr2};

/// How records are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Every line.
    Line,
    /// Lines, except that a quoted field may hold line breaks.
    Csv { delimiter: u8 },
}

/// A line found in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// One past its last byte, without the line end.
    pub(super) end: usize,
    /// Where the next one starts.
    pub(super) next: usize,
}

/// What the lines of a file are.
#[derive(Clone, Debug)]
pub(super) struct LineRules {
    pub(super) rule: Rule,
    /// Whether empty lines and a byte-order mark are passed over.
    pub(super) skips_empty: bool,
    pub(super) has_header: bool,
    pub(super) max_record_bytes: usize,
}

/// What was passed over on purpose.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Passed {
    pub(super) empty_lines: u64,
    pub(super) byte_order_marks: u64,
}

impl std::ops::Add for Passed {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            empty_lines: self.empty_lines + other.empty_lines,
            byte_order_marks: self.byte_order_marks + other.byte_order_marks,
        }
    }
}

impl Rule {
    /// The record at the start of `bytes`; `None` when its end is not there.
    #[inline]
    pub(super) fn first(self, bytes: &[u8]) -> Option<Line> {
        let newline = match self {
            Self::Line => memchr(b'\n', bytes)?,
            Self::Csv { delimiter } => match memchr2(b'\n', b'"', bytes)? {
                at if bytes.get(at) == Some(&b'\n') => at,
                _ => quoted_record_end(bytes, delimiter)?,
            },
        };
        Some(line_ending_at(bytes, newline))
    }
}

/// The line whose `\n` is at `newline`.
#[inline]
pub(super) fn line_ending_at(bytes: &[u8], newline: usize) -> Line {
    let has_return = newline > 0 && bytes.get(newline - 1) == Some(&b'\r');
    Line { end: newline - usize::from(has_return), next: newline + 1 }
}

/// The line break that ends the CSV record at the start of `bytes`.
fn quoted_record_end(bytes: &[u8], delimiter: u8) -> Option<usize> {
    let mut at = 0;
    loop {
        // A field starts at `at`.
        if bytes.get(at) == Some(&b'"') {
            at = closing_quote(bytes, at + 1)? + 1;
        }
        at += memchr2(b'\n', delimiter, bytes.get(at..)?)?;
        if bytes.get(at) == Some(&b'\n') {
            return Some(at);
        }
        at += 1;
    }
}

/// The quote that ends a field; two in a row are one of its characters.
fn closing_quote(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += memchr(b'"', bytes.get(at..)?)?;
        match bytes.get(at + 1) {
            Some(b'"') => at += 2,
            // The byte after the last one we have may be a second quote.
            None => return None,
            Some(_) => return Some(at),
        }
    }
}
