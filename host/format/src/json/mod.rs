//! JSON: one pass over each value cuts out what is wanted and checks the rest.
//!
//! Which documents are accepted, and what their numbers and strings are, is what `serde_json` does with its
//! feature `float_roundtrip` (the nearest float) and otherwise by
//! default: at most 127 levels, UTF-8, whole surrogate pairs, no number above every finite float, and of
//! members with one name the last.

mod cells;
mod numbers;
mod plan;
mod scan;
mod shape;
mod skip;
mod strings;
mod syntax;

use model::{FieldKind, Values};

use self::cells::Wanted;
use self::plan::Plan;
use self::scan::Scanner;
use self::syntax::{Syntax, Why};
use crate::decoder::{Decoded, Output};
use crate::fault::sample;
use crate::utf8::Utf8;
use crate::{Cut, CutError, CutKind, FaultKind, WHOLE_VALUE};

pub(crate) use self::cells::expected;
pub(crate) use self::strings::next_special;

/// Cuts columns out of JSON values.
#[derive(Debug)]
pub(crate) struct JsonDecoder {
    wanted: Vec<Wanted>,
    scanner: Scanner,
    output: Output,
}

impl JsonDecoder {
    pub(crate) fn new(cuts: &[Cut]) -> Result<Self, CutError> {
        for cut in cuts.iter().filter(|cut| cut.path == WHOLE_VALUE) {
            if !matches!(cut.kind, CutKind::Key | CutKind::Field(FieldKind::Text | FieldKind::Json)) {
                return Err(CutError::WholeValueKind { kind: expected(cut.kind).to_owned(), also: " or a json field" });
            }
        }
        let plan = Plan::new(cuts)?;
        let wanted = cuts.iter().zip(&plan.places).map(|(cut, &node)| Wanted::new(cut.clone(), node)).collect();
        Ok(Self { wanted, scanner: Scanner::new(plan), output: Output::new(cuts) })
    }

    pub(crate) fn decode(&mut self, values: &Values) -> Decoded {
        let utf8 = Utf8::of(values);
        let mut decoded = self.output.begin(values);
        for (row, &span) in (0u32..).zip(values.spans()) {
            let Some(bytes) = values.get(row as usize) else {
                decoded.push_tombstone(row, self.wanted.iter().map(|wanted| &wanted.cut));
                continue;
            };
            if !utf8.holds(span, bytes) {
                decoded.push_not_utf8(row, bytes);
                continue;
            }
            match self.scanner.scan(bytes) {
                Ok(()) => self.append_row(row, bytes, &mut decoded),
                Err(syntax) => {
                    let (kind, message) = describe(syntax, bytes);
                    decoded.push_broken_row(row, kind, message);
                }
            }
        }
        self.output.end(&decoded);
        decoded
    }

    /// Appends the cells of the document just scanned.
    #[inline]
    fn append_row(&self, row: u32, bytes: &[u8], decoded: &mut Decoded) {
        for (cut, (wanted, column)) in self.wanted.iter().zip(&mut decoded.columns).enumerate() {
            let found = self.scanner.found(wanted.node);
            if let Err(kind) = wanted.append(found, bytes, column) {
                let message = wanted.describe(kind, found, bytes);
                column.push_absent();
                decoded.faults.push(crate::Fault { row, cut: Some(cut), kind, message });
            }
        }
    }
}

/// Checks that `bytes` are one JSON document, by the rules of this room.
///
/// # Errors
/// What is wrong with it and where, for a person.
pub fn validate_json(bytes: &[u8]) -> Result<(), String> {
    validate_json_within(bytes, 0)
}

/// As [`validate_json`], for a document to be put inside `depth` objects or arrays.
pub(crate) fn validate_json_within(bytes: &[u8], depth: u32) -> Result<(), String> {
    if simdutf8::basic::from_utf8(bytes).is_err() {
        return Err(not_utf8(bytes));
    }
    check(bytes, depth).map_err(|syntax| describe(syntax, bytes).1)
}

/// Passes over a whole document.
fn check(bytes: &[u8], depth: u32) -> Result<(), Syntax> {
    let end = skip::skip_value(bytes, skip::space_end(bytes, 0), depth)?;
    let end = skip::space_end(bytes, end);
    if end == bytes.len() { Ok(()) } else { syntax::broken(end, Why::Trailing) }
}

/// What is wrong with bytes that are not UTF-8, for a person.
#[cold]
pub(crate) fn not_utf8(bytes: &[u8]) -> String {
    let at = simdutf8::compat::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), |_| bytes.len());
    format!("expected UTF-8, found {} at byte {at}", sample(bytes.get(at..).unwrap_or_default()))
}

/// The kind of a fault, and what it says.
#[cold]
fn describe(syntax: Syntax, bytes: &[u8]) -> (FaultKind, String) {
    if skip::space_end(bytes, 0) == bytes.len() {
        return (FaultKind::EmptyValue, format!("expected a JSON value, found {} bytes of white space", bytes.len()));
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        return (FaultKind::Bom, "expected a JSON value, found a byte order mark at byte 0".to_owned());
    }
    let at = syntax.at();
    let expected = syntax.why().expected();
    let message = match bytes.get(at..) {
        Some(rest) if !rest.is_empty() => format!("{expected}, found {} at byte {at}", sample(rest)),
        _ => format!("{expected}, found the end at byte {}; the value begins {}", bytes.len(), sample(bytes)),
    };
    (syntax.why().kind(), message)
}
