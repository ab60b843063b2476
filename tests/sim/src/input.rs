//! What the sources hold, and what must come out.

use std::collections::BTreeMap;

use crate::rng::Rng;

/// At this count a key is forgotten, and begins anew: so that deletes are part of every history.
pub(crate) const FORGET_AT: u64 = 4;

/// A record of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) key: String,
    /// The function traps on it, every time.
    pub(crate) is_poison: bool,
}

/// The records of every split. A key lives in one split, so that the order of its records is decided.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(crate) splits: Vec<Vec<Record>>,
}

impl Input {
    pub(crate) fn draw(rng: &Rng, splits: usize, records: usize, keys: usize) -> Self {
        let of_split = |split: usize| {
            let record = |_| Record { key: format!("{split}-{}", rng.below(keys)), is_poison: rng.once_in(12) };
            (0..records).map(record).collect()
        };
        Self { splits: (0..splits).map(of_split).collect() }
    }

    /// What must be visible in the end: for each key the counts of its records that are not poison, in order.
    pub(crate) fn expected(&self) -> BTreeMap<String, Vec<u64>> {
        let mut expected: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for record in self.splits.iter().flatten().filter(|record| !record.is_poison) {
            let counts = expected.entry(record.key.clone()).or_default();
            counts.push(counts.len() as u64 % FORGET_AT + 1);
        }
        expected
    }
}
