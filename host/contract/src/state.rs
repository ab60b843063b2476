//! Keyed state, a batch at a time.

use std::ops::Range;
use std::sync::Arc;

use model::{Blame, Column, EventTime, HostTime, KeyGroupRange, OperatorUid, OptionalColumn, Retry, SlotIndex};
use model::{StateDescriptor, StateId};

use crate::{Error, StateWrites};

/// The distinct keys of a batch, by slot, with their hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotKeys {
    /// The key of each slot.
    pub keys: Column,
    /// The hash of each key, by the one key hash of the job.
    pub hashes: Vec<u64>,
    /// When the records of the batch look.
    pub looks: LookTimes,
}

/// When the records of a batch look at state: what has expired for them is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LookTimes {
    /// The least event time of the rows of each slot; empty where no state expires by event time.
    pub earliest: Vec<EventTime>,
    /// The greatest, likewise.
    pub latest: Vec<EventTime>,
    /// The host's clock, for states that expire by processing time.
    pub now: HostTime,
}

impl SlotKeys {
    /// A copy of the slots in `range`.
    fn some(&self, range: Range<SlotIndex>) -> Result<Self, Error> {
        let (first, end) = (range.start.0 as usize, range.end.0 as usize);
        let hashes = self.hashes.get(first..end).filter(|_| end <= self.keys.len()).ok_or_else(|| {
            let message = format!("slots {first} to {end} were named, the batch has {}", self.keys.len());
            Error::new(Blame::Host, Retry::No, message)
        })?;
        let some = |times: &[EventTime]| times.get(first..end).map(<[EventTime]>::to_vec).unwrap_or_default();
        Ok(Self {
            keys: (first..end).map(|slot| self.keys.get(slot)).collect(),
            hashes: hashes.to_vec(),
            looks: LookTimes {
                earliest: some(&self.looks.earliest),
                latest: some(&self.looks.latest),
                now: self.looks.now,
            },
        })
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
    /// Entries known to have expired that are not purged yet.
    pub expired_entries: u64,
}

/// The changes of one epoch: whole segments in the backend's own encoding, which never change again.
#[derive(Clone, Debug, Default)]
pub struct StateDelta {
    /// The segments, in order; none where nothing changed.
    pub segments: Vec<Arc<Vec<u8>>>,
}

/// The whole of a table as it was at a mark, in segments that can be restored alone. Made piece by piece on
/// another thread while the table goes on.
pub type StateImage = Box<dyn Iterator<Item = Result<Arc<Vec<u8>>, Error>> + Send>;

/// Segments to restore, of which only what belongs to `key_groups` counts.
#[derive(Clone, Debug)]
pub struct StatePart {
    /// The key groups whose entries count.
    pub key_groups: KeyGroupRange,
    /// Segments of an image or of a delta, in order.
    pub segments: Vec<Arc<Vec<u8>>>,
}

/// One entry, apart from any backend: what savepoints are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateEntry<'a> {
    /// The state.
    pub state: StateId,
    /// The hash of the key.
    pub hash: u64,
    /// The key.
    pub key: &'a [u8],
    /// The entry key; `None` for a state of kind value.
    pub entry_key: Option<&'a [u8]>,
    /// The value.
    pub value: &'a [u8],
    /// When it was written, or made: by the clock of its state's time to live, the host's where it has none.
    /// Milliseconds since 1970.
    pub written_millis: i64,
}

/// Makes tables. Deltas and images of one backend are segments that every other of a process restores.
pub trait StateBackend: Send + Sync {
    /// An empty table for one subtask.
    ///
    /// # Errors
    /// When its storage cannot be opened.
    fn open(&self, scope: StateScope) -> Result<Box<dyn KeyedState>, Error>;

    /// A table from what [`KeyedState::snapshot`] and [`KeyedState::image`] gave, in that order: an image of a
    /// mark and the deltas of the marks after it. What belongs to none of the subtask's key groups is passed over,
    /// so that a rescale gives every new owner the parts of the old ones.
    ///
    /// Times to live are those of `scope`, whatever they were, and every entry is judged by its own write time: a
    /// policy may be given, taken, shortened or lengthened over what is there. A purge says nothing to the deltas, so
    /// what had expired may be there again; under the same policy nobody sees it, under a longer one it is seen if it
    /// was written recently enough. What was deleted or written over, purged in between or not, never comes back.
    ///
    /// # Errors
    /// The first error of `parts`; when a segment is damaged, of a newer version, or holds a declared state as
    /// another kind; when storage cannot be opened.
    fn restore(
        &self,
        scope: StateScope,
        parts: &mut dyn Iterator<Item = Result<StatePart, Error>>,
    ) -> Result<Box<dyn KeyedState>, Error>;
}

/// The keyed state of one subtask. Owned by one thread.
///
/// # Promises
/// 1. Reads see what [`KeyedState::apply`] applied before, all of it, and nothing else.
/// 2. `apply` takes effect whole or not at all.
/// 3. Keys are byte strings; two keys with the same hash are two keys. A state is reached under its
///    own id only.
/// 4. Slots are only meaningful with the [`SlotKeys`] of the same call.
/// 5. What has expired at the time of the look ([`LookTimes`]) is absent, and nothing else: an entry of a state with
///    a time to live is visible to a look at `t` if `t < written + ttl`. A write to an entry that has expired at that
///    time makes a new entry. The write time of a visible entry never falls; with [`model::Refresh::OnCreate`] it stays.
///    A look from before a watermark that was completed ([`KeyedState::completed`]) finds what expired before that
///    watermark as long as it is not purged.
/// 6. [`KeyedState::maintain`] changes nothing that reads can see. An owner that calls it between
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

    /// For each slot of `which`, the least time at which what its rows see changes by event time: above the slot's
    /// earliest look and not above its latest. `None`: all of them see the same, and what one of them writes lives
    /// for the others. Appended to `out`.
    ///
    /// # Errors
    /// When the storage behind it fails.
    fn changes(&mut self, slots: &SlotKeys, which: &[SlotIndex], out: &mut Vec<Option<EventTime>>)
    -> Result<(), Error>;

    /// Marks the end of an epoch and returns what changed since the last mark. Quick: nothing is copied.
    ///
    /// A delta that did not become durable is still owed: it belongs to the next checkpoint, before its delta.
    ///
    /// # Errors
    /// When the storage behind it fails.
    fn snapshot(&mut self) -> Result<StateDelta, Error>;

    /// The whole table as it was at the last [`KeyedState::snapshot`], which nothing was applied after.
    ///
    /// # Errors
    /// When the storage behind it fails.
    fn image(&mut self) -> Result<StateImage, Error>;

    /// A checkpoint that this table took part in is complete: by event time, what expired before `watermark` may
    /// be purged from now on.
    fn completed(&mut self, watermark: EventTime);

    /// The host's clock says `now`, though nobody may look or write: by processing time, what expired before may be
    /// purged. Without it the clock is that of the last look or write.
    fn time_passed(&mut self, now: HostTime) {
        let _ = now;
    }

    /// Calls `visit` for every entry, key group by key group, rising; within a group the order is the table's own.
    /// Entries that have expired are among them if they are not purged.
    ///
    /// # Errors
    /// The first error of `visit`; when the storage behind it fails.
    fn export(&mut self, visit: &mut dyn FnMut(StateEntry<'_>) -> Result<(), Error>) -> Result<(), Error>;

    /// Calls `visit` for every entry of `states`, in no order: what is asked for when timers are restored, whose states
    /// ([`model::TimerClock::state_id`]) are few entries of many. This looks through all that is there; a table that
    /// finds the entries of a state by themselves does better.
    ///
    /// # Errors
    /// As [`KeyedState::export`].
    fn visit_states(
        &mut self,
        states: &[StateId],
        visit: &mut dyn FnMut(StateEntry<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.export(&mut |entry| if states.contains(&entry.state) { visit(entry) } else { Ok(()) })
    }

    /// Puts an entry with its own write time. One whose key belongs to another subtask is an error.
    ///
    /// # Errors
    /// When the storage behind it fails.
    fn import(&mut self, entry: StateEntry<'_>) -> Result<(), Error>;

    /// Reclaims room of dead entries: touches about `budget_bytes` of them, less where there is less
    /// to do. Returns the bytes touched; 0 when there is nothing to do.
    ///
    /// # Errors
    /// When the storage behind it fails.
    fn maintain(&mut self, budget_bytes: usize) -> Result<usize, Error>;

    /// What the table holds.
    fn stats(&self) -> StateStats;
}
