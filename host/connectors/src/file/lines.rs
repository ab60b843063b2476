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
    let mut scan = QuoteScan::default();
    scan.reach_line_break(bytes, delimiter).then_some(scan.at)
}

/// Whether a quote opens in the CSV record at the start of `bytes` and is not closed in them.
pub(super) fn leaves_a_quote_open(bytes: &[u8], delimiter: u8) -> bool {
    let mut scan = QuoteScan::default();
    !scan.reach_line_break(bytes, delimiter) && scan.within == Within::Quoted
}

/// Where in a field a byte stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Within {
    /// It is the first of a field.
    #[default]
    Start,
    /// No quotes are open.
    Plain,
    /// Quotes are open.
    Quoted,
    /// It follows a quote within quotes: another makes one character of both, anything else is outside.
    AfterQuote,
}

/// Looks for the line break that ends a CSV record; goes on where it stopped when there are more bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct QuoteScan {
    /// The next byte to look at, or the line break.
    at: usize,
    within: Within,
}

impl QuoteScan {
    /// Goes on to the line break that ends the record, and stays before it. `false`: it is not there,
    /// and all of `bytes` has been looked at.
    fn reach_line_break(&mut self, bytes: &[u8], delimiter: u8) -> bool {
        loop {
            let Some(rest) = bytes.get(self.at..).filter(|rest| !rest.is_empty()) else { return false };
            let opens = rest.first() == Some(&b'"');
            let (step, within) = match self.within {
                Within::Start if opens => (1, Within::Quoted),
                Within::AfterQuote if opens => (1, Within::Quoted),
                Within::Quoted => match memchr(b'"', rest) {
                    Some(quote) => (quote + 1, Within::AfterQuote),
                    None => (rest.len(), Within::Quoted),
                },
                Within::Start | Within::Plain | Within::AfterQuote => match memchr2(b'\n', delimiter, rest) {
                    Some(end) if rest.get(end) == Some(&b'\n') => {
                        self.at += end;
                        self.within = Within::Plain;
                        return true;
                    }
                    Some(end) => (end + 1, Within::Start),
                    None => (rest.len(), Within::Plain),
                },
            };
            self.at += step;
            self.within = within;
        }
    }
}

/// What stands at the start of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A record.
    Record(Line),
    /// One line, longer than a record may be.
    TooLong(Line),
    /// One line, in which a quote opens that is not closed within the longest record or the file.
    Unclosed(Line),
}

/// Tells CSV records apart.
///
/// # Invariants
/// 1. What stands at a position depends on the bytes from there on alone, not on how many have been
///    read, nor on where reading began.
/// 2. A byte is looked at a bounded number of times, however many quotes are open.
#[derive(Clone, Debug)]
pub(super) struct CsvLines {
    delimiter: u8,
    max_record_bytes: usize,
    /// Where the last search for the end of a record gave up, and how the bytes stood there. Whatever
    /// other line before it leaves a quote open stands the same there: both were within quotes at the
    /// end of that line. So its search goes on from here.
    unclosed_until: u64,
    unclosed: QuoteScan,
}

impl CsvLines {
    pub(super) fn new(delimiter: u8, max_record_bytes: usize) -> Self {
        Self { delimiter, max_record_bytes, unclosed_until: 0, unclosed: QuoteScan::default() }
    }

    /// What stands at the start of `bytes`, which are those at `position`; `None`: it takes more bytes
    /// to tell. `is_all`: no more will come, and the end of the bytes is that of a line.
    #[inline]
    pub(super) fn first(&mut self, bytes: &[u8], position: u64, is_all: bool) -> Option<Found> {
        match memchr2(b'\n', b'"', bytes) {
            Some(at) if bytes.get(at) == Some(&b'\n') => {
                let line = line_ending_at(bytes, at);
                Some(if line.end > self.max_record_bytes { Found::TooLong(line) } else { Found::Record(line) })
            }
            _ if bytes.is_empty() => None,
            _ => self.first_quoted(bytes, position, is_all),
        }
    }

    fn first_quoted(&mut self, bytes: &[u8], position: u64, is_all: bool) -> Option<Found> {
        let newline = match memchr(b'\n', bytes) {
            Some(newline) => newline,
            None if is_all => bytes.len(),
            None => return None,
        };
        let line = line_to(bytes, newline);
        if line.end > self.max_record_bytes {
            return Some(Found::TooLong(line));
        }
        let mut scan = QuoteScan::default();
        scan.reach_line_break(bytes.get(..newline).unwrap_or_default(), self.delimiter);
        if scan.within != Within::Quoted {
            return Some(Found::Record(line));
        }
        if position + (newline as u64) < self.unclosed_until {
            scan = self.unclosed;
            scan.at = usize::try_from(self.unclosed_until - position).unwrap_or(usize::MAX);
        }
        // The longest record may be followed by `\r\n`.
        let window = bytes.get(..self.max_record_bytes.saturating_add(2)).unwrap_or(bytes);
        let is_whole = window.len() < bytes.len() || window.len() == self.max_record_bytes.saturating_add(2);
        let end = if scan.reach_line_break(window, self.delimiter) {
            Some(line_ending_at(bytes, scan.at))
        } else if is_whole {
            None
        } else if is_all {
            (scan.within != Within::Quoted).then(|| line_to(bytes, bytes.len()))
        } else {
            return None;
        };
        match end {
            Some(record) if record.end <= self.max_record_bytes => Some(Found::Record(record)),
            _ => {
                self.unclosed_until = position + scan.at as u64;
                self.unclosed = scan;
                Some(Found::Unclosed(line))
            }
        }
    }
}

/// The line whose `\n` is at `newline`, or that ends there with all the bytes.
fn line_to(bytes: &[u8], newline: usize) -> Line {
    if newline < bytes.len() { line_ending_at(bytes, newline) } else { Line { end: newline, next: newline } }
}
