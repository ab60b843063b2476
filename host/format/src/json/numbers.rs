//! Numbers: whether they are written by the rules, and their value.
//!
//! A whole number without point or exponent is exact within 64 bits. Any other is the float nearest to
//! what is written: at once where the digits fit 53 bits and the power of ten is at most 22, since then
//! one rounding happens (Clinger's fast path), else by reading the text again.

use super::syntax::{Scan, Why, broken};

/// A number as it was read: `significand` times ten to the `exponent`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Number {
    /// The digits kept, without sign and point.
    pub(crate) significand: u64,
    /// The power of ten.
    pub(crate) exponent: i32,
    /// Whether it has a minus sign.
    pub(crate) negative: bool,
    /// Whether it has a point or an exponent, or more digits than 64 bits hold.
    pub(crate) float: bool,
}

/// The exponent up to which no significand can overflow a float: `u64::MAX` is below 10^20.
const SAFE_EXPONENT: i32 = 288;

impl Number {
    /// The number as an integer, if it is written as one and fits. `-0` is the float `-0.0`, as it is
    /// for `serde_json`.
    #[inline]
    pub(crate) fn as_i64(&self) -> Option<i64> {
        if self.float || (self.negative && self.significand == 0) {
            return None;
        }
        if self.negative { 0i64.checked_sub_unsigned(self.significand) } else { i64::try_from(self.significand).ok() }
    }

    /// The number as a float; infinite when it is out of range. `text` is how it is written.
    #[inline]
    pub(crate) fn as_f64(&self, text: &[u8]) -> f64 {
        let magnitude = self.significand as f64;
        let magnitude = match POWERS.get(self.exponent.unsigned_abs() as usize) {
            _ if !self.float => magnitude,
            Some(&power) if self.significand <= EXACT && self.exponent >= 0 => magnitude * power,
            Some(&power) if self.significand <= EXACT => magnitude / power,
            _ => return nearest(text),
        };
        if self.negative { -magnitude } else { magnitude }
    }
}

/// The float nearest to what is written.
#[cold]
#[inline(never)]
fn nearest(text: &[u8]) -> f64 {
    fast_float2::parse(text).expect("the text was read as a number before")
}

/// Reads the number whose first byte, a digit or a minus sign, is at `at`. Returns it and where it ends.
#[inline(always)]
pub(crate) fn read_number(bytes: &[u8], at: usize) -> Scan<(Number, usize)> {
    let negative = bytes.get(at) == Some(&b'-');
    let first = at + usize::from(negative);
    match bytes.get(first..).and_then(short_number) {
        Some((number, length)) => Ok((Number { negative, ..number }, first + length)),
        None => read_any_number(bytes, first, negative),
    }
}

/// The number that begins `rest`, and its length, if it is plain and short: some digits, perhaps a point
/// and more digits, followed by something else, all within 16 bytes. Anything else is none, right or wrong.
#[inline(always)]
fn short_number(rest: &[u8]) -> Option<(Number, usize)> {
    let chunk = rest.first_chunk::<16>()?;
    let digits = u128::from_le_bytes(*chunk) ^ (WIDE_ONES * u128::from(b'0'));
    // 0x76 lifts a byte from ten on into the high bit.
    let others = (((digits & (WIDE_ONES * 0x7f)) + WIDE_ONES * 0x76) | digits) & (WIDE_ONES * 0x80);
    let whole = others.trailing_zeros() as usize / 8;
    let after = *chunk.get(whole)?;
    if whole == 0 || (whole > 1 && chunk.first() == Some(&b'0')) || after | 0x20 == b'e' {
        return None;
    }
    if after != b'.' {
        let number = Number { significand: sixteen_digits(digits, whole), ..Number::default() };
        return Some((number, whole));
    }
    let others = others & (others - 1);
    let end = others.trailing_zeros() as usize / 8;
    let after = *chunk.get(end)?;
    if end == whole + 1 || after | 0x20 == b'e' {
        return None;
    }
    // Moves the digits after the point next to those before it.
    let before_point = (1u128 << (8 * whole)) - 1;
    let digits = (digits & before_point) | ((digits >> 8) & !before_point);
    let exponent = -i32::try_from(end - whole - 1).unwrap_or_default();
    let significand = sixteen_digits(digits, end - 1);
    Some((Number { significand, exponent, negative: false, float: true }, end))
}

/// The value of the first `count` bytes of `digits`, 1 to 15 of them, each below ten.
#[inline(always)]
fn sixteen_digits(digits: u128, count: usize) -> u64 {
    let digits = digits << (128 - 8 * count);
    eight_digits(digits as u64) * 100_000_000 + eight_digits((digits >> 64) as u64)
}

/// The value of eight bytes, each below ten, the first the highest: pairs, fours, all.
#[inline(always)]
fn eight_digits(digits: u64) -> u64 {
    let pairs = (digits.wrapping_mul(10) + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    (fours.wrapping_mul(10_000) + (fours >> 32)) & 0xffff_ffff
}

const WIDE_ONES: u128 = u128::MAX / 255;

/// Reads the number whose first digit is at `first`.
#[inline(never)]
fn read_any_number(bytes: &[u8], first: usize, negative: bool) -> Scan<(Number, usize)> {
    let digits = read_digits(bytes, first, 0);
    let number = Number { significand: digits.significand, negative, ..Number::default() };
    let end = digits.end;
    if end == first || (end > first + 1 && bytes.get(first) == Some(&b'0')) {
        return broken(first, if first == bytes.len() { Why::End } else { Why::Number });
    }
    if digits.overflow {
        return read_long_integer(bytes, first, end, number);
    }
    match bytes.get(end) {
        Some(b'.') => read_fraction(bytes, first, end + 1, number),
        Some(b'e' | b'E') => read_exponent(bytes, first, end + 1, number),
        _ => Ok((number, end)),
    }
}

/// Digits appended to a significand.
struct Digits {
    significand: u64,
    /// The first byte not taken.
    end: usize,
    /// Whether that is a digit that does not fit any more.
    overflow: bool,
}

/// Appends the digits at `at` to `significand`, as many as fit.
fn read_digits(bytes: &[u8], mut at: usize, mut significand: u64) -> Digits {
    while let Some(digit) = digit_at(bytes, at) {
        match push_digit(significand, digit) {
            Some(more) => significand = more,
            None => return Digits { significand, end: at, overflow: true },
        }
        at += 1;
    }
    Digits { significand, end: at, overflow: false }
}

/// The digit at `at`.
#[inline]
fn digit_at(bytes: &[u8], at: usize) -> Option<u64> {
    let digit = bytes.get(at)?.wrapping_sub(b'0');
    (digit < 10).then_some(u64::from(digit))
}

/// One more digit, while they fit.
#[inline]
fn push_digit(significand: u64, digit: u64) -> Option<u64> {
    significand.checked_mul(10)?.checked_add(digit)
}

/// Reads on after the point. `first` is the first digit of the number, `from` the first after the point.
fn read_fraction(bytes: &[u8], first: usize, from: usize, mut number: Number) -> Scan<(Number, usize)> {
    number.float = true;
    let digits = read_digits(bytes, from, number.significand);
    number.significand = digits.significand;
    number.exponent = number.exponent.saturating_sub(i32::try_from(digits.end - from).unwrap_or(i32::MAX));
    let at = if digits.overflow { digits_end(bytes, digits.end) } else { digits.end };
    if digits.overflow {
        // Digits were dropped: only the text has the value.
        number.significand = u64::MAX;
    }
    match bytes.get(at) {
        None if at == from => broken(at, Why::End),
        _ if at == from => broken(at, Why::Number),
        Some(b'e' | b'E') => read_exponent(bytes, first, at + 1, number),
        _ => in_range(bytes, first, number, at),
    }
}

/// Reads on after the `e`. `start` is the first digit of the number.
fn read_exponent(bytes: &[u8], start: usize, at: usize, mut number: Number) -> Scan<(Number, usize)> {
    number.float = true;
    let (first, falls) = match bytes.get(at) {
        Some(b'-') => (at + 1, true),
        Some(b'+') => (at + 1, false),
        _ => (at, false),
    };
    let end = digits_end(bytes, first);
    if end == first {
        return broken(first, if first == bytes.len() { Why::End } else { Why::Number });
    }
    let mut exponent = 0i32;
    for &digit in bytes.get(first..end).unwrap_or_default() {
        let more = exponent.checked_mul(10).and_then(|more| more.checked_add(i32::from(digit - b'0')));
        match more {
            Some(more) => exponent = more,
            None if number.significand == 0 || falls => {
                return Ok((Number { significand: 0, exponent: 0, ..number }, end));
            }
            None => return broken(start, Why::NumberRange),
        }
    }
    number.exponent =
        if falls { number.exponent.saturating_sub(exponent) } else { number.exponent.saturating_add(exponent) };
    in_range(bytes, start, number, end)
}

/// Reads on where the digit at `at` no longer fits the significand.
#[cold]
#[inline(never)]
fn read_long_integer(bytes: &[u8], first: usize, at: usize, mut number: Number) -> Scan<(Number, usize)> {
    let end = digits_end(bytes, at);
    number.float = true;
    number.exponent = i32::try_from(end - at).unwrap_or(i32::MAX);
    match bytes.get(end) {
        Some(b'.') => read_fraction(bytes, first, end + 1, number),
        Some(b'e' | b'E') => read_exponent(bytes, first, end + 1, number),
        _ => in_range(bytes, first, number, end),
    }
}

/// Refuses a number above every finite float.
#[inline]
fn in_range(bytes: &[u8], first: usize, number: Number, end: usize) -> Scan<(Number, usize)> {
    let text = bytes.get(first..end).unwrap_or_default();
    if number.exponent > SAFE_EXPONENT && number.as_f64(text).is_infinite() {
        return broken(first, Why::NumberRange);
    }
    Ok((number, end))
}

/// The first byte at or after `at` that is no digit.
fn digits_end(bytes: &[u8], mut at: usize) -> usize {
    while digit_at(bytes, at).is_some() {
        at += 1;
    }
    at
}

/// Significands up to here are floats.
const EXACT: u64 = 1 << 53;

/// The powers of ten that are floats.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];
