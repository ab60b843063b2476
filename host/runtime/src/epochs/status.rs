//! What a job says of its checkpoints: history and conditions, as data.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use model::{Epoch, OperatorUid, SubtaskIndex};
use protocol::coordinator::{CheckpointFigures, SubtaskFigures};
use protocol::manifest::CheckpointKind;
use serde::Serialize;

use super::shape::Shape;
use super::words;
use crate::metrics::serialize_seconds;

/// Something about a running job that its owner should know: it goes on, and not as it should.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Condition {
    /// What it is.
    pub kind: ConditionKind,
    /// What it is about, where that is one operator.
    pub operator: Option<OperatorUid>,
    /// Which of its subtasks, where that is one.
    pub subtask: Option<SubtaskIndex>,
    /// What happened last: names things and values.
    pub message: String,
    /// Since when, by the uptime of the job.
    #[serde(rename = "since_seconds", serialize_with = "serialize_seconds")]
    pub since: Duration,
}

/// What a condition is about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum About<'a> {
    Job,
    Operator(&'a OperatorUid),
    Subtask(&'a OperatorUid, SubtaskIndex),
}

/// Kinds of conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConditionKind {
    /// The checkpoint store does not answer: no checkpoint is triggered until it does.
    StoreAway,
    /// The checkpoint store has no room: no checkpoint is triggered until there is some.
    StoreFull,
    /// A sink cannot publish, and goes on trying.
    NotPublished,
    /// The target of a sink takes nothing, as without room: the sink takes no more records, and no checkpoint is
    /// triggered, until it does.
    SinkWaits,
    /// What a sink staged cannot become durable, and is tried again: the checkpoint waits for it.
    NotStaged,
    /// A checkpoint has been in progress for long, and whom it waits for.
    CheckpointSlow,
    /// The last checkpoints were aborted, and none has been complete since.
    CheckpointsAborted,
    /// Too many complete epochs wait to be published: no checkpoint is triggered meanwhile.
    TooManyUnpublished,
    /// Old checkpoints cannot be removed: the store grows.
    NotRemoved,
    /// The clock of the machine jumped: state that expires by processing time does not follow it.
    ClockJumped,
    /// So many bytes wait to become durable or visible that sources do not read on.
    BacklogFull,
}

/// What one subtask's part of a checkpoint cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SubtaskCheckpoint {
    /// The operator.
    pub operator: OperatorUid,
    /// The subtask.
    pub subtask: SubtaskIndex,
    /// From the trigger until the first barrier reached it.
    #[serde(rename = "start_delay_seconds", serialize_with = "serialize_seconds")]
    pub start_delay: Duration,
    /// How long inputs were held.
    #[serde(rename = "alignment_seconds", serialize_with = "serialize_seconds")]
    pub alignment: Duration,
    /// How long it did nothing else than take its snapshot.
    #[serde(rename = "sync_seconds", serialize_with = "serialize_seconds")]
    pub sync: Duration,
    /// From the hand-over until it was durable.
    #[serde(rename = "upload_seconds", serialize_with = "serialize_seconds")]
    pub upload: Duration,
    /// Bytes that became durable.
    pub bytes: u64,
}

/// One checkpoint. Times are by the uptime of the job.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckpointSummary {
    /// The epoch it closes.
    pub epoch: Epoch,
    /// Why it was triggered.
    pub kind: CheckpointKind,
    /// When.
    #[serde(rename = "triggered_at_seconds", serialize_with = "serialize_seconds")]
    pub triggered_at: Duration,
    /// When its manifest was known to be there.
    #[serde(rename = "completed_at_seconds", serialize_with = "serialize_some_seconds")]
    pub completed_at: Option<Duration>,
    /// When every sink was known to have published it.
    #[serde(rename = "published_at_seconds", serialize_with = "serialize_some_seconds")]
    pub published_at: Option<Duration>,
    /// Why it was aborted.
    pub aborted: Option<String>,
    /// What it cost, for every subtask that acknowledged.
    pub subtasks: Vec<SubtaskCheckpoint>,
}

impl CheckpointSummary {
    fn new(figures: &CheckpointFigures, shape: &Shape, began: Duration) -> Self {
        let subtask = |(number, figures): (_, &SubtaskFigures)| {
            let member = shape.member(number)?;
            Some(SubtaskCheckpoint {
                operator: member.operator.clone(),
                subtask: member.subtask,
                start_delay: figures.start_delay,
                alignment: figures.alignment,
                sync: figures.sync_part,
                upload: figures.upload,
                bytes: figures.bytes,
            })
        };
        Self {
            epoch: figures.epoch,
            kind: figures.kind,
            triggered_at: began + figures.triggered_at,
            completed_at: figures.completed_at.map(|at| began + at),
            published_at: figures.published_at.map(|at| began + at),
            aborted: figures.aborted.as_ref().map(|reason| words::of_abort(reason, shape)),
            subtasks: figures.subtasks.iter().filter_map(|(number, figures)| subtask((*number, figures))).collect(),
        }
    }
}

/// What the checkpoints of a job came to so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CheckpointCounts {
    /// Complete ones, of this incarnation.
    pub complete: u64,
    /// Aborted ones.
    pub aborted: u64,
    /// When the last complete one was, by the uptime of the job.
    #[serde(rename = "last_complete_at_seconds", serialize_with = "serialize_some_seconds")]
    pub last_complete_at: Option<Duration>,
    /// From its trigger to its manifest.
    #[serde(rename = "last_duration_seconds", serialize_with = "serialize_some_seconds")]
    pub last_duration: Option<Duration>,
    /// From its manifest until every sink had published it; `None` where some has not.
    #[serde(rename = "last_publish_seconds", serialize_with = "serialize_some_seconds")]
    pub last_publish: Option<Duration>,
    /// Its bytes.
    pub last_bytes: u64,
    /// The longest alignment of a subtask in it.
    #[serde(rename = "last_alignment_seconds", serialize_with = "serialize_seconds")]
    pub last_alignment: Duration,
    /// The longest sync part of a subtask in it.
    #[serde(rename = "last_sync_seconds", serialize_with = "serialize_seconds")]
    pub last_sync: Duration,
    /// Complete epochs that some sink has not published.
    pub unpublished: u64,
    /// Bytes that wait to become durable or visible.
    pub backlog_bytes: u64,
}

impl CheckpointCounts {
    /// With what the newest complete one of `checkpoints` cost.
    fn with_last(mut self, checkpoints: &[CheckpointSummary]) -> Self {
        let complete = |it: &&CheckpointSummary| it.completed_at.is_some();
        if let Some(last) = checkpoints.iter().find(complete) {
            self.last_complete_at = last.completed_at;
            self.last_duration = last.completed_at.map(|at| at.saturating_sub(last.triggered_at));
            let published = last.published_at.zip(last.completed_at);
            self.last_publish = published.map(|(published, complete)| published.saturating_sub(complete));
            self.last_bytes = last.subtasks.iter().map(|subtask| subtask.bytes).sum();
            self.last_alignment = last.subtasks.iter().map(|subtask| subtask.alignment).max().unwrap_or_default();
            self.last_sync = last.subtasks.iter().map(|subtask| subtask.sync).max().unwrap_or_default();
        }
        self
    }
}

#[derive(Default)]
struct Inner {
    checkpoints: Vec<CheckpointFigures>,
    conditions: BTreeMap<(ConditionKind, Option<OperatorUid>, Option<SubtaskIndex>), Condition>,
    counts: CheckpointCounts,
}

/// What the coordinator's thread writes and everybody reads.
pub(crate) struct Status {
    shape: Shape,
    /// The uptime of the job when the coordinator began.
    began: Duration,
    inner: Mutex<Inner>,
    changed: Condvar,
}

impl Status {
    pub(crate) fn new(shape: Shape, began: Duration) -> Arc<Self> {
        Arc::new(Self { shape, began, inner: Mutex::default(), changed: Condvar::new() })
    }

    /// `counts` are without what the last one cost.
    pub(crate) fn note<'f>(&self, figures: impl Iterator<Item = &'f CheckpointFigures>, counts: CheckpointCounts) {
        let mut inner = self.inner();
        inner.checkpoints.clear();
        inner.checkpoints.extend(figures.cloned());
        inner.counts = counts;
        drop(inner);
        self.changed.notify_all();
    }

    /// The condition holds now (`Some`: what happened last), or no more.
    pub(crate) fn condition(&self, kind: ConditionKind, about: About<'_>, message: Option<String>, uptime: Duration) {
        let (operator, subtask) = match about {
            About::Job => (None, None),
            About::Operator(operator) => (Some(operator), None),
            About::Subtask(operator, subtask) => (Some(operator), Some(subtask)),
        };
        let key = (kind, operator.cloned(), subtask);
        let mut inner = self.inner();
        let Some(message) = message else {
            if let Some(over) = inner.conditions.remove(&key) {
                tracing::info!(kind = ?kind, operator = operator.map(OperatorUid::as_str), "over: {}", over.message);
            }
            drop(inner);
            self.changed.notify_all();
            return;
        };
        let since = inner.conditions.get(&key).map(|known| known.since);
        if since.is_none() {
            tracing::warn!(kind = ?kind, operator = operator.map(OperatorUid::as_str), "{message}");
        }
        let since = since.unwrap_or(uptime);
        let condition = Condition { kind, operator: operator.cloned(), subtask, message, since };
        inner.conditions.insert(key, condition);
        drop(inner);
        self.changed.notify_all();
    }

    /// The last checkpoints, newest first.
    pub(crate) fn checkpoints(&self) -> Vec<CheckpointSummary> {
        let inner = self.inner();
        inner.checkpoints.iter().map(|figures| CheckpointSummary::new(figures, &self.shape, self.began)).collect()
    }

    pub(crate) fn conditions(&self) -> Vec<Condition> {
        self.inner().conditions.values().cloned().collect()
    }

    pub(crate) fn counts(&self) -> CheckpointCounts {
        let counts = self.inner().counts.clone();
        counts.with_last(&self.checkpoints())
    }

    /// Waits for a change, at most `timeout`.
    pub(crate) fn wait(&self, timeout: Duration) {
        let waited = self.changed.wait_timeout(self.inner(), timeout);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Status").field("began", &self.began).finish_non_exhaustive()
    }
}

fn serialize_some_seconds<S: serde::Serializer>(time: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => serialize_seconds(time, serializer),
        None => serializer.serialize_none(),
    }
}
