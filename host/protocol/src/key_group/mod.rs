//! Which subtask owns a key.
//!
//! A key is hashed once, where it is cut out of the record; the hash travels with it. The hash gives
//! the key group, the smallest unit in which keyed state moves, and the key group gives the subtask.
//! All three steps are part of what is written to disk: changing one means a new [`ALGORITHM`].
//!
//! # Words
//! - *hash*: xxh3-64 of the key's bytes with [`SEED`]
//! - *key group*: `⌊hash · groups / 2^64⌋`, so a group is a contiguous range of hashes, decided by the
//!   top bits; tables indexed by hash within a group must use the low bits
//!
//! # Invariants
//! 1. The key group of a key depends on the key and the number of key groups alone.
//! 2. For any parallelism up to the number of key groups, the ranges of the subtasks cover every group
//!    exactly once, in order, and differ in size by at most one.
//! 3. [`Assignment::subtask_of`] and [`Assignment::range_of`] agree.

use model::{KeyGroup, KeyGroupRange, MAX_KEY_GROUPS, Parallelism, SubtaskIndex};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Names the three steps in manifests: xxh3-64 with [`SEED`], multiply-shift, proportional ranges.
pub const ALGORITHM: &str = "xxh3-64/1";

/// The seed of the key hash: the bytes of `tidegate`, so that our hashes meet no table of anyone
/// else's that happens to be ordered by the unseeded hash.
pub const SEED: u64 = u64::from_be_bytes(*b"tidegate");

/// Why a number of key groups and a parallelism do not go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// None, or more than [`MAX_KEY_GROUPS`].
    #[error("{groups} key groups: expected 1 to {MAX_KEY_GROUPS}")]
    Groups {
        /// How many were asked for.
        groups: u16,
    },
    /// No subtask, or more subtasks than key groups: some would own nothing.
    #[error("parallelism {parallelism}: expected 1 to {groups}, the number of key groups")]
    Parallelism {
        /// How many subtasks were asked for.
        parallelism: Parallelism,
        /// How many key groups there are.
        groups: u16,
    },
}

/// The hash of a key.
#[must_use]
#[inline]
pub fn hash(key: &[u8]) -> u64 {
    xxh3_64_with_seed(key, SEED)
}

/// The key group of a hash, of `groups` in all.
#[must_use]
#[inline]
pub fn group_of(hash: u64, groups: u16) -> KeyGroup {
    KeyGroup::of_hash(hash, groups)
}

/// How the key groups of a job are spread over the subtasks of one operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assignment {
    groups: u16,
    parallelism: Parallelism,
}

impl Assignment {
    /// Checks that every subtask gets a key group.
    ///
    /// # Errors
    /// [`Error`] where the numbers are out of range.
    pub fn new(groups: u16, parallelism: Parallelism) -> Result<Self, Error> {
        if groups == 0 || groups > MAX_KEY_GROUPS {
            return Err(Error::Groups { groups });
        }
        if parallelism.0 == 0 || parallelism.0 > u32::from(groups) {
            return Err(Error::Parallelism { parallelism, groups });
        }
        Ok(Self { groups, parallelism })
    }

    /// How many key groups there are.
    #[must_use]
    pub fn groups(self) -> u16 {
        self.groups
    }

    /// How many subtasks share them.
    #[must_use]
    pub fn parallelism(self) -> Parallelism {
        self.parallelism
    }

    /// The subtask that owns `group`.
    #[must_use]
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the quotient is below the parallelism, which is 32 bits")]
    pub fn subtask_of(self, group: KeyGroup) -> SubtaskIndex {
        let scaled = u64::from(group.0) * u64::from(self.parallelism.0);
        SubtaskIndex((scaled / u64::from(self.groups)) as u32)
    }

    /// The groups that `subtask` owns; empty for a subtask that does not exist.
    #[must_use]
    pub fn range_of(self, subtask: SubtaskIndex) -> KeyGroupRange {
        KeyGroupRange { first: self.first_of(u64::from(subtask.0)), end: self.first_of(u64::from(subtask.0) + 1) }
    }

    /// The owner of every group, by group: one look-up per record on an exchange.
    #[must_use]
    pub fn owners(self) -> Vec<SubtaskIndex> {
        (0..self.groups).map(|group| self.subtask_of(KeyGroup(group))).collect()
    }

    /// The first group of a subtask, the number of groups for the one after the last.
    fn first_of(self, subtask: u64) -> KeyGroup {
        let first = (subtask * u64::from(self.groups)).div_ceil(u64::from(self.parallelism.0));
        KeyGroup(u16::try_from(first).unwrap_or(self.groups).min(self.groups))
    }
}

#[cfg(test)]
mod tests;
