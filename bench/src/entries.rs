//! Keyed state that is made up: entries of 100 bytes, and which of them an epoch changes.
//!
//! # Invariants
//! 1. A number gives the same key for ever, and two numbers two keys.
//! 2. An epoch changes no entry twice, and goes on where the one before ended: every entry gets its turn.

use crate::input::mix;
use crate::tally::Tally;

/// Bytes of a key.
pub(crate) const KEY_BYTES: usize = 36;
/// Bytes of a value.
pub(crate) const VALUE_BYTES: usize = 64;
/// Bytes of an entry.
pub(crate) const ENTRY_BYTES: u64 = (KEY_BYTES + VALUE_BYTES) as u64;

/// A key.
pub(crate) type Key = [u8; KEY_BYTES];
/// A value.
pub(crate) type Value = [u8; VALUE_BYTES];

/// From one changed entry to the next: a prime above every number of entries, so that all are met, far apart.
const STRIDE: u64 = 2_654_435_761;
/// Most entries: 200 GB of them.
const MOST: u64 = 2_000_000_000;

/// The key of entry `number`.
pub(crate) fn key_of(number: u64) -> Key {
    let mut key = [0; KEY_BYTES];
    fill(&mut key, number);
    key
}

/// The value of entry `number` after it was written in epoch `version`.
pub(crate) fn value_of(number: u64, version: u32) -> Value {
    let mut value = [0; VALUE_BYTES];
    fill(&mut value, mix(number) ^ u64::from(version));
    value
}

/// Adds an entry to `tally`.
pub(crate) fn sum_entry(tally: &mut Tally, key: &[u8], value: &[u8]) {
    let mut whole = [0; KEY_BYTES + VALUE_BYTES];
    for (to, from) in whole.iter_mut().zip(key.iter().chain(value)) {
        *to = *from;
    }
    tally.sum(&whole);
}

fn fill(bytes: &mut [u8], seed: u64) {
    let mut block = seed;
    for chunk in bytes.chunks_mut(8) {
        block = mix(block);
        for (to, from) in chunk.iter_mut().zip(block.to_le_bytes()) {
            *to = from;
        }
    }
}

/// Which entries there are, and which of them change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Churn {
    /// How many entries there are.
    pub(crate) entries: u64,
    /// How many an epoch changes.
    pub(crate) per_epoch: u64,
}

impl Churn {
    /// Of about `state_bytes` of entries, `churn_bytes` change in every epoch.
    pub(crate) fn new(state_bytes: u64, churn_bytes: u64) -> Self {
        let entries = (state_bytes / ENTRY_BYTES).clamp(1, MOST);
        Self { entries, per_epoch: (churn_bytes / ENTRY_BYTES).clamp(1, entries) }
    }

    /// The numbers of the entries that epoch `epoch` changes; epochs start at 1.
    pub(crate) fn of_epoch(self, epoch: u32) -> impl Iterator<Item = u64> {
        let first = u64::from(epoch.saturating_sub(1)) * self.per_epoch;
        (first..first + self.per_epoch).map(move |turn| (turn % self.entries) * STRIDE % self.entries)
    }

    /// What is there after so many epochs.
    pub(crate) fn tally_after(self, epochs: u32) -> Tally {
        let mut versions = vec![0; usize::try_from(self.entries).expect("there are fewer than two thousand million")];
        for epoch in 1..=epochs {
            for number in self.of_epoch(epoch) {
                if let Some(version) = usize::try_from(number).ok().and_then(|at| versions.get_mut(at)) {
                    *version = epoch;
                }
            }
        }
        let mut tally = Tally::default();
        for (number, version) in (0..).zip(versions) {
            sum_entry(&mut tally, &key_of(number), &value_of(number, version));
        }
        tally
    }

    /// What epoch `epoch` changes.
    pub(crate) fn tally_of(self, epoch: u32) -> Tally {
        let mut tally = Tally::default();
        self.of_epoch(epoch).for_each(|number| sum_entry(&mut tally, &key_of(number), &value_of(number, epoch)));
        tally
    }
}

#[cfg(test)]
mod tests;
