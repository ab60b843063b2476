//! Guessing the next member of an object from the last object that stood in the same place.
//!
//! Records of one source nearly always have the same members in the same order and are spaced alike. So
//! what stands between the end of one value and the beginning of the next (`,"amount":`) is remembered
//! with the place it led to, and with what followed it. A guess that holds replaces the scan of a name,
//! its lookup and the check of its punctuation by a comparison of at most 32 bytes; one that fails costs
//! that comparison and falls back to the scan. A guess never changes what is read.

/// Most bytes of a gap that is remembered: separators, quotes and a name of up to 27 bytes.
const MAX_GAP: u8 = 32;
/// Most gaps remembered per object: an object with more different members is taken for a map, whose
/// names cannot be guessed.
const MAX_GAPS: usize = 64;
/// No gap: nothing is known to follow.
const NONE: u8 = u8::MAX;
/// The place after the opening brace.
const START: u8 = u8::MAX - 1;

/// Sixteen bytes as two words, which compare faster than one of 128 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Words(u64, u64);

impl Words {
    #[inline]
    fn of(bytes: &[u8; 16]) -> Self {
        let bytes = u128::from_le_bytes(*bytes);
        Self(bytes as u64, (bytes >> 64) as u64)
    }

    #[inline]
    fn differ(self, mask: Self, other: Self) -> bool {
        ((self.0 & mask.0) ^ other.0) | ((self.1 & mask.1) ^ other.1) != 0
    }
}

/// What stood between two values.
#[derive(Clone, Debug)]
struct Gap {
    /// The first 16 bytes, zero where it is shorter.
    head: Words,
    /// The bits of `head` that count.
    mask: Words,
    /// The last 16 bytes of a longer one.
    tail: Words,
    /// The node the next member leads to, as the scanner numbers them.
    child: u32,
    /// Its whole length in bytes.
    length: u8,
    /// The gap that followed it last.
    next: u8,
}

/// The gaps of the objects in one place.
#[derive(Debug)]
pub(super) struct Shape {
    gaps: Vec<Gap>,
    first: u8,
    guessing: bool,
}

/// Where in a shape an object is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place(u8);

impl Place {
    /// After the opening brace.
    pub(super) const START: Self = Self(START);
}

impl Default for Shape {
    fn default() -> Self {
        Self { gaps: Vec::new(), first: NONE, guessing: true }
    }
}

impl Gap {
    fn new(bytes: &[u8], child: u32) -> Option<Self> {
        let length = u8::try_from(bytes.len()).ok().filter(|&length| (1..=MAX_GAP).contains(&length))?;
        let (mut head, mut mask) = ([0; 16], [0; 16]);
        for ((head, mask), byte) in head.iter_mut().zip(&mut mask).zip(bytes) {
            (*head, *mask) = (*byte, u8::MAX);
        }
        let tail = bytes.last_chunk::<16>().map_or(Words::default(), Words::of);
        Some(Self { head: Words::of(&head), mask: Words::of(&mask), tail, length, child, next: NONE })
    }

    /// Whether `rest` begins with this gap. May say no near the end of a document.
    #[inline]
    fn begins(&self, rest: &[u8]) -> bool {
        let Some(head) = rest.first_chunk::<16>() else { return false };
        if Words::of(head).differ(self.mask, self.head) {
            return false;
        }
        if self.length <= 16 {
            return true;
        }
        let tail = rest.get(..usize::from(self.length)).and_then(|gap| gap.last_chunk::<16>());
        tail.is_some_and(|tail| Words::of(tail) == self.tail)
    }

    fn is(&self, other: &Self) -> bool {
        self.length == other.length && self.head == other.head && self.tail == other.tail
    }
}

impl Shape {
    /// If what followed `place` last time stands at the beginning of `rest`: its length and where the next
    /// member leads. Moves `place` on.
    #[inline]
    pub(super) fn guess(&self, place: &mut Place, rest: &[u8]) -> Option<(usize, u32)> {
        let next = if place.0 == START { self.first } else { self.gaps.get(usize::from(place.0))?.next };
        let gap = self.gaps.get(usize::from(next))?;
        if !gap.begins(rest) {
            return None;
        }
        *place = Place(next);
        Some((usize::from(gap.length), gap.child))
    }

    /// Remembers that the gap `bytes`, leading to `child`, followed `place`. Moves `place` on.
    #[inline(never)]
    pub(super) fn learn(&mut self, place: &mut Place, bytes: &[u8], child: u32) {
        let before = *place;
        *place = Place(NONE);
        if !self.guessing {
            return;
        }
        let Some(gap) = Gap::new(bytes, child) else { return };
        let index = self.gaps.iter().position(|known| known.is(&gap)).unwrap_or(self.gaps.len());
        if index == MAX_GAPS {
            self.guessing = false;
            self.gaps = Vec::new();
            return;
        }
        if index == self.gaps.len() {
            self.gaps.push(gap);
        }
        let index = u8::try_from(index).expect("there are at most 64 gaps");
        if before.0 == START {
            self.first = index;
        } else if let Some(gap) = self.gaps.get_mut(usize::from(before.0)) {
            gap.next = index;
        }
        *place = Place(index);
    }
}
