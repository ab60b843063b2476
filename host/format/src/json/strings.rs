//! Strings: where they end, whether they are written by the rules, what they say.
//!
//! A string is looked through 16 bytes at a time for what may not stand there as it is: a quote, a
//! backslash, a control character. That its bytes are UTF-8 is checked elsewhere, for a whole batch.

use super::syntax::{Scan, Why, broken};

/// The end of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StringEnd {
    /// Where its closing quote is.
    pub(crate) quote: usize,
    /// Whether there are escapes in it.
    pub(crate) escaped: bool,
}

const ONES: u64 = u64::MAX / 255;
const HIGHS: u64 = ONES << 7;

/// The high bit of every byte of `chunk` that cannot stand in a string as it is. A borrow can mark bytes
/// above one that is rightly marked, so only the lowest mark counts.
#[inline]
fn specials(chunk: u64) -> u64 {
    // With one bit turned a quote (0x22) comes right after the control characters, at 0x20, and the two
    // characters between them come after it.
    let controls_and_quotes = (chunk ^ (ONES * 0x02)).wrapping_sub(ONES * 0x21);
    let slashes = (chunk ^ (ONES * u64::from(b'\\'))).wrapping_sub(ONES);
    (controls_and_quotes | slashes) & !chunk & HIGHS
}

/// The place of the first special byte among 16; 16 when there is none.
#[inline]
fn first_special(chunk: u128) -> usize {
    let (low, high) = (specials(chunk as u64), specials((chunk >> 64) as u64));
    let bits = if low != 0 { low.trailing_zeros() } else { 64 + high.trailing_zeros() };
    bits as usize / 8
}

/// The first byte at or after `at` that cannot stand in a string as it is; the length of `bytes` when
/// there is none.
#[inline(always)]
pub(crate) fn next_special(bytes: &[u8], mut at: usize) -> usize {
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<16>()) {
        let place = first_special(u128::from_le_bytes(*chunk));
        at += place;
        if place < 16 {
            return at;
        }
    }
    next_special_near_end(bytes, at)
}

/// As [`next_special`], with fewer than 16 bytes left.
#[inline(never)]
fn next_special_near_end(bytes: &[u8], mut at: usize) -> usize {
    let left = bytes.len().saturating_sub(at);
    if let Some(chunk) = bytes.last_chunk::<16>() {
        // The zeros that fill the chunk up are marked as control characters, at the end of `bytes`.
        let chunk = if left == 0 { 0 } else { u128::from_le_bytes(*chunk) >> (8 * (16 - left)) };
        return at + first_special(chunk);
    }
    while bytes.get(at).is_some_and(|&byte| byte != b'"' && byte != b'\\' && byte >= 0x20) {
        at += 1;
    }
    at
}

/// Where the string ends whose first byte after the opening quote is at `at`.
#[inline]
pub(crate) fn string_end(bytes: &[u8], at: usize) -> Scan<StringEnd> {
    let at = next_special(bytes, at);
    match bytes.get(at) {
        Some(b'"') => Ok(StringEnd { quote: at, escaped: false }),
        _ => escaped_string_end(bytes, at),
    }
}

/// As [`string_end`], from the first special byte that is not the end.
#[inline(never)]
fn escaped_string_end(bytes: &[u8], mut at: usize) -> Scan<StringEnd> {
    loop {
        match bytes.get(at) {
            Some(b'"') => return Ok(StringEnd { quote: at, escaped: true }),
            Some(b'\\') => at = escape_end(bytes, at)?,
            Some(_) => return broken(at, Why::Control),
            None => return broken(at, Why::EndInString),
        }
        at = next_special(bytes, at);
    }
}

/// Where the escape ends whose backslash is at `at`.
fn escape_end(bytes: &[u8], at: usize) -> Scan<usize> {
    match bytes.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
        Some(b'u') => match hex_unit(bytes, at + 2) {
            Some(0xD800..=0xDBFF) => low_surrogate_end(bytes, at + 6),
            Some(0xDC00..=0xDFFF) => broken(at, Why::Surrogate),
            Some(_) => Ok(at + 6),
            None => broken(at, Why::Escape),
        },
        Some(_) => broken(at, Why::Escape),
        None => broken(at + 1, Why::EndInString),
    }
}

/// Where the second half of a pair ends that must begin at `at`.
fn low_surrogate_end(bytes: &[u8], at: usize) -> Scan<usize> {
    let has_escape = bytes.get(at) == Some(&b'\\') && bytes.get(at + 1) == Some(&b'u');
    match hex_unit(bytes, at + 2) {
        Some(0xDC00..=0xDFFF) if has_escape => Ok(at + 6),
        _ => broken(at, Why::Surrogate),
    }
}

/// The UTF-16 unit written in the four hexadecimal digits at `at`.
fn hex_unit(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 4)?;
    digits.iter().try_fold(0, |unit, &digit| Some(unit << 4 | char::from(digit).to_digit(16)?))
}

/// Appends what a string says. `raw` is what stands between its quotes and was found to be right.
pub(crate) fn unescape(raw: &[u8], mut append: impl FnMut(&[u8])) {
    let mut rest = raw;
    while let Some(slash) = memchr::memchr(b'\\', rest) {
        let (plain, escape) = rest.split_at(slash);
        append(plain);
        let mut encoded = [0; 4];
        let (symbol, length) = escaped_char(escape);
        append(symbol.encode_utf8(&mut encoded).as_bytes());
        rest = escape.get(length..).unwrap_or_default();
    }
    append(rest);
}

/// The character an escape stands for, and how many bytes it takes.
fn escaped_char(escape: &[u8]) -> (char, usize) {
    match escape.get(1) {
        Some(b'b') => ('\u{8}', 2),
        Some(b'f') => ('\u{c}', 2),
        Some(b'n') => ('\n', 2),
        Some(b'r') => ('\r', 2),
        Some(b't') => ('\t', 2),
        Some(b'u') => {
            let unit = hex_unit(escape, 2).expect("the scanner accepted the escape");
            if let Some(symbol) = char::from_u32(unit) {
                return (symbol, 6);
            }
            let low = hex_unit(escape, 8).expect("the scanner accepted the pair");
            let code = 0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
            (char::from_u32(code).expect("a surrogate pair is a character"), 12)
        }
        Some(&other) => (char::from(other), 2),
        None => unreachable!("the scanner accepted the escape"),
    }
}
