//! Reading checked values out of the tree: each reader notes the place, or adds a problem and goes on.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::codes;
use super::places::Places;
use super::problem::Problems;
use super::tree::{Entry, Node, Value, shorten};

/// The most sources, functions, sinks or named inputs: more than a person keeps in view.
const MAX_ENTRIES: usize = 1000;
/// The most items of a list: columns of a wide table.
const MAX_ITEMS: usize = 4096;

/// What the readers share: the problems so far and the places noted.
pub(super) struct Check {
    pub(super) problems: Problems,
    pub(super) places: Places,
}

/// A value with its path and its place.
#[derive(Clone)]
pub(super) struct At<'n> {
    pub(super) path: String,
    pub(super) node: &'n Node,
    pub(super) span: std::ops::Range<usize>,
}

/// The keys of one mapping, taken one by one; [`Keys::finish`] refuses the rest.
pub(super) struct Keys<'n> {
    pub(super) path: String,
    pub(super) span: std::ops::Range<usize>,
    entries: &'n [Entry],
    known: Vec<&'static str>,
    /// Keys of which one had to be there, with what was said of it.
    missing: Vec<(Vec<&'static str>, &'static str, String)>,
}

impl Check {
    pub(super) fn problem(&mut self, code: &'static str, at: &At<'_>, message: impl Into<String>) {
        self.problems.add(code, &at.path, at.span.clone(), message);
    }

    pub(super) fn problem_with_help(&mut self, code: &'static str, at: &At<'_>, message: String, help: Option<String>) {
        self.problems.add_with_help(code, &at.path, at.span.clone(), message, help);
    }

    fn wrong(&mut self, at: &At<'_>, expected: &str) {
        self.problem(codes::WRONG_VALUE, at, format!("expected {expected}: found {}", at.node.describe()));
    }

    /// The keys of a mapping.
    pub(super) fn keys<'n>(&mut self, at: &At<'n>) -> Option<Keys<'n>> {
        match &at.node.value {
            Value::Map(entries) => Some(Keys {
                path: at.path.clone(),
                span: at.span.clone(),
                entries,
                known: Vec::new(),
                missing: Vec::new(),
            }),
            // `stdout:` with nothing after it is a mapping without keys.
            Value::Null => Some(Keys {
                path: at.path.clone(),
                span: at.span.clone(),
                entries: &[],
                known: Vec::new(),
                missing: Vec::new(),
            }),
            _ => {
                self.wrong(at, "a mapping");
                None
            }
        }
    }

    /// The entries of a mapping whose keys are the user's own.
    pub(super) fn entries<'n>(&mut self, at: &At<'n>) -> Vec<(&'n str, At<'n>)> {
        let Some(keys) = self.keys(at) else { return Vec::new() };
        if keys.entries.len() > MAX_ENTRIES {
            let message = format!("expected at most {MAX_ENTRIES} entries: found {}", keys.entries.len());
            self.problem(codes::TOO_LARGE, at, message);
        }
        let mut entries = Vec::new();
        for entry in keys.entries.iter().take(MAX_ENTRIES) {
            let value = entry_at(&keys.path, entry);
            self.places.note(&value.path, entry.key_span.clone());
            entries.push((entry.key.as_str(), value));
        }
        entries
    }

    /// One item, or the items of a list.
    pub(super) fn one_or_many<'n>(&mut self, at: &At<'n>) -> Vec<At<'n>> {
        let Value::List(items) = &at.node.value else { return vec![at.clone()] };
        if items.is_empty() {
            self.problem(codes::WRONG_VALUE, at, "expected at least one: found an empty list");
        }
        if items.len() > MAX_ITEMS {
            self.problem(codes::TOO_LARGE, at, format!("expected at most {MAX_ITEMS} items: found {}", items.len()));
        }
        let mut many = Vec::new();
        for (index, node) in items.iter().take(MAX_ITEMS).enumerate() {
            let path = format!("{}[{index}]", at.path);
            self.places.note(&path, node.span.clone());
            many.push(At { path, node, span: node.span.clone() });
        }
        many
    }

    /// A text; a number or a boolean is not one, because a person who means a text can quote it.
    pub(super) fn text<'n>(&mut self, at: &At<'n>, expected: &str) -> Option<&'n str> {
        match &at.node.value {
            Value::Text(text) => Some(text),
            _ => {
                self.wrong(at, expected);
                None
            }
        }
    }

    pub(super) fn boolean(&mut self, at: &At<'_>) -> Option<bool> {
        match at.node.value {
            Value::Boolean(value) => Some(value),
            _ => {
                self.wrong(at, "`true` or `false`");
                None
            }
        }
    }

    /// A whole number of a range.
    pub(super) fn integer(&mut self, at: &At<'_>, range: RangeInclusive<u64>) -> Option<u64> {
        let (first, last) = (range.start(), range.end());
        let expected = if *last == u64::MAX {
            format!("a whole number from {first}")
        } else {
            format!("a whole number from {first} to {last}")
        };
        let Value::Number(text) = &at.node.value else {
            self.wrong(at, &expected);
            return None;
        };
        // `1_000`, `1e3` and `0x10` are not whole numbers to most readers: refused rather than guessed.
        let is_whole = text.strip_prefix('-').unwrap_or(text).bytes().all(|byte| byte.is_ascii_digit());
        match text.parse::<u64>() {
            Ok(value) if range.contains(&value) => Some(value),
            _ => {
                let code = if is_whole { codes::OUT_OF_RANGE } else { codes::WRONG_VALUE };
                self.problem(code, at, format!("expected {expected}: found {}", at.node.describe()));
                None
            }
        }
    }

    /// A number from `least` to `most`.
    pub(super) fn float(&mut self, at: &At<'_>, least: f64, most: f64) -> Option<f64> {
        let expected = format!("a number from {least} to {most}");
        let Value::Number(text) = &at.node.value else {
            self.wrong(at, &expected);
            return None;
        };
        match text.parse::<f64>() {
            Ok(value) if (least..=most).contains(&value) => Some(value),
            _ => {
                self.problem(codes::OUT_OF_RANGE, at, format!("expected {expected}: found {}", at.node.describe()));
                None
            }
        }
    }

    /// A size: `64MiB`, `256 KiB`, `1000000`.
    pub(super) fn size_bytes(&mut self, at: &At<'_>, range: RangeInclusive<u64>) -> Option<u64> {
        let (Value::Text(text) | Value::Number(text)) = &at.node.value else {
            self.wrong(at, "a size such as `64MiB`");
            return None;
        };
        let Ok(size) = text.parse::<bytesize::ByteSize>() else {
            self.wrong(at, "a size such as `64MiB`, `100kB` or a number of bytes");
            return None;
        };
        self.in_range(at, &size.as_u64(), &range, |bytes| format!("`{}`", show_size(*bytes)))
    }

    /// A duration: `5s`, `250ms`, `1h 30m`.
    pub(super) fn duration(&mut self, at: &At<'_>, range: RangeInclusive<Duration>) -> Option<Duration> {
        let expected = "a duration with its unit, such as `250ms`, `5s` or `1h 30m`";
        let Value::Text(text) = &at.node.value else {
            self.wrong(at, expected);
            return None;
        };
        let Ok(duration) = humantime::parse_duration(text) else {
            self.wrong(at, expected);
            return None;
        };
        self.in_range(at, &duration, &range, |duration| format!("`{}`", humantime::format_duration(*duration)))
    }

    fn in_range<T: PartialOrd + Copy>(
        &mut self,
        at: &At<'_>,
        value: &T,
        range: &RangeInclusive<T>,
        show: impl Fn(&T) -> String,
    ) -> Option<T> {
        if range.contains(value) {
            return Some(*value);
        }
        let (least, most) = (show(range.start()), show(range.end()));
        self.problem(codes::OUT_OF_RANGE, at, format!("expected from {least} to {most}: found {}", at.node.describe()));
        None
    }

    /// One of a few words.
    pub(super) fn choice<T: Copy>(&mut self, at: &At<'_>, words: &[(&str, T)]) -> Option<T> {
        let expected = one_of(words.iter().map(|(word, _)| *word));
        let text = self.text(at, &expected)?;
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Some(*value);
        }
        let help = nearest(text, words.iter().map(|(word, _)| *word)).map(|word| format!("did you mean `{word}`?"));
        self.problem_with_help(
            codes::WRONG_VALUE,
            at,
            format!("expected {expected}: found {}", at.node.describe()),
            help,
        );
        None
    }
}

fn entry_at<'n>(parent: &str, entry: &'n Entry) -> At<'n> {
    let path = if parent.is_empty() { shorten(&entry.key) } else { format!("{parent}.{}", shorten(&entry.key)) };
    At { path, node: &entry.value, span: entry.place() }
}

impl<'n> Keys<'n> {
    /// The value of a key, if it is there.
    pub(super) fn take(&mut self, check: &mut Check, key: &'static str) -> Option<At<'n>> {
        if !self.known.contains(&key) {
            self.known.push(key);
        }
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        let at = entry_at(&self.path, entry);
        check.places.note(&at.path, at.span.clone());
        Some(at)
    }

    /// The value of a key that must be there.
    pub(super) fn require(&mut self, check: &mut Check, key: &'static str, what: &str) -> Option<At<'n>> {
        let taken = self.take(check, key);
        if taken.is_none() {
            let message = format!("`{key}` is missing: expected {what}");
            self.lacks(check, &[key], codes::MISSING, message);
        }
        taken
    }

    /// Says that none of some keys is there, of which one had to be. Where a key that nobody knows turns out to be one
    /// of them misspelt, [`Keys::finish`] says that instead.
    pub(super) fn lacks(&mut self, check: &mut Check, keys: &[&'static str], code: &'static str, message: String) {
        check.problems.add(code, &self.path, self.span.clone(), message.clone());
        self.missing.push((keys.to_vec(), code, message));
    }

    /// Refuses a key of the schema that nothing stands behind yet. Returns whether it is there.
    pub(super) fn not_available(&mut self, check: &mut Check, key: &'static str, instead: Option<String>) -> bool {
        let Some(at) = self.take(check, key) else { return false };
        let entry_span = self.entries.iter().find(|entry| entry.key == key).map(|entry| entry.key_span.clone());
        let at = At { span: entry_span.unwrap_or(at.span), ..at };
        let help =
            instead.unwrap_or_else(|| format!("remove `{key}`: it is refused so that it is not silently ignored"));
        check.problem_with_help(codes::NOT_AVAILABLE, &at, format!("`{key}` is not available yet"), Some(help));
        true
    }

    /// Refuses the keys that nobody took.
    pub(super) fn finish(self, check: &mut Check) {
        for entry in self.entries {
            if self.known.contains(&entry.key.as_str()) {
                continue;
            }
            let near = nearest(&entry.key, self.known.iter().copied());
            let help = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known here: {}", list(self.known.iter().copied())),
            };
            let at = At { span: entry.key_span.clone(), ..entry_at(&self.path, entry) };
            if let Some((_, code, message)) =
                self.missing.iter().find(|(keys, ..)| near.is_some_and(|it| keys.contains(&it)))
            {
                check.problems.retract(code, &self.path, message);
            }
            let message = format!("unknown key `{}`", shorten(&entry.key));
            check.problem_with_help(codes::UNKNOWN_KEY, &at, message, Some(help));
        }
    }
}

/// The word that a person most likely meant.
pub(super) fn nearest<'w>(text: &str, words: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    // A text of a megabyte is no slip of the pen, and comparing it would take a minute.
    const LONGEST: usize = 128;
    if text.len() > LONGEST {
        return None;
    }
    let folded = text.to_lowercase().replace('_', "-");
    words
        .map(|word| (strsim::damerau_levenshtein(&folded, &word.to_lowercase().replace('_', "-")), word))
        .filter(|(distance, word)| *distance <= 1 + word.len().min(text.len()) / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

/// "`a`, `b`, `c`".
pub(super) fn list<T: Display>(words: impl Iterator<Item = T>) -> String {
    words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// "one of `a`, `b`, `c`", or "`a`".
pub(super) fn one_of<T: Display>(words: impl ExactSizeIterator<Item = T>) -> String {
    if words.len() == 1 { list(words) } else { format!("one of {}", list(words)) }
}

/// A size as a person writes it: in the largest unit that is exact.
fn show_size(bytes: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    units
        .iter()
        .find(|(_, shift)| bytes > 0 && bytes.is_multiple_of(1 << shift))
        .map_or_else(|| format!("{bytes}B"), |(unit, shift)| format!("{}{unit}", bytes >> shift))
}
