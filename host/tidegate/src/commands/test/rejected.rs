//! Records that a function rejected, as a person wants to see them.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

use super::collect::Records;

/// How many a person is shown.
const MOST_SHOWN: usize = 20;
/// The most characters of a record that a line shows.
const SHOWN_CHARS: usize = 120;

/// One record, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Rejected {
    /// Where it stands in the input: the byte it begins at.
    position: u64,
    code: String,
    why: String,
    value: String,
}

/// What the dead letters of a run say, by position: rejecting has no order of its own.
pub(super) fn of_letters(letters: &Records) -> Vec<Rejected> {
    let mut rejected: Vec<Rejected> = letters
        .iter()
        .flatten()
        .filter_map(|letter| serde_json::from_slice(letter).ok())
        .map(|it| of_letter(&it))
        .collect();
    rejected.sort();
    rejected
}

fn of_letter(letter: &Value) -> Rejected {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let error = letter.get("error").unwrap_or(&Value::Null);
    let part = |name: &str| error.get(name).map(text).unwrap_or_default();
    let position = letter.pointer("/origin/position").and_then(Value::as_u64).unwrap_or_default();
    let value = letter.get("value").or_else(|| letter.get("value_base64")).map(text).unwrap_or_default();
    Rejected { position, code: part("code"), why: part("message"), value }
}

/// The first record of which it depends on the batches whether, or why, it is rejected.
pub(super) fn first_of_one<'r>(first: &'r [Rejected], later: &'r [Rejected]) -> Option<&'r Rejected> {
    let differs = |one: &'r [Rejected], other: &[Rejected]| {
        one.iter().find(|it| !other.iter().any(|that| (that.position, &that.code) == (it.position, &it.code)))
    };
    differs(first, later).into_iter().chain(differs(later, first)).min()
}

/// A summary, then a line for each of the first.
pub(super) fn text(rejected: &[Rejected]) -> String {
    let plural = if rejected.len() == 1 { "record was" } else { "records were" };
    let mut text = format!("{} {plural} rejected", rejected.len());
    for it in rejected.iter().take(MOST_SHOWN) {
        let _infallible = write!(text, "\n  {} at position {}: {}: {}", it.code, it.position, it.why, shown(&it.value));
    }
    if rejected.len() > MOST_SHOWN {
        let _infallible = write!(text, "\n  and {} more", rejected.len() - MOST_SHOWN);
    }
    text
}

fn shown(value: &str) -> String {
    match value.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", value.get(..end).unwrap_or_default()),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests;
