//! What the engine knows of a running job beside its threads: who counts what, what the splits are
//! called, and where reading ended.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use contract::Split;
use model::{OperatorUid, Parallelism, Position, SourceId, SplitIndex};

use crate::failure::Coordinates;
use crate::handle::SplitPosition;
use crate::metrics::{JobSnapshot, OperatorKind, OperatorSnapshot, SubtaskMetrics};

/// One operator of the job and those who count for it.
#[derive(Debug)]
struct Operator {
    uid: OperatorUid,
    kind: OperatorKind,
    parallelism: Parallelism,
    subtasks: Vec<Arc<SubtaskMetrics>>,
}

/// One source of the job.
#[derive(Debug)]
struct SourceEntry {
    uid: OperatorUid,
    splits: Vec<Split>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    operators: Vec<Operator>,
    sources: Vec<SourceEntry>,
    ended_at: Mutex<BTreeMap<(SourceId, SplitIndex), Position>>,
}

impl Registry {
    pub(crate) fn add_operator(&mut self, uid: OperatorUid, kind: OperatorKind, parallelism: Parallelism) {
        self.operators.push(Operator { uid, kind, parallelism, subtasks: Vec::new() });
    }

    /// Lets `metrics` count for the operator `uid`.
    pub(crate) fn add_metrics(&mut self, uid: &OperatorUid, metrics: Arc<SubtaskMetrics>) {
        if let Some(operator) = self.operators.iter_mut().find(|operator| operator.uid == *uid) {
            operator.subtasks.push(metrics);
        }
    }

    pub(crate) fn add_source(&mut self, uid: OperatorUid, splits: Vec<Split>) {
        self.sources.push(SourceEntry { uid, splits });
    }

    pub(crate) fn splits(&self, source: usize) -> &[Split] {
        self.sources.get(source).map_or(&[], |entry| entry.splits.as_slice())
    }

    /// What a split of the source `uid` is called.
    pub(crate) fn split_name(&self, uid: &OperatorUid, split: SplitIndex) -> Option<&str> {
        let entry = self.sources.iter().find(|entry| entry.uid == *uid)?;
        entry.splits.iter().find(|known| known.index == split).map(|known| known.name.as_str())
    }

    /// Where a record stands, in words of the user.
    pub(crate) fn coordinates(&self, origin: (SourceId, SplitIndex, Position)) -> Option<Coordinates> {
        let (source, split, position) = origin;
        let entry = self.sources.get(usize::from(source.0))?;
        let name = entry.splits.iter().find(|known| known.index == split).map_or("?", |known| known.name.as_str());
        Some(Coordinates { source: entry.uid.clone(), split: name.to_owned(), position })
    }

    /// Notes where a reader stands when it ends.
    pub(crate) fn note_positions(&self, source: SourceId, positions: Vec<(SplitIndex, Position)>) {
        let mut ended_at = self.ended_at.lock().unwrap_or_else(PoisonError::into_inner);
        ended_at.extend(positions.into_iter().map(|(split, position)| ((source, split), position)));
    }

    pub(crate) fn positions(&self) -> Vec<SplitPosition> {
        let ended_at = self.ended_at.lock().unwrap_or_else(PoisonError::into_inner);
        let named = ended_at.iter().filter_map(|(&(source, split), &position)| {
            let Coordinates { source, split, position } = self.coordinates((source, split, position))?;
            Some(SplitPosition { source, split, position })
        });
        named.collect()
    }

    pub(crate) fn snapshot(&self, uptime: Duration) -> JobSnapshot {
        let sum = |operator: &Operator| {
            let mut sum = OperatorSnapshot::new(operator.uid.clone(), operator.kind, operator.parallelism);
            for metrics in &operator.subtasks {
                metrics.add_to(&mut sum);
            }
            sum
        };
        JobSnapshot { uptime, operators: self.operators.iter().map(sum).collect() }
    }
}
