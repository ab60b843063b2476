//! Event times, as they are written, in milliseconds since 1970.
//!
//! Whatever is finer than a millisecond is rounded down, towards the past, also before 1970.

use crate::TimeUnit;

/// Milliseconds of a whole number of `unit`; `None` when they do not fit.
#[inline]
pub(crate) fn whole_to_millis(unit: TimeUnit, count: i64) -> Option<i64> {
    match unit {
        TimeUnit::S => count.checked_mul(1000),
        TimeUnit::Ms | TimeUnit::Rfc3339 => Some(count),
        TimeUnit::Us => Some(count.div_euclid(1000)),
        TimeUnit::Ns => Some(count.div_euclid(1_000_000)),
    }
}

/// Milliseconds of seconds written with a decimal fraction, without exponent, such as `1700000000.125`.
pub(crate) fn seconds_to_millis(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        _ => (false, text),
    };
    let point = memchr::memchr(b'.', digits).unwrap_or(digits.len());
    let (whole, fraction) = digits.split_at(point);
    let fraction = fraction.strip_prefix(b".").unwrap_or_default();
    let is_number = |digits: &[u8]| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    if !is_number(whole) || (point < digits.len() && !is_number(fraction)) {
        return None;
    }
    let mut millis = 0i64;
    let padded = fraction.iter().copied().chain([b'0'; 3]).take(3);
    for digit in whole.iter().copied().chain(padded) {
        millis = millis.checked_mul(10)?.checked_add(i64::from(digit - b'0'))?;
    }
    if !negative {
        return Some(millis);
    }
    let finer = fraction.iter().skip(3).any(|&digit| digit != b'0');
    (-millis).checked_sub(i64::from(finer))
}

/// Milliseconds of a time by RFC 3339: `2026-04-14T09:30:00.125Z`, `2026-04-14 11:30:00+02:00`. A second
/// 60, as in a leap second, counts as the first of the next minute.
pub(crate) fn rfc3339_to_millis(text: &[u8]) -> Option<i64> {
    let (date, rest) = text.split_first_chunk::<10>()?;
    let (&[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2], rest) = (date, rest) else { return None };
    let year = pair(y1, y2)? * 100 + pair(y3, y4)?;
    let (month, day) = (pair(m1, m2)?, pair(d1, d2)?);
    let (&[b'T' | b't' | b' ', h1, h2, b':', i1, i2, b':', s1, s2], rest) = rest.split_first_chunk::<9>()? else {
        return None;
    };
    let (hour, minute, second) = (pair(h1, h2)?, pair(i1, i2)?, pair(s1, s2)?);
    if !(1..=12).contains(&month) || day < 1 || day > days_in_month(year, month) {
        return None;
    }
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let (millis, zone) = fraction_millis(rest)?;
    let offset_minutes = match *zone {
        [b'Z' | b'z'] => 0,
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let (hours, minutes) = (pair(h1, h2)?, pair(m1, m2)?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            let offset = hours * 60 + minutes;
            if sign == b'-' { -offset } else { offset }
        }
        _ => return None,
    };
    let minutes = (days_since_1970(year, month, day) * 24 + hour) * 60 + minute - offset_minutes;
    Some((minutes * 60 + second) * 1000 + millis)
}

/// Two digits.
fn pair(tens: u8, ones: u8) -> Option<i64> {
    let digit = |byte: u8| byte.is_ascii_digit().then(|| i64::from(byte - b'0'));
    Some(digit(tens)? * 10 + digit(ones)?)
}

/// Milliseconds of a fraction of a second, if one begins `text`, and what follows it.
fn fraction_millis(text: &[u8]) -> Option<(i64, &[u8])> {
    let Some(rest) = text.strip_prefix(b".") else { return Some((0, text)) };
    let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if length == 0 {
        return None;
    }
    let (digits, rest) = rest.split_at(length);
    let padded = digits.iter().copied().chain([b'0'; 3]).take(3);
    Some((padded.fold(0, |millis, digit| millis * 10 + i64::from(digit - b'0')), rest))
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from the first of January 1970 to a day of the Gregorian calendar. Years are counted from March,
/// so that a leap day is the last of its year.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + day_of_year - DAYS_TO_1970
}

/// Days from the first of March of the year 0 to the first of January 1970.
const DAYS_TO_1970: i64 = 719_468;
