//! The subtasks of a host: readers of splits, and counters of keys.

use std::collections::VecDeque;
use std::sync::Arc;

use contract::{KeyedState, SlotKeys, StateWrites};
use model::{Barrier, Epoch, EventTime, HostTime, KeyGroupRange, OptionalColumn, SlotIndex, StateId};
use protocol::alignment::Alignment;
use protocol::key_group;
use protocol::manifest::Part;

use crate::bugs::Bug;
use crate::input::{FORGET_AT, Record};
use crate::target::Line;

/// The state of a counter.
pub(crate) const COUNT: StateId = StateId(0);

/// Elements that wait before a counter, at most.
pub(crate) const CHANNEL: usize = 6;

/// What flows from a reader to a counter.
#[derive(Clone, Debug)]
pub(crate) enum Element {
    Record(Record),
    Barrier(Barrier),
    End,
}

/// A subtask that reads a split.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    pub(crate) position: usize,
    /// The barrier to send next.
    pub(crate) barrier: Option<Epoch>,
    /// The final barrier was sent, or is to be: nothing is read after it.
    pub(crate) is_stopped: bool,
    /// End of input is to be sent, and was.
    pub(crate) ends: bool,
    pub(crate) has_ended: bool,
}

/// A subtask that counts the records of its keys.
pub(crate) struct Counter {
    pub(crate) range: KeyGroupRange,
    pub(crate) state: Box<dyn KeyedState>,
    pub(crate) alignment: Alignment,
    pub(crate) channels: Vec<VecDeque<Element>>,
    /// Output of the running epoch.
    pub(crate) output: Vec<Line>,
    /// What manifests list for it.
    pub(crate) parts: Vec<Part>,
    /// The last epoch it took a snapshot of.
    pub(crate) last_snapshot: Epoch,
}

impl Counter {
    /// The channels in which something waits that may be taken.
    pub(crate) fn ready(&self) -> Vec<usize> {
        let waits = |at: &usize| self.channels.get(*at).is_some_and(|channel| !channel.is_empty());
        (0..self.channels.len()).filter(waits).filter(|at| !self.alignment.is_held(*at)).collect()
    }

    /// Counts a record. On poison the function writes and then traps: nothing of it may count.
    pub(crate) fn count(&mut self, record: &Record, bug: Option<Bug>) {
        let key = record.key.as_bytes();
        let slots = Arc::new(SlotKeys {
            keys: std::iter::once(key).collect(),
            hashes: vec![key_group::hash(key)],
            ..SlotKeys::default()
        });
        let mut loaded = OptionalColumn::default();
        self.state.load(COUNT, &slots, &mut loaded).expect("the double loads what it owns");
        let before = loaded.get(0).and_then(|value| value.try_into().ok()).map_or(0, u64::from_le_bytes);
        let count = before + 1;
        if !record.is_poison || bug == Some(Bug::ApplyTrappedWrites) {
            let mut values = OptionalColumn::default();
            values.push((count < FORGET_AT).then_some(&count.to_le_bytes()));
            let writes = StateWrites { state: COUNT, slots: vec![SlotIndex(0)], values, ..StateWrites::default() };
            self.state.apply(&slots, &[writes], HostTime(0)).expect("the double applies what it owns");
        }
        if !record.is_poison {
            self.output.push((record.key.clone(), count));
        }
    }

    /// Takes a barrier; gives the epoch to snapshot now, if any.
    pub(crate) fn barrier(&mut self, channel: usize, epoch: Epoch, bug: Option<Bug>) -> Option<Epoch> {
        let barrier = Barrier { epoch, watermark: EventTime::UNKNOWN };
        if bug == Some(Bug::SkipAlignment) {
            let is_first = epoch > self.last_snapshot;
            self.last_snapshot = self.last_snapshot.max(epoch);
            return is_first.then_some(epoch);
        }
        let step = self.alignment.barrier(channel, barrier).expect("barriers of a channel rise");
        step.aligned.map(|aligned| aligned.epoch)
    }
}
