//! What subtasks handed over and no manifest lists yet.

use std::collections::BTreeSet;

use model::Epoch;

use crate::coordinator::{Command, SubtaskNumber};
use crate::manifest::CheckpointKind;

/// What a hand-over is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum HandOver {
    /// The next manifest lists it.
    Owed,
    /// It came after one of the same or a later epoch.
    OutOfOrder,
}

/// The hand-overs of all subtasks since the last manifest.
#[derive(Clone, Debug)]
pub(super) struct Owed {
    /// By subtask, the last epoch it handed over.
    handed: Vec<Epoch>,
    /// What is not durable yet.
    open: BTreeSet<(Epoch, SubtaskNumber)>,
    /// The first epoch that no manifest lists.
    from: Epoch,
}

impl Owed {
    pub(super) fn new(subtasks: u32, from: Epoch) -> Self {
        let before = Epoch(from.0.saturating_sub(1));
        Self { handed: (0..subtasks).map(|_| before).collect(), open: BTreeSet::new(), from }
    }

    pub(super) fn hand_over(&mut self, subtask: SubtaskNumber, epoch: Epoch) -> HandOver {
        match self.handed.get_mut(subtask.0 as usize) {
            Some(last) if *last < epoch => {
                *last = epoch;
                self.open.insert((epoch, subtask));
                HandOver::Owed
            }
            _ => HandOver::OutOfOrder,
        }
    }

    /// Whether the acknowledgement was waited for.
    pub(super) fn acknowledge(&mut self, subtask: SubtaskNumber, epoch: Epoch) -> bool {
        self.open.remove(&(epoch, subtask))
    }

    /// Whether every subtask handed over `epoch`, and all that was handed over up to it is durable.
    pub(super) fn is_settled(&self, epoch: Epoch) -> bool {
        self.missing(epoch).0 == 0
    }

    /// How many subtasks still owe something for a manifest of `epoch`, and the first of them.
    pub(super) fn missing(&self, epoch: Epoch) -> (usize, SubtaskNumber) {
        let open: BTreeSet<SubtaskNumber> =
            self.open.iter().filter(|(of, _)| *of <= epoch).map(|(_, subtask)| *subtask).collect();
        let missing = |(subtask, last): (u32, &Epoch)| {
            let subtask = SubtaskNumber(subtask);
            (*last < epoch || open.contains(&subtask)).then_some(subtask)
        };
        let mut subtasks = (0u32..).zip(&self.handed).filter_map(missing);
        let first = subtasks.next();
        (usize::from(first.is_some()) + subtasks.count(), first.unwrap_or(SubtaskNumber(0)))
    }

    /// How many subtasks have not handed over `epoch`, and the first of them.
    pub(super) fn not_handed_over(&self, epoch: Epoch) -> (usize, SubtaskNumber) {
        let behind = |(subtask, last): (u32, &Epoch)| (*last < epoch).then_some(SubtaskNumber(subtask));
        let mut subtasks = (0u32..).zip(&self.handed).filter_map(behind);
        let first = subtasks.next();
        (usize::from(first.is_some()) + subtasks.count(), first.unwrap_or(SubtaskNumber(0)))
    }

    pub(super) fn create_command(&self, epoch: Epoch, kind: CheckpointKind) -> Command {
        Command::CreateManifest { epoch, kind, owed_from: self.from }
    }

    /// The manifest of `epoch` lists everything up to it.
    pub(super) fn listed(&mut self, epoch: Epoch) {
        self.from = Epoch(epoch.0 + 1);
    }
}
