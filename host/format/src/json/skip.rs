//! Values nobody asked for: passed over, and found to be right on the way.

use super::numbers::read_number;
use super::strings::string_end;
use super::syntax::{MAX_DEPTH, Scan, Why, broken};

/// The first byte at or after `at` that is no white space.
#[inline]
pub(crate) fn space_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = bytes.get(at) {
        at += 1;
    }
    at
}

/// Where the value ends that begins at `at`; `depth` containers are open around it.
#[inline]
pub(crate) fn skip_value(bytes: &[u8], at: usize, depth: u32) -> Scan<usize> {
    match bytes.get(at) {
        Some(b'"') => Ok(string_end(bytes, at + 1)?.quote + 1),
        Some(b'-' | b'0'..=b'9') => Ok(read_number(bytes, at)?.1),
        Some(b'{' | b'[') => skip_container(bytes, at, depth),
        _ => skip_literal(bytes, at),
    }
}

/// Where `true`, `false` or `null` ends.
#[inline]
pub(crate) fn skip_literal(bytes: &[u8], at: usize) -> Scan<usize> {
    let rest = bytes.get(at..).unwrap_or_default();
    if rest.starts_with(b"true") || rest.starts_with(b"null") {
        Ok(at + 4)
    } else if rest.starts_with(b"false") {
        Ok(at + 5)
    } else {
        broken(at, if rest.is_empty() { Why::End } else { Why::Value })
    }
}

/// The containers open around a place: one bit each, the innermost lowest, 1 for an object.
struct Open {
    kinds: u128,
    inner: u32,
    outer: u32,
}

impl Open {
    fn push(&mut self, object: bool, at: usize) -> Scan<()> {
        if self.outer + self.inner >= MAX_DEPTH {
            return broken(at, Why::Depth);
        }
        self.kinds = self.kinds << 1 | u128::from(object);
        self.inner += 1;
        Ok(())
    }

    fn pop(&mut self) {
        self.kinds >>= 1;
        self.inner -= 1;
    }

    fn in_object(&self) -> bool {
        self.kinds & 1 == 1
    }
}

/// Where the array or object ends that begins at `at`.
fn skip_container(bytes: &[u8], mut at: usize, depth: u32) -> Scan<usize> {
    let mut open = Open { kinds: 0, inner: 0, outer: depth };
    loop {
        // A value begins at `at`.
        let mut ended = true;
        match bytes.get(at) {
            Some(&bracket @ (b'{' | b'[')) => {
                open.push(bracket == b'{', at)?;
                at = space_end(bytes, at + 1);
                ended = bytes.get(at) == Some(if bracket == b'{' { &b'}' } else { &b']' });
                if ended {
                    at += 1;
                    open.pop();
                }
            }
            _ => at = skip_value(bytes, at, 0)?,
        }
        if ended {
            match leave(bytes, at, &mut open)? {
                Next::Value(next) => at = next,
                Next::Done(end) => return Ok(end),
            }
        }
        if open.in_object() {
            at = skip_key(bytes, at)?;
        }
    }
}

enum Next {
    /// A member or an element follows.
    Value(usize),
    /// The outermost container has ended.
    Done(usize),
}

/// Passes what may follow a value: closing brackets, then a comma.
#[inline]
fn leave(bytes: &[u8], mut at: usize, open: &mut Open) -> Scan<Next> {
    while open.inner > 0 {
        at = space_end(bytes, at);
        let object = open.in_object();
        match bytes.get(at) {
            Some(b',') => return Ok(Next::Value(space_end(bytes, at + 1))),
            Some(b'}') if object => {}
            Some(b']') if !object => {}
            None => return broken(at, Why::End),
            Some(_) => return broken(at, if object { Why::CommaOrBrace } else { Why::CommaOrBracket }),
        }
        at += 1;
        open.pop();
    }
    Ok(Next::Done(at))
}

/// Passes a member name and its colon; the value begins at the result.
#[inline]
fn skip_key(bytes: &[u8], at: usize) -> Scan<usize> {
    let (_, value) = read_key(bytes, at)?;
    Ok(value)
}

/// A member name: the place of its opening quote and of its closing one, and whether it has escapes.
pub(crate) struct Key {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) escaped: bool,
}

/// Reads the member name at `at` and its colon. Returns what is between its quotes, and where the value
/// begins.
#[inline]
pub(crate) fn read_key(bytes: &[u8], at: usize) -> Scan<(Key, usize)> {
    if bytes.get(at) != Some(&b'"') {
        return broken(at, if at >= bytes.len() { Why::End } else { Why::Key });
    }
    let end = string_end(bytes, at + 1)?;
    let colon = space_end(bytes, end.quote + 1);
    if bytes.get(colon) != Some(&b':') {
        return broken(colon, if colon >= bytes.len() { Why::End } else { Why::Colon });
    }
    let key = Key { start: at + 1, end: end.quote, escaped: end.escaped };
    Ok((key, space_end(bytes, colon + 1)))
}
