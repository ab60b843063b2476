//! What generated records look like.

use model::job::GeneratorShape;

use super::draws::{Draws, PowerLaw, below};

/// The event time of record 0: 2024-01-01T00:00:00Z; each record is a millisecond later, give or take.
const FIRST_TIME_MS: u64 = 1_704_067_200_000;
/// How far event times are out of order.
const JITTER_MS: u64 = 1000;

const LANE_ID_HIGH: u64 = 0;
const LANE_ID_LOW: u64 = 1;
const LANE_KEY: u64 = 2;
const LANE_DETAILS: u64 = 3;
const LANE_FIRST_WORD: u64 = 4;
const LANE_FILLER: u64 = 32;

const CURRENCIES: [&[u8; 3]; 8] = [b"EUR", b"USD", b"GBP", b"JPY", b"CHF", b"SEK", b"INR", b"BRL"];
const COUNTRIES: [&[u8; 2]; 8] = [b"DE", b"US", b"GB", b"JP", b"CH", b"SE", b"IN", b"BR"];
const NOTES: [&[u8]; 4] = [b"leave at the door", b"gift wrap, please", b"call before noon", b"second attempt"];
const REFERRERS: [&[u8]; 4] = [b"search", b"mail", b"direct", b"partner"];
const SYLLABLES: [&[u8; 2]; 32] = [
    b"ba", b"be", b"bi", b"bo", b"da", b"de", b"di", b"do", b"ka", b"ke", b"ki", b"ko", b"la", b"le", b"li", b"lo",
    b"ma", b"me", b"mi", b"mo", b"na", b"ne", b"ni", b"no", b"ra", b"re", b"ri", b"ro", b"sa", b"se", b"si", b"so",
];
const HEX: &[u8; 16] = b"0123456789abcdef";

/// Writes records of one shape.
#[derive(Clone, Copy, Debug)]
pub(super) struct Writer {
    shape: GeneratorShape,
    keys: PowerLaw,
    payload_bytes: u64,
}

impl Writer {
    pub(super) fn new(shape: GeneratorShape, keys: PowerLaw, payload_bytes: u64) -> Self {
        Self { shape, keys, payload_bytes }
    }

    /// Appends record `n`.
    #[inline]
    pub(super) fn write(&self, draws: &Draws, n: u64, out: &mut Vec<u8>) {
        match self.shape {
            GeneratorShape::Orders => self.order(draws, n, out),
            GeneratorShape::Clicks => self.click(draws, n, out),
            GeneratorShape::Words => self.words(draws, n, out),
            GeneratorShape::Raw => {
                push_number(n, out);
                if self.payload_bytes > 0 {
                    out.push(b' ');
                    self.filler(draws, n, out);
                }
            }
        }
    }

    fn order(&self, draws: &Draws, n: u64, out: &mut Vec<u8>) {
        let details = draws.draw(n, LANE_DETAILS);
        out.extend_from_slice(b"{\"event_id\":\"");
        push_uuid(draws.draw(n, LANE_ID_HIGH), draws.draw(n, LANE_ID_LOW), out);
        out.extend_from_slice(b"\",\"ts\":");
        push_number(time_ms(n, details), out);
        out.extend_from_slice(b",\"customer\":{\"id\":\"c-");
        push_digits::<10>(self.keys.key(draws.draw(n, LANE_KEY)), out);
        out.extend_from_slice(b"\"},\"amount\":");
        let cents = below(details.rotate_left(16), 100_000);
        push_number(cents / 100, out);
        out.push(b'.');
        push_digits::<2>(cents % 100, out);
        out.extend_from_slice(b",\"currency\":\"");
        out.extend_from_slice(pick(&CURRENCIES, details));
        out.extend_from_slice(b"\",\"country\":\"");
        out.extend_from_slice(pick(&COUNTRIES, details >> 8));
        out.extend_from_slice(b"\",\"items\":");
        push_number(1 + below(details.rotate_left(32), 9), out);
        if details & 8 == 0 {
            out.extend_from_slice(b",\"note\":\"");
            out.extend_from_slice(pick(&NOTES, details >> 4));
            out.push(b'"');
        }
        self.end_object(draws, n, out);
    }

    fn click(&self, draws: &Draws, n: u64, out: &mut Vec<u8>) {
        let details = draws.draw(n, LANE_DETAILS);
        out.extend_from_slice(b"{\"user\":\"u-");
        push_digits::<10>(self.keys.key(draws.draw(n, LANE_KEY)), out);
        out.extend_from_slice(b"\",\"page\":\"/p/");
        push_number(below(details.rotate_left(16), 1000), out);
        out.extend_from_slice(b"\",\"ts\":");
        push_number(time_ms(n, details), out);
        out.extend_from_slice(b",\"ms\":");
        push_number(below(details.rotate_left(32), 5000), out);
        out.extend_from_slice(b",\"referrer\":\"");
        out.extend_from_slice(pick(&REFERRERS, details));
        out.push(b'"');
        self.end_object(draws, n, out);
    }

    /// Four to eleven words, each a key.
    fn words(&self, draws: &Draws, n: u64, out: &mut Vec<u8>) {
        let count = 4 + below(draws.draw(n, LANE_DETAILS), 8);
        for word in 0..count {
            if word > 0 {
                out.push(b' ');
            }
            let mut key = self.keys.key(draws.draw(n, LANE_FIRST_WORD + word));
            loop {
                out.extend_from_slice(pick(&SYLLABLES, key));
                key /= SYLLABLES.len() as u64;
                if key == 0 {
                    break;
                }
            }
        }
    }

    fn end_object(&self, draws: &Draws, n: u64, out: &mut Vec<u8>) {
        if self.payload_bytes > 0 {
            out.extend_from_slice(b",\"payload\":\"");
            self.filler(draws, n, out);
            out.push(b'"');
        }
        out.push(b'}');
    }

    /// Letters and digits that do not pack well, 16 to a draw.
    fn filler(&self, draws: &Draws, n: u64, out: &mut Vec<u8>) {
        let start = draws.draw(n, LANE_FILLER);
        let mut left = self.payload_bytes;
        let mut block = 0;
        while left > 0 {
            let drawn = super::draws::mix(start.wrapping_add(block));
            let bytes = left.min(16);
            for nibble in 0..bytes {
                out.push(*pick_byte(HEX, drawn >> (4 * nibble)));
            }
            left -= bytes;
            block += 1;
        }
    }
}

fn time_ms(n: u64, details: u64) -> u64 {
    (FIRST_TIME_MS + JITTER_MS).wrapping_add(n) - below(details, JITTER_MS)
}

/// One of a power of two many.
#[inline]
fn pick<T: AsRef<[u8]> + ?Sized, const N: usize>(words: &'static [&'static T; N], drawn: u64) -> &'static [u8] {
    const { assert!(N.is_power_of_two()) };
    let at = usize::try_from(drawn & (N as u64 - 1)).unwrap_or(0);
    words.get(at).map_or(&[][..], |word| word.as_ref())
}

#[inline]
fn pick_byte<const N: usize>(bytes: &'static [u8; N], drawn: u64) -> &'static u8 {
    const { assert!(N.is_power_of_two()) };
    let at = usize::try_from(drawn & (N as u64 - 1)).unwrap_or(0);
    bytes.get(at).unwrap_or(&b'0')
}

#[inline]
fn push_number(number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    let mut left = number;
    while let Some((digit, rest)) = digits.get_mut(start - 1).map(|digit| (digit, left / 10)) {
        *digit = b'0' + (left - rest * 10) as u8;
        start -= 1;
        left = rest;
        if left == 0 {
            break;
        }
    }
    out.extend_from_slice(digits.get(start..).unwrap_or_default());
}

/// The last `N` digits, zeros in front.
#[inline]
fn push_digits<const N: usize>(number: u64, out: &mut Vec<u8>) {
    let mut digits = [b'0'; N];
    let mut left = number;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (left % 10) as u8;
        left /= 10;
    }
    out.extend_from_slice(&digits);
}

/// 128 bits as 36 characters with hyphens.
#[inline]
fn push_uuid(high: u64, low: u64, out: &mut Vec<u8>) {
    let mut text = [b'-'; 36];
    let nibbles = (0..16u32).map(|at| high >> (60 - 4 * at)).chain((0..16u32).map(|at| low >> (60 - 4 * at)));
    let places = (0..36).filter(|at| !matches!(at, 8 | 13 | 18 | 23));
    for (at, nibble) in places.zip(nibbles) {
        if let Some(place) = text.get_mut(at) {
            *place = *pick_byte(HEX, nibble);
        }
    }
    out.extend_from_slice(&text);
}
