//! One pass over a document: notes what stands at the places of a plan, and checks everything else.
//!
//! # Invariants
//! 1. A document is accepted exactly when `serde_json` makes a value of it.
//! 2. Where a name stands twice in an object the last one counts, with all that is below it.
//! 3. Recursion goes no deeper than the plan; what nobody asked for is passed over in a loop.

use super::numbers::{Number, read_number};
use super::plan::{Node, Plan};
use super::shape::{Place, Shape};
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
    /// Whether paths lead further down from here.
    leads_on: bool,
    /// Its first byte.
    pub(super) start: usize,
    /// One past its last byte.
    pub(super) end: usize,
    /// Its value, where it is a number.
    pub(super) number: Number,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Null,
    True,
    False,
    Number,
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
    /// What was last found at each node.
    found: Vec<Found>,
    /// The order in which the members of the objects at each node were last seen.
    shapes: Vec<Shape>,
    /// Counts documents, so that what was found in an earlier one is not taken for this one's.
    document: u64,
    /// The text of a member name with escapes.
    name: Vec<u8>,
}

/// Where a member leads that nobody asked for.
const NOWHERE: u32 = u32::MAX;

impl Scanner {
    pub(super) fn new(plan: Plan) -> Self {
        let found = plan.nodes.iter().map(|node| Found {
            document: 0,
            what: What::Null,
            leads_on: !node.children.is_empty(),
            start: 0,
            end: 0,
            number: Number::default(),
        });
        let found = found.collect();
        let shapes = plan.nodes.iter().map(|_| Shape::default()).collect();
        Self { nodes: plan.nodes, found, shapes, document: 0, name: Vec::new() }
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
        let Some(&first) = bytes.get(at) else { return broken(at, Why::End) };
        if first == b'{' || first == b'[' {
            return self.container(bytes, at, node, depth);
        }
        let found = &mut self.found[node];
        let seen = found.document == self.document && found.leads_on;
        found.document = self.document;
        found.start = at;
        found.end = match first {
            b'"' => {
                let end = string_end(bytes, at + 1)?;
                found.what = if end.escaped { What::Escaped } else { What::Plain };
                end.quote + 1
            }
            b'-' | b'0'..=b'9' => {
                let (number, end) = read_number(bytes, at)?;
                found.what = What::Number;
                found.number = number;
                end
            }
            _ => {
                found.what = match first {
                    b't' => What::True,
                    b'f' => What::False,
                    _ => What::Null,
                };
                skip_literal(bytes, at)?
            }
        };
        let end = found.end;
        if seen {
            self.forget_below(node);
        }
        Ok(end)
    }

    /// As [`Self::value`], for an array or an object.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "there is one note per node, and children are nodes")]
    fn container(&mut self, bytes: &[u8], at: usize, node: usize, depth: u32) -> Scan<usize> {
        let leads_on = self.found[node].leads_on;
        if leads_on && self.found[node].document == self.document {
            self.forget_below(node);
        }
        let what = if bytes.get(at) == Some(&b'{') { What::Object } else { What::Array };
        let end = match what {
            _ if !leads_on => skip_value(bytes, at, depth)?,
            What::Object => {
                // The object's own shape is out of the way of those below it, which are other nodes.
                let mut shape = std::mem::take(&mut self.shapes[node]);
                let end = self.object(bytes, at, node, depth, &mut shape);
                self.shapes[node] = shape;
                end?
            }
            _ => self.array(bytes, at, node, depth)?,
        };
        let found = &mut self.found[node];
        (found.document, found.what, found.start, found.end) = (self.document, what, at, end);
        Ok(end)
    }

    /// Reads the object at `at`.
    fn object(&mut self, bytes: &[u8], at: usize, node: usize, depth: u32, shape: &mut Shape) -> Scan<usize> {
        if depth >= MAX_DEPTH {
            return broken(at, Why::Depth);
        }
        let mut place = Place::START;
        let opening = at + 1;
        let mut at = opening;
        loop {
            let rest = bytes.get(at..).unwrap_or_default();
            let (child, value) = match shape.guess(&mut place, rest) {
                Some((gap, child)) => (child, space_end(bytes, at + gap)),
                None => match self.member(bytes, at, at == opening, node)? {
                    Member::Value { child, at: value } => {
                        shape.learn(&mut place, bytes.get(at..value).unwrap_or_default(), child);
                        (child, value)
                    }
                    Member::End(end) => return Ok(end),
                },
            };
            at = if child == NOWHERE {
                skip_value(bytes, value, depth + 1)?
            } else {
                self.value(bytes, value, child as usize, depth + 1)?
            };
        }
    }

    /// Reads what stands between two values and could not be guessed: a comma unless it is the first, a member name, a colon.
    #[inline(never)]
    #[expect(clippy::indexing_slicing, reason = "children are nodes")]
    fn member(&mut self, bytes: &[u8], from: usize, first: bool, node: usize) -> Scan<Member> {
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
        let here = &self.nodes[node];
        let child = if key.escaped {
            self.name.clear();
            unescape(raw, |part| self.name.extend_from_slice(part));
            here.member(&self.name)
        } else {
            here.member(raw)
        };
        let child = child.and_then(|child| u32::try_from(child).ok()).unwrap_or(NOWHERE);
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
    Value { child: u32, at: usize },
    /// The end of the object.
    End(usize),
}
