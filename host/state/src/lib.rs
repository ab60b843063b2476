//! The state log: keyed state as an index over append-only segments, in the checkpoint's own encoding.
//!
//! A write appends an entry to the log of its epoch, or changes the entry that the epoch already wrote.
//! A mark ends an epoch: its segments are sealed and are the epoch's delta as they are, without a copy
//! or a sort. Reads go through one small index per key group. A cleaner rewrites segments that are
//! mostly dead, and purges what has expired. An image of a mark is made on another thread.
//!
//! # Words
//! - *entry*: state, key, entry key, value, write time (`entry`); *segment*: a run of entries (`segment`)
//! - *log*: all segments of a table (`log`); *index*: where the entry of a name lies (`index`)
//! - *delta*: the segments between two marks (`StateLog::mark`, `restore`)
//! - *image*: the live entries of a mark (`image`)
//! - *directory*: the entries of one map or list in order (`directories`)
//! - *expiry*: when an entry is no longer visible (`expiry`)
//!
//! # Invariants
//! 1. What is sealed never changes.
//! 2. A load takes no lock and allocates nothing but what it returns; a scan may sort what it scans.
//! 3. Memory stays at about twice what the live entries need, if the owner calls `maintain`.
//!
//! # Absent on purpose
//! Files, uploads and manifests; anything asynchronous.

mod cells;
#[cfg_attr(not(any(feature = "rocksdb", test)), expect(dead_code, reason = "only a table over a base is counted"))]
mod census;
mod changes;
mod clean;
mod directories;
mod entry;
mod error;
mod expiry;
mod image;
mod index;
mod keyed;
mod log;
mod pieces;
mod prefetch;
mod restore;
#[cfg(feature = "rocksdb")]
mod rocks;
pub mod scatter;
mod segment;
#[cfg(test)]
mod soundness;
mod table;
mod transfer;

use contract::{KeyedState, StateBackend, StatePart, StateScope};
use model::StateKind;

pub use entry::Flaw;
pub use error::Error;
#[cfg(feature = "rocksdb")]
pub use rocks::{RocksBackend, RocksOptions};
pub use table::StateLog;

/// How a table is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Length of a segment in bytes, at most 2 MiB. Longer ones waste less room in large tables; a table
    /// has at least one. Default 1 MiB.
    pub segment_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { segment_bytes: 1 << 20 }
    }
}

/// Keyed state in memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemoryBackend {
    /// How its tables are laid out.
    pub options: Options,
}

impl StateBackend for MemoryBackend {
    fn open(&self, scope: StateScope) -> Result<Box<dyn KeyedState>, contract::Error> {
        Ok(Box::new(StateLog::new(scope, self.options)))
    }

    fn restore(
        &self,
        scope: StateScope,
        parts: &mut dyn Iterator<Item = Result<StatePart, contract::Error>>,
    ) -> Result<Box<dyn KeyedState>, contract::Error> {
        Ok(Box::new(StateLog::restore_parts(scope, self.options, parts)?))
    }
}

#[cfg(test)]
mod histories;
#[cfg(test)]
mod tests;
