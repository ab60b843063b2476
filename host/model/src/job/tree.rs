//! From YAML or JSON text to a tree in which every value knows where it stands.
//!
//! JSON is read as the YAML it is. Plain scalars are resolved by the core schema of YAML 1.2: `yes` and
//! `no` are texts. Aliases are replaced by copies of what they name, within [`MAX_EXPANDED_BYTES`].
//!
//! # Absent on purpose
//! Tags, merge keys, mappings as keys, several documents: each is a problem
//! with its place, because none of them has a use in a job file.

use std::collections::BTreeMap;
use std::ops::Range;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, StrInput, Tag};

use super::codes;
use super::problem::Problems;

/// The longest job file. A job of a thousand functions is a tenth of it.
pub const MAX_FILE_BYTES: usize = 1024 * 1024;
/// The deepest nesting: a job file needs 5 levels, a function's `config` may need some more.
pub const MAX_DEPTH: usize = 64;
/// The most that a file may hold once its aliases are replaced, in bytes of text and `VALUE_BYTES` a
/// value: so that ten lines of aliases of aliases do not fill the memory.
pub const MAX_EXPANDED_BYTES: usize = 16 * MAX_FILE_BYTES;
/// What a value counts beside its text.
const VALUE_BYTES: usize = 16;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) span: Range<usize>,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    Null,
    Boolean(bool),
    /// As it is written.
    Number(String),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) key_span: Range<usize>,
    pub(super) value: Node,
}

impl Entry {
    /// The bytes that show a person this entry: its value if that is one word, else its key.
    pub(super) fn place(&self) -> Range<usize> {
        match self.value.value {
            Value::List(_) | Value::Map(_) => self.key_span.clone(),
            _ if self.value.span.is_empty() => self.key_span.clone(),
            _ => self.value.span.clone(),
        }
    }
}

impl Node {
    /// The value as a message names it.
    pub(super) fn describe(&self) -> String {
        match &self.value {
            Value::Null => "nothing".to_owned(),
            Value::Boolean(value) => format!("`{value}`"),
            Value::Number(text) => format!("the number `{}`", shorten(text)),
            Value::Text(text) => format!("`{}`", shorten(text)),
            Value::List(items) => format!("a list of {}", items.len()),
            Value::Map(_) => "a mapping".to_owned(),
        }
    }
}

/// A text short enough for a message.
pub(super) fn shorten(text: &str) -> String {
    const MOST: usize = 60;
    let mut short: String = text.chars().take(MOST).flat_map(char::escape_debug).collect();
    if text.chars().nth(MOST).is_some() {
        short.push('…');
    }
    short.replace("\\'", "'").replace("\\\"", "\"")
}

/// Reads a text; `None` when nothing can be made of it, with the reason among the problems.
pub(super) fn read(text: &str, problems: &mut Problems) -> Option<Node> {
    if text.len() > MAX_FILE_BYTES {
        let message = format!("the file has {} bytes: at most {MAX_FILE_BYTES} are read", text.len());
        problems.add(codes::TOO_LARGE, "", 0..0, message);
        return None;
    }
    let options = granit_parser::options! { disallow_directives: true };
    let parser = Parser::new_from_str_with_options(text, options);
    Builder { text, parser, problems, anchors: BTreeMap::new(), expanded_bytes: 0 }.document()
}

/// Reading has stopped; the reason is among the problems.
struct Stopped;

struct Builder<'t, 'p> {
    text: &'t str,
    parser: Parser<'t, StrInput<'t>>,
    problems: &'p mut Problems,
    anchors: BTreeMap<usize, (Node, usize)>,
    expanded_bytes: usize,
}

impl<'t> Builder<'t, '_> {
    fn document(mut self) -> Option<Node> {
        let mut root = None;
        loop {
            let (event, span) = self.next().ok()?;
            match event {
                Event::StreamStart | Event::DocumentEnd => {}
                Event::StreamEnd => break,
                Event::DocumentStart(..) if root.is_some() => {
                    self.problems.add(
                        codes::UNSUPPORTED,
                        "",
                        span,
                        "a second document starts here: a job file holds one job",
                    );
                    break;
                }
                Event::DocumentStart(..) => {}
                event => root = Some(self.node(event, span, 0).ok()?),
            }
        }
        if root.is_none() {
            self.problems.add(
                codes::MISSING,
                "",
                0..0,
                "the file is empty: expected a mapping with `name`, `sources`, `functions` and `sinks`",
            );
        }
        root
    }

    fn next(&mut self) -> Result<(Event<'t>, Range<usize>), Stopped> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => {
                let range = span.byte_range().unwrap_or(0..0);
                Ok((event, range.start.min(self.text.len())..range.end.min(self.text.len())))
            }
            Some(Err(error)) => {
                let at = error.marker().byte_offset().unwrap_or(0).min(self.text.len());
                if *error.kind() == ErrorKind::RecursionLimitExceeded {
                    return Err(self.too_deep(at..at));
                }
                let message = format!("not YAML or JSON: {}", error.info());
                self.problems.add(codes::SYNTAX, "", at..at, message);
                Err(Stopped)
            }
            None => Ok((Event::StreamEnd, self.text.len()..self.text.len())),
        }
    }

    fn too_deep(&mut self, span: Range<usize>) -> Stopped {
        let message = format!("nested deeper than {MAX_DEPTH} levels");
        self.problems.add(codes::TOO_LARGE, "", span, message);
        Stopped
    }

    fn node(&mut self, event: Event<'t>, span: Range<usize>, depth: usize) -> Result<Node, Stopped> {
        if depth > MAX_DEPTH {
            return Err(self.too_deep(span));
        }
        let before = self.expanded_bytes;
        let (node, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.grow(text.len(), &span)?;
                let value = self.scalar(&text, style, tag.as_deref(), &span);
                (Node { value, span }, anchor)
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.refuse_tag(tag.as_deref(), &span);
                self.grow(0, &span)?;
                (self.list(span, depth)?, anchor)
            }
            Event::MappingStart(_, anchor, tag) => {
                self.refuse_tag(tag.as_deref(), &span);
                self.grow(0, &span)?;
                (self.map(span, depth)?, anchor)
            }
            Event::Alias(anchor) => (self.alias(anchor, span)?, 0),
            _ => (Node { value: Value::Null, span }, 0),
        };
        if anchor != 0 {
            let bytes = self.expanded_bytes - before;
            self.grow(bytes, &node.span)?;
            self.anchors.insert(anchor, (node.clone(), bytes));
        }
        Ok(node)
    }

    /// Counts a value, and the bytes of its text.
    fn grow(&mut self, bytes: usize, span: &Range<usize>) -> Result<(), Stopped> {
        self.expanded_bytes = self.expanded_bytes.saturating_add(bytes).saturating_add(VALUE_BYTES);
        if self.expanded_bytes > MAX_EXPANDED_BYTES {
            let message = "too many values once aliases (`*name`) are replaced by what they name";
            self.problems.add(codes::TOO_LARGE, "", span.clone(), message);
            return Err(Stopped);
        }
        Ok(())
    }

    fn alias(&mut self, anchor: usize, span: Range<usize>) -> Result<Node, Stopped> {
        let Some((node, bytes)) = self.anchors.get(&anchor) else {
            self.problems.add(codes::SYNTAX, "", span, "an alias inside the value that it names");
            return Err(Stopped);
        };
        let (bytes, value) = (*bytes, node.value.clone());
        self.grow(bytes, &span)?;
        Ok(Node { value, span })
    }

    fn list(&mut self, span: Range<usize>, depth: usize) -> Result<Node, Stopped> {
        let mut items = Vec::new();
        loop {
            let (event, item_span) = self.next()?;
            if matches!(event, Event::SequenceEnd | Event::StreamEnd) {
                return Ok(Node { value: Value::List(items), span });
            }
            items.push(self.node(event, item_span, depth + 1)?);
        }
    }

    fn map(&mut self, span: Range<usize>, depth: usize) -> Result<Node, Stopped> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut seen: BTreeMap<String, Range<usize>> = BTreeMap::new();
        loop {
            let (event, key_span) = self.next()?;
            if matches!(event, Event::MappingEnd | Event::StreamEnd) {
                return Ok(Node { value: Value::Map(entries), span });
            }
            let is_plain = matches!(&event, Event::Scalar(_, ScalarStyle::Plain, ..));
            let key_node = self.node(event, key_span.clone(), depth + 1)?;
            let (value_event, value_span) = self.next()?;
            let value = self.node(value_event, value_span, depth + 1)?;
            let Some(key) = self.key(key_node, is_plain, &key_span) else { continue };
            if let Some(first) = seen.get(&key) {
                let line = line_of(self.text, first.start);
                let message = format!("key `{}` stands twice in one mapping: first in line {line}", shorten(&key));
                self.problems.add(codes::KEY_TWICE, "", key_span, message);
                continue;
            }
            seen.insert(key.clone(), key_span.clone());
            entries.push(Entry { key, key_span, value });
        }
    }

    fn key(&mut self, node: Node, is_plain: bool, span: &Range<usize>) -> Option<String> {
        let key = match node.value {
            Value::Text(text) | Value::Number(text) => text,
            Value::Boolean(value) => value.to_string(),
            Value::Null => self.text.get(span.clone()).unwrap_or_default().to_owned(),
            Value::List(_) | Value::Map(_) => {
                self.problems.add(
                    codes::UNSUPPORTED,
                    "",
                    span.clone(),
                    "a list or a mapping as a key: expected a name",
                );
                return None;
            }
        };
        if is_plain && key == "<<" {
            let message =
                "merge keys (`<<`) are not part of YAML 1.2: write the keys out, or use an alias for the whole value";
            self.problems.add(codes::UNSUPPORTED, "", span.clone(), message);
            return None;
        }
        Some(key)
    }

    fn refuse_tag(&mut self, tag: Option<&Tag>, span: &Range<usize>) {
        if let Some(tag) = tag {
            let message = format!("tag `{}` means nothing in a job file", shorten(&tag.original()));
            self.problems.add(codes::UNSUPPORTED, "", span.clone(), message);
        }
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, tag: Option<&Tag>, span: &Range<usize>) -> Value {
        self.refuse_tag(tag, span);
        if style == ScalarStyle::Plain { resolve(text) } else { Value::Text(text.to_owned()) }
    }
}

/// The core schema of YAML 1.2.
fn resolve(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Boolean(true),
        "false" | "False" | "FALSE" => Value::Boolean(false),
        _ if is_number(text) => Value::Number(text.to_owned()),
        _ => Value::Text(text.to_owned()),
    }
}

fn is_number(text: &str) -> bool {
    if let Some(digits) = text.strip_prefix("0x") {
        return !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return !digits.is_empty() && digits.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let has_digits = !whole.is_empty() || !fraction.is_empty();
    let exponent_is_whole = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !digits.is_empty() && all_digits(digits)
    });
    has_digits && all_digits(whole) && all_digits(fraction) && exponent_is_whole
}

/// The line, from 1, of a byte of a text.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|&&byte| byte == b'\n').count() + 1
}
