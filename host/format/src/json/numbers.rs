//! Numbers: whether they are written by the rules, and their value.
//!
//! A whole number without point or exponent is exact within 64 bits. Any other is the float that
//! `serde_json` makes of it, bit by bit: the first 19 or 20 digits as an integer, scaled by a power of
//! ten in one or two roundings. That is the nearest float wherever the digits fit 53 bits and the power
//! is at most 22, and may be its neighbour elsewhere.

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

    /// The number as a float; infinite when it is out of range.
    #[inline]
    pub(crate) fn as_f64(&self) -> f64 {
        let magnitude = if self.float && self.exponent != 0 {
            scaled(self.significand as f64, self.exponent)
        } else {
            self.significand as f64
        };
        if self.negative { -magnitude } else { magnitude }
    }
}

/// `magnitude` times ten to the `exponent`, with one rounding per step of at most 308 powers.
fn scaled(mut magnitude: f64, mut exponent: i32) -> f64 {
    loop {
        match POWERS.get(exponent.unsigned_abs() as usize) {
            Some(&power) if exponent >= 0 => return magnitude * power,
            Some(&power) => return magnitude / power,
            None if magnitude == 0.0 => return magnitude,
            None if exponent >= 0 => return f64::INFINITY,
            None => {
                magnitude /= 1e308;
                exponent += 308;
            }
        }
    }
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
        return read_long_integer(bytes, end, number);
    }
    match bytes.get(end) {
        Some(b'.') => read_fraction(bytes, end + 1, number),
        Some(b'e' | b'E') => read_exponent(bytes, end + 1, number),
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

/// Reads on after the point.
fn read_fraction(bytes: &[u8], first: usize, mut number: Number) -> Scan<(Number, usize)> {
    number.float = true;
    let digits = read_digits(bytes, first, number.significand);
    number.significand = digits.significand;
    number.exponent = number.exponent.saturating_sub(i32::try_from(digits.end - first).unwrap_or(i32::MAX));
    let at = if digits.overflow { digits_end(bytes, digits.end) } else { digits.end };
    match bytes.get(at) {
        None if at == first => broken(at, Why::End),
        _ if at == first => broken(at, Why::Number),
        Some(b'e' | b'E') => read_exponent(bytes, at + 1, number),
        _ => in_range(number, at),
    }
}

/// Reads on after the `e`.
fn read_exponent(bytes: &[u8], at: usize, mut number: Number) -> Scan<(Number, usize)> {
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
            None => return broken(first, Why::NumberRange),
        }
    }
    number.exponent =
        if falls { number.exponent.saturating_sub(exponent) } else { number.exponent.saturating_add(exponent) };
    in_range(number, end)
}

/// Reads on where the digit at `at` no longer fits the significand.
#[cold]
#[inline(never)]
fn read_long_integer(bytes: &[u8], at: usize, mut number: Number) -> Scan<(Number, usize)> {
    let end = digits_end(bytes, at);
    number.float = true;
    number.exponent = i32::try_from(end - at).unwrap_or(i32::MAX);
    match bytes.get(end) {
        Some(b'.') => read_fraction(bytes, end + 1, number),
        Some(b'e' | b'E') => read_exponent(bytes, end + 1, number),
        _ => in_range(number, end),
    }
}

/// Refuses a number above every finite float.
#[inline]
fn in_range(number: Number, end: usize) -> Scan<(Number, usize)> {
    if number.exponent > SAFE_EXPONENT && number.as_f64().is_infinite() {
        return broken(end, Why::NumberRange);
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

/// The powers of ten a float holds.
#[rustfmt::skip]
const POWERS: [f64; 309] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9,
    1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
    1e20, 1e21, 1e22, 1e23, 1e24, 1e25, 1e26, 1e27, 1e28, 1e29,
    1e30, 1e31, 1e32, 1e33, 1e34, 1e35, 1e36, 1e37, 1e38, 1e39,
    1e40, 1e41, 1e42, 1e43, 1e44, 1e45, 1e46, 1e47, 1e48, 1e49,
    1e50, 1e51, 1e52, 1e53, 1e54, 1e55, 1e56, 1e57, 1e58, 1e59,
    1e60, 1e61, 1e62, 1e63, 1e64, 1e65, 1e66, 1e67, 1e68, 1e69,
    1e70, 1e71, 1e72, 1e73, 1e74, 1e75, 1e76, 1e77, 1e78, 1e79,
    1e80, 1e81, 1e82, 1e83, 1e84, 1e85, 1e86, 1e87, 1e88, 1e89,
    1e90, 1e91, 1e92, 1e93, 1e94, 1e95, 1e96, 1e97, 1e98, 1e99,
    1e100, 1e101, 1e102, 1e103, 1e104, 1e105, 1e106, 1e107, 1e108, 1e109,
    1e110, 1e111, 1e112, 1e113, 1e114, 1e115, 1e116, 1e117, 1e118, 1e119,
    1e120, 1e121, 1e122, 1e123, 1e124, 1e125, 1e126, 1e127, 1e128, 1e129,
    1e130, 1e131, 1e132, 1e133, 1e134, 1e135, 1e136, 1e137, 1e138, 1e139,
    1e140, 1e141, 1e142, 1e143, 1e144, 1e145, 1e146, 1e147, 1e148, 1e149,
    1e150, 1e151, 1e152, 1e153, 1e154, 1e155, 1e156, 1e157, 1e158, 1e159,
    1e160, 1e161, 1e162, 1e163, 1e164, 1e165, 1e166, 1e167, 1e168, 1e169,
    1e170, 1e171, 1e172, 1e173, 1e174, 1e175, 1e176, 1e177, 1e178, 1e179,
    1e180, 1e181, 1e182, 1e183, 1e184, 1e185, 1e186, 1e187, 1e188, 1e189,
    1e190, 1e191, 1e192, 1e193, 1e194, 1e195, 1e196, 1e197, 1e198, 1e199,
    1e200, 1e201, 1e202, 1e203, 1e204, 1e205, 1e206, 1e207, 1e208, 1e209,
    1e210, 1e211, 1e212, 1e213, 1e214, 1e215, 1e216, 1e217, 1e218, 1e219,
    1e220, 1e221, 1e222, 1e223, 1e224, 1e225, 1e226, 1e227, 1e228, 1e229,
    1e230, 1e231, 1e232, 1e233, 1e234, 1e235, 1e236, 1e237, 1e238, 1e239,
    1e240, 1e241, 1e242, 1e243, 1e244, 1e245, 1e246, 1e247, 1e248, 1e249,
    1e250, 1e251, 1e252, 1e253, 1e254, 1e255, 1e256, 1e257, 1e258, 1e259,
    1e260, 1e261, 1e262, 1e263, 1e264, 1e265, 1e266, 1e267, 1e268, 1e269,
    1e270, 1e271, 1e272, 1e273, 1e274, 1e275, 1e276, 1e277, 1e278, 1e279,
    1e280, 1e281, 1e282, 1e283, 1e284, 1e285, 1e286, 1e287, 1e288, 1e289,
    1e290, 1e291, 1e292, 1e293, 1e294, 1e295, 1e296, 1e297, 1e298, 1e299,
    1e300, 1e301, 1e302, 1e303, 1e304, 1e305, 1e306, 1e307, 1e308,
];
