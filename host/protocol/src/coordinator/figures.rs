//! What checkpoints cost.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use model::Epoch;

use crate::coordinator::{AbortReason, SubtaskNumber};
use crate::manifest::CheckpointKind;

/// What one subtask's part of a checkpoint cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubtaskFigures {
    /// From the trigger until the first barrier reached it.
    pub start_delay: Duration,
    /// From the first barrier to the last: how long inputs were held.
    pub alignment: Duration,
    /// How long it did nothing else than take its snapshot.
    pub sync_part: Duration,
    /// From the hand-over until it was durable.
    pub upload: Duration,
    /// Bytes that were uploaded.
    pub bytes: u64,
}

/// One checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointFigures {
    /// The epoch.
    pub epoch: Epoch,
    /// Why it was triggered.
    pub kind: CheckpointKind,
    /// When, since the start.
    pub triggered_at: Duration,
    /// When its manifest was known to be there.
    pub completed_at: Option<Duration>,
    /// When every sink was known to have published it.
    pub published_at: Option<Duration>,
    /// Why it was aborted.
    pub aborted: Option<AbortReason>,
    /// Of the subtasks that acknowledged.
    pub subtasks: BTreeMap<SubtaskNumber, SubtaskFigures>,
}

/// The last checkpoints.
#[derive(Clone, Debug)]
pub(super) struct History {
    /// Oldest first.
    checkpoints: VecDeque<CheckpointFigures>,
    most: usize,
}

impl History {
    pub(super) fn new(most: usize) -> Self {
        Self { checkpoints: VecDeque::new(), most }
    }

    pub(super) fn newest_first(&self) -> impl Iterator<Item = &CheckpointFigures> {
        self.checkpoints.iter().rev()
    }

    pub(super) fn triggered(&mut self, epoch: Epoch, kind: CheckpointKind, now: Duration) {
        self.checkpoints.push_back(CheckpointFigures {
            epoch,
            kind,
            triggered_at: now,
            completed_at: None,
            published_at: None,
            aborted: None,
            subtasks: BTreeMap::new(),
        });
        while self.checkpoints.len() > self.most {
            self.checkpoints.pop_front();
        }
    }

    pub(super) fn subtask(&mut self, epoch: Epoch, subtask: SubtaskNumber, figures: SubtaskFigures) {
        self.with(epoch, |checkpoint| {
            checkpoint.subtasks.insert(subtask, figures);
        });
    }

    pub(super) fn completed(&mut self, epoch: Epoch, now: Duration) {
        self.with(epoch, |checkpoint| checkpoint.completed_at = Some(now));
    }

    pub(super) fn published(&mut self, epoch: Epoch, now: Duration) {
        self.with(epoch, |checkpoint| checkpoint.published_at = Some(now));
    }

    pub(super) fn aborted(&mut self, epoch: Epoch, reason: AbortReason) {
        self.with(epoch, |checkpoint| checkpoint.aborted = Some(reason));
    }

    fn with(&mut self, epoch: Epoch, change: impl FnOnce(&mut CheckpointFigures)) {
        if let Some(checkpoint) = self.checkpoints.iter_mut().rev().find(|checkpoint| checkpoint.epoch == epoch) {
            change(checkpoint);
        }
    }
}
