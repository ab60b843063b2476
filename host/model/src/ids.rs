//! Identities and times.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Declares a newtype over an integer with its obvious traits.
macro_rules! number {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number! {
    /// One parallel instance of an operator, from 0.
    SubtaskIndex(u32)
}
number! {
    /// How many subtasks an operator has now; at least 1.
    Parallelism(u32)
}
number! {
    /// The smallest unit in which keyed state moves, from 0 to the job's number of key groups.
    KeyGroup(u16)
}
number! {
    /// The stretch between two barriers; checkpoint `n` closes epoch `n`.
    Epoch(u64)
}
number! {
    /// One incarnation of a job's execution; the fencing token.
    Generation(u64)
}
number! {
    /// A source of the job, in the order of the job file.
    SourceId(u16)
}
number! {
    /// A split of one source, in the order in which they were found.
    SplitIndex(u32)
}
number! {
    /// Where a record stands in its split: a byte position in a file, a number in a generator.
    Position(u64)
}
number! {
    /// A distinct key of one batch, from 0.
    SlotIndex(u32)
}
number! {
    /// An input of a function, as its descriptor numbers it.
    InputId(u16)
}
number! {
    /// An output of a function, as its descriptor numbers it.
    OutputId(u16)
}
number! {
    /// A piece of keyed state of a function, as its descriptor numbers it.
    StateId(u16)
}
number! {
    /// A metric of a function, as its descriptor numbers it.
    MetricId(u16)
}
number! {
    /// When a thing happened, in milliseconds since 1970, from the record itself.
    EventTime(i64)
}
number! {
    /// The host's checkpointed clock, in milliseconds since 1970.
    HostTime(i64)
}

impl EventTime {
    /// The time of a record that has none, and the watermark before anything is known.
    pub const UNKNOWN: Self = Self(i64::MIN);
    /// The watermark after the last record of an input that has ended.
    pub const END: Self = Self(i64::MAX);
}

impl SourceId {
    /// In place of a source, for what timers cause: see [`crate::timer_of_origin`].
    pub const TIMERS: Self = Self(u16::MAX);
}

impl StateId {
    /// Ids from here on are the host's own.
    pub const FIRST_RESERVED: Self = Self(0xFFF0);
}

impl KeyGroup {
    /// The key group of a key hash, of `groups` in all: a contiguous range of hashes, decided by the top
    /// bits. What is written to disk depends on it.
    #[must_use]
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the product shifted by 64 is below `groups`")]
    pub fn of_hash(hash: u64, groups: u16) -> Self {
        Self(((u128::from(hash) * u128::from(groups)) >> 64) as u16)
    }
}

/// A contiguous range of key groups: what one subtask owns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyGroupRange {
    /// The first group of the range.
    pub first: KeyGroup,
    /// One past the last group of the range.
    pub end: KeyGroup,
}

impl KeyGroupRange {
    /// Whether `group` lies in the range.
    #[must_use]
    pub fn contains(&self, group: KeyGroup) -> bool {
        self.first <= group && group < self.end
    }

    /// The groups, in order.
    #[must_use]
    pub fn groups(&self) -> Range<u16> {
        self.first.0..self.end.0
    }
}

/// Why a text is not a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a name: expected 1 to 64 characters of a-z, 0-9 and `-`, starting with a letter")]
pub struct InvalidName {
    /// What was given.
    pub text: String,
}

/// Checks the one rule for names: `[a-z][a-z0-9-]{0,63}`.
fn check_name(text: &str) -> Result<(), InvalidName> {
    let starts_well = text.starts_with(|c: char| c.is_ascii_lowercase());
    let all_allowed = text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if starts_well && all_allowed && text.len() <= 64 { Ok(()) } else { Err(InvalidName { text: text.to_owned() }) }
}

/// Declares a newtype over a checked name.
macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Checks the rule for names: 1 to 64 of a-z, 0-9 and `-`, a letter first.
            ///
            /// # Errors
            /// [`InvalidName`] with the text given.
            pub fn new(text: &str) -> Result<Self, InvalidName> {
                check_name(text)?;
                Ok(Self(text.to_owned()))
            }

            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidName;
            fn try_from(text: String) -> Result<Self, InvalidName> {
                Self::new(&text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }
    };
}

name! {
    /// The name of a job.
    JobName
}
name! {
    /// The name a user gives an operator; it scopes the operator's state for ever.
    OperatorUid
}

/// One unbroken history of epochs of a job; a rewind starts another. Drawn at random when it begins, and
/// part of every name that a sink gives outside.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LineageId(pub u64);

impl LineageId {
    /// The lineage that is written so: 16 hexadecimal digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_hex = text.len() == 16 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        is_hex.then(|| u64::from_str_radix(text, 16).ok().map(Self)).flatten()
    }
}

impl fmt::Display for LineageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for LineageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// SHA-256 of a component: the identity of a module.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ModuleDigest(pub [u8; 32]);

impl fmt::Display for ModuleDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ModuleDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
