//! One pass over a document: notes what stands at the places of a plan, and checks everything else.
//!
//! # Invariants
//! 1. A document is accepted exactly when `serde_json` makes a value of it.
//! 2. Where a name stands twice in an object the last one counts, with all that is below it.
//! 3. Recursion goes no deeper than the plan; what nobody asked for is passed over in a loop.

use super::numbers::{Number, read_number};
use super::plan::{Node, Plan};
use super::shape::Place;
use super::skip::{read_key, skip_literal, skip_value, space_end};
use super::strings::{string_end, unescape};
use super::syntax::{MAX_DEPTH, Scan, Why, broken};

/// What stands at a place of the plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// The document it was found in.
    document: u64,
    /// What it is.
    pub(super) what: What,
    /// Its first byte.
    pub(super) start: usize,
    /// One past its last byte.
    pub(super) end: usize,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Null,
    True,
    False,
    Number(Number),
    /// A string without escapes.
    Plain,
    /// A string with escapes.
    Escaped,
    Array,
    Object,
}

/// Reads documents by a plan.
#[derive(Debug)]
pub(super) struct Scanner {
    nodes: Vec<Node>,
    found: Vec<Found>,
    /// Counts documents, so that what was found in an earlier one is not taken for this one's.
    document: u64,
    /// The text of a member name with escapes.
    name: Vec<u8>,
}

impl Scanner {
    pub(super) fn new(plan: Plan) -> Self {
        let nothing = Found { document: 0, what: What::Null, start: 0, end: 0 };
        let found = vec![nothing; plan.nodes.len()];
        Self { nodes: plan.nodes, found, document: 0, name: Vec::new() }
    }

    /// What stands at the node `node` in the last document scanned.
    #[inline]
    pub(super) fn found(&self, node: usize) -> Option<&Found> {
        self.found.get(node).filter(|found| found.document == self.document)
    }

    /// Reads one document. Its bytes are known to be UTF-8.
    #[inline]
    pub(super) fn scan(&mut self, bytes: &[u8]) -> Scan<()> {
        self.document += 1;
        let start = space_end(bytes, 0);
        let end = self.value(bytes, start, 0, 0)?;
        let end = space_end(bytes, end);
        if end == bytes.len() { Ok(()) } else { broken(end, Why::Trailing) }
    }

    /// Reads the value at `at`, which is the one at `node`; `depth` containers are open around it.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "there is one note per node, and children are nodes")]
    fn value(&mut self, bytes: &[u8], at: usize, node: usize, depth: u32) -> Scan<usize> {
        if self.found[node].document == self.document {
            self.forget_below(node);
        }
        let leads_on = !self.nodes[node].children.is_empty();
        let (what, end) = match bytes.get(at) {
            Some(b'"') => {
                let end = string_end(bytes, at + 1)?;
                (if end.escaped { What::Escaped } else { What::Plain }, end.quote + 1)
            }
            Some(b'-' | b'0'..=b'9') => {
                let (number, end) = read_number(bytes, at)?;
                (What::Number(number), end)
            }
            Some(b'{') if leads_on => (What::Object, self.object(bytes, at, node, depth)?),
            Some(b'{') => (What::Object, skip_value(bytes, at, depth)?),
            Some(b'[') if leads_on => (What::Array, self.array(bytes, at, node, depth)?),
            Some(b'[') => (What::Array, skip_value(bytes, at, depth)?),
            Some(&first) => {
                let what = match first {
                    b't' => What::True,
                    b'f' => What::False,
                    _ => What::Null,
                };
                (what, skip_literal(bytes, at)?)
            }
            None => return broken(at, Why::End),
        };
        self.found[node] = Found { document: self.document, what, start: at, end };
        Ok(end)
    }

    /// Reads the object at `at`.
    #[expect(clippy::indexing_slicing, reason = "children are nodes")]
    fn object(&mut self, bytes: &[u8], at: usize, node: usize, depth: u32) -> Scan<usize> {
        if depth >= MAX_DEPTH {
            return broken(at, Why::Depth);
        }
        let mut place = Place::START;
        let opening = at + 1;
        let mut at = opening;
        loop {
            let rest = bytes.get(at..).unwrap_or_default();
            if rest.first() == Some(&b'}') {
                return Ok(at + 1);
            }
            let (child, value) = match self.nodes[node].shape.guess(&mut place, rest) {
                Some((gap, child)) => (child, space_end(bytes, at + gap)),
                None => match self.member(bytes, at, at == opening, node, &mut place)? {
                    Member::Value { child, at } => (child, at),
                    Member::End(end) => return Ok(end),
                },
            };
            at = match child {
                Some(child) => self.value(bytes, value, child, depth + 1)?,
                None => skip_value(bytes, value, depth + 1)?,
            };
        }
    }

    /// Reads the gap at `from`: a comma unless it is the first, a member name, a colon.
    #[expect(clippy::indexing_slicing, reason = "children are nodes")]
    fn member(&mut self, bytes: &[u8], from: usize, first: bool, node: usize, place: &mut Place) -> Scan<Member> {
        let mut at = space_end(bytes, from);
        match bytes.get(at) {
            Some(b'}') => return Ok(Member::End(at + 1)),
            Some(b',') if !first => at = space_end(bytes, at + 1),
            Some(_) if first => {}
            Some(_) => return broken(at, Why::CommaOrBrace),
            None => return broken(at, Why::End),
        }
        let (key, value) = read_key(bytes, at)?;
        let raw = bytes.get(key.start..key.end).unwrap_or_default();
        let here = &mut self.nodes[node];
        let child = if key.escaped {
            self.name.clear();
            unescape(raw, |part| self.name.extend_from_slice(part));
            here.member(&self.name)
        } else {
            here.member(raw)
        };
        here.shape.learn(place, bytes.get(from..value).unwrap_or_default(), child);
        Ok(Member::Value { child, at: value })
    }

    /// Reads the array at `at`.
    #[expect(clippy::indexing_slicing, reason = "children are nodes")]
    fn array(&mut self, bytes: &[u8], at: usize, node: usize, depth: u32) -> Scan<usize> {
        if depth >= MAX_DEPTH {
            return broken(at, Why::Depth);
        }
        let mut at = space_end(bytes, at + 1);
        if bytes.get(at) == Some(&b']') {
            return Ok(at + 1);
        }
        for index in 0.. {
            at = match self.nodes[node].element(index) {
                Some(child) => self.value(bytes, at, child, depth + 1)?,
                None => skip_value(bytes, at, depth + 1)?,
            };
            at = space_end(bytes, at);
            match bytes.get(at) {
                Some(b',') => at = space_end(bytes, at + 1),
                Some(b']') => return Ok(at + 1),
                Some(_) => return broken(at, Why::CommaOrBracket),
                None => break,
            }
        }
        broken(at, Why::End)
    }

    /// Forgets what was found below a place that stands there a second time.
    #[cold]
    #[inline(never)]
    #[expect(clippy::indexing_slicing, reason = "there is one note per node, and children are nodes")]
    fn forget_below(&mut self, node: usize) {
        let below = node + 1..self.nodes[node].below_end;
        for found in self.found.get_mut(below).unwrap_or_default() {
            found.document = 0;
        }
    }
}

/// What stands between two values of an object.
enum Member {
    /// A name; its value begins at `at`.
    Value { child: Option<usize>, at: usize },
    /// The end of the object.
    End(usize),
}
