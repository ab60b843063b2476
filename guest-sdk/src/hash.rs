//! Hash maps that behave the same in every run.

use std::collections::hash_map::DefaultHasher;
use std::hash::BuildHasher;

/// Makes hashers with a fixed seed.
///
/// A function must do the same whenever it sees the same records, so its maps must not differ from
/// run to run: use [`HashMap`] and [`HashSet`] instead of those of the standard library.
#[derive(Clone, Copy, Debug, Default)]
pub struct FixedState;

impl BuildHasher for FixedState {
    type Hasher = DefaultHasher;

    fn build_hasher(&self) -> DefaultHasher {
        DefaultHasher::new()
    }
}

/// A hash map with a fixed seed.
///
/// ```
/// let mut prices = tidegate::HashMap::default();
/// prices.insert("tea", 3);
/// assert_eq!(prices["tea"], 3);
/// ```
pub type HashMap<K, V> = std::collections::HashMap<K, V, FixedState>;

/// A hash set with a fixed seed.
///
/// ```
/// let mut seen = tidegate::HashSet::default();
/// assert!(seen.insert("tea"));
/// assert!(!seen.insert("tea"));
/// ```
pub type HashSet<T> = std::collections::HashSet<T, FixedState>;
