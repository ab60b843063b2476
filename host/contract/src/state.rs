//! Keyed state, a batch at a time.

use std::ops::Range;
use std::sync::Arc;

use model::{Blame, Column, HostTime, KeyGroupRange, OperatorUid, OptionalColumn, Retry, SlotIndex};
use model::{StateDescriptor, StateId};

use crate::{Error, StateWrites};

/// The distinct keys of a batch, by slot, with their hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotKeys {
    /// The key of each slot.
    pub keys: Column,
    /// The hash of each key, by the one key hash of the job.
    pub hashes: Vec<u64>,
}

impl SlotKeys {
    /// A copy of the slots in `range`.
    fn some(&self, range: Range<SlotIndex>) -> Result<Self, Error> {
        let (first, end) = (range.start.0 as usize, range.end.0 as usize);
        let hashes = self.hashes.get(first..end).filter(|_| end <= self.keys.len()).ok_or_else(|| {
            let message = format!("slots {first} to {end} were named, the batch has {}", self.keys.len());
            Error::new(Blame::Host, Retry::No, message)
        })?;
        Ok(Self { keys: (first..end).map(|slot| self.keys.get(slot)).collect(), hashes: hashes.to_vec() })
    }
}

/// Whose state a table holds.
#[derive(Clone, Debug)]
pub struct StateScope {
    /// The operator.
    pub operator: OperatorUid,
    /// The key groups its subtask owns.
    pub key_groups: KeyGroupRange,
    /// How many key groups the job has.
    pub key_group_count: u16,
    /// What it holds.
    pub states: Vec<StateDescriptor>,
}

/// What a table holds now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateStats {
    /// Entries that reads can see.
    pub live_entries: u64,
    /// Bytes of their keys, entry keys and values.
    pub live_bytes: u64,
    /// Bytes held by entries that reads can no longer see, because they were overwritten or deleted. Room
    /// that no entry was written to yet is not among them.
    pub dead_bytes: u64,
    /// Bytes of everything that finds entries but is none.
    pub index_bytes: u64,
    /// Bytes of memory the table takes, indexes and dead entries included.
    pub memory_bytes: u64,
}

/// Makes tables.
pub trait StateBackend: Send + Sync {
    /// An empty table for one subtask.
    ///
    /// # Errors
    /// When its storage cannot be opened.
    fn open(&self, scope: StateScope) -> Result<Box<dyn KeyedState>, Error>;
}

/// The keyed state of one subtask. Owned by one thread.
///
/// # Promises
/// 1. Reads see what [`KeyedState::apply`] applied before, all of it, and nothing else.
/// 2. `apply` takes effect whole or not at all.
/// 3. Keys are byte strings; two keys with the same hash are two keys. A state is reached under its
///    own id only.
/// 4. Slots are only meaningful with the [`SlotKeys`] of the same call.
/// 5. [`KeyedState::maintain`] changes nothing that reads can see. An owner that calls it between
///    batches keeps `memory_bytes` within a small multiple of what the live entries need.
///
/// # Errors that every method may give
/// A state that the scope does not declare or that has another kind, a slot that does not exist, a
/// key whose group the subtask does not own, columns whose lengths differ: ours to blame, and
/// nothing has changed.
pub trait KeyedState: Send {
    /// Appends to `out` the value of `state` for every slot, in slot order; absent where there is none.
    ///
    /// # Errors
    /// When the storage behind it fails.
    fn load(&mut self, state: StateId, slots: &SlotKeys, out: &mut OptionalColumn) -> Result<(), Error>;

    /// As [`KeyedState::load`], of the slots in `range` alone: for who takes no more than so much at a
    /// time. A table that would be slowed by the copy of their keys made here reads them in place.
    ///
    /// # Errors
    /// When the storage behind it fails.
    fn load_range(
        &mut self,
        state: StateId,
        slots: &SlotKeys,
        range: Range<SlotIndex>,
        out: &mut OptionalColumn,
    ) -> Result<(), Error> {
        let some = slots.some(range)?;
        self.load(state, &some, out)
    }

    /// Appends to `out` the entry `entry_keys[i]` of slot `which[i]`, for every `i`.
    ///
    /// # Errors
    /// When the storage behind it fails.
    fn load_entries(
        &mut self,
        state: StateId,
        slots: &SlotKeys,
        which: &[SlotIndex],
        entry_keys: &Column,
        out: &mut OptionalColumn,
    ) -> Result<(), Error>;

    /// The entries of `slot` in byte order of their keys, after `after`, at most `limit`: keys and
    /// values. Fewer than `limit` come only at the end.
    ///
    /// # Errors
    /// When the storage behind it fails.
    fn scan(
        &mut self,
        state: StateId,
        slots: &SlotKeys,
        slot: SlotIndex,
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<(Column, Column), Error>;

    /// Applies what a batch wrote, in order; `now` becomes the write time of the entries.
    ///
    /// # Errors
    /// When the storage behind it fails; nothing of the batch is applied then.
    fn apply(&mut self, slots: &Arc<SlotKeys>, writes: &[StateWrites], now: HostTime) -> Result<(), Error>;

    /// Reclaims room of dead entries: touches about `budget_bytes` of them, less where there is less
    /// to do. Returns the bytes touched; 0 when there is nothing to do.
    ///
    /// # Errors
    /// When the storage behind it fails.
    fn maintain(&mut self, budget_bytes: usize) -> Result<usize, Error>;

    /// What the table holds.
    fn stats(&self) -> StateStats;
}
