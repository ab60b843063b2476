//! A running job, as its owner sees it.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use model::{Epoch, Generation, LineageId, OperatorUid, Position};
use serde::Serialize;

use crate::control::Control;
use crate::epochs::link::{EpochLink, Message};
use crate::epochs::status::Status;
use crate::epochs::{CheckpointCounts, CheckpointSummary, Condition};
use crate::metrics::{JobSnapshot, OperatorSnapshot, serialize_seconds};
use crate::{JobFailure, registry::Registry};

/// A running job. Dropping it without [`JobHandle::wait`] asks the job to cancel.
#[derive(Debug)]
pub struct JobHandle {
    control: Arc<Control>,
    registry: Arc<Registry>,
    epochs: Option<EpochsHandle>,
    waited: bool,
}

/// What the owner of a job with checkpoints sees of them.
#[derive(Clone, Debug)]
pub(crate) struct EpochsHandle {
    pub(crate) status: Arc<Status>,
    pub(crate) link: Arc<EpochLink>,
    pub(crate) identity: JobIdentity,
}

/// Which incarnation of a job with checkpoints runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct JobIdentity {
    /// The history it goes on with.
    pub lineage: LineageId,
    /// The incarnation.
    pub generation: Generation,
    /// The epoch whose checkpoint it was restored from; `None`: it began with nothing.
    pub restored: Option<Epoch>,
}

/// Asks a job to cancel, from any thread.
#[derive(Clone, Debug)]
pub struct Canceller(Arc<Control>);

/// How a job ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every source came to its end.
    Finished,
    /// It was cancelled: what had been read was handled to the end.
    Cancelled,
}

/// Where a split resumes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SplitPosition {
    /// The source.
    pub source: OperatorUid,
    /// The name of the split.
    pub split: String,
    /// Where reading would go on.
    pub position: Position,
}

/// What a job did that did not fail.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// How it ended.
    pub outcome: Outcome,
    /// How long it ran.
    #[serde(rename = "elapsed_seconds", serialize_with = "serialize_seconds")]
    pub elapsed: Duration,
    /// What each operator did.
    pub operators: Vec<OperatorSnapshot>,
    /// Where every split stands, in the order of sources and splits.
    pub positions: Vec<SplitPosition>,
}

impl JobHandle {
    pub(crate) fn new(control: Arc<Control>, registry: Arc<Registry>, epochs: Option<EpochsHandle>) -> Self {
        Self { control, registry, epochs, waited: false }
    }

    /// The last checkpoints, newest first; none in a job without.
    #[must_use]
    pub fn checkpoints(&self) -> Vec<CheckpointSummary> {
        self.epochs.as_ref().map(|epochs| epochs.status.checkpoints()).unwrap_or_default()
    }

    /// What is not as it should be, while the job goes on.
    #[must_use]
    pub fn conditions(&self) -> Vec<Condition> {
        self.epochs.as_ref().map(|epochs| epochs.status.conditions()).unwrap_or_default()
    }

    /// What its checkpoints came to so far; `None` in a job without.
    #[must_use]
    pub fn checkpoint_counts(&self) -> Option<CheckpointCounts> {
        self.epochs.as_ref().map(|epochs| epochs.status.counts())
    }

    /// Which incarnation runs; `None` in a job without checkpoints.
    #[must_use]
    pub fn identity(&self) -> Option<JobIdentity> {
        self.epochs.as_ref().map(|epochs| epochs.identity)
    }

    /// The epoch that what is read now belongs to; `None` in a job without checkpoints.
    #[must_use]
    pub fn epoch_in_progress(&self) -> Option<Epoch> {
        self.epochs.as_ref().map(|epochs| epochs.link.in_progress())
    }

    /// Takes a checkpoint that begins after this call, and waits for it. In a job without checkpoints, and in one
    /// that ends before, there is none: the text says why.
    ///
    /// # Errors
    /// Why there is no such checkpoint.
    pub fn checkpoint(&self, timeout: Duration) -> Result<Epoch, String> {
        let Some(epochs) = &self.epochs else { return Err("the job takes no checkpoints".to_owned()) };
        let (asker, answer) = channel();
        epochs.link.tell(Message::Asked(asker));
        let over = |_| format!("no checkpoint was complete within {timeout:?}, or the job has ended");
        answer.recv_timeout(timeout).map_err(over)?
    }

    /// Waits until `ready` is content with what the job says of its checkpoints and conditions, the job has ended,
    /// or `timeout` is over. Says whether it was content.
    #[must_use]
    pub fn wait_until(&self, timeout: Duration, ready: impl Fn(&Self) -> bool) -> bool {
        /// How long a change that nobody told of stays unseen.
        const LOOK: Duration = Duration::from_millis(50);
        let clock = self.control.clock();
        let deadline = clock.elapsed() + timeout;
        loop {
            if ready(self) {
                return true;
            }
            let left = deadline.saturating_sub(clock.elapsed());
            if left.is_zero() || self.control.wait_for(Duration::ZERO) {
                return ready(self);
            }
            match &self.epochs {
                Some(epochs) => epochs.status.wait(left.min(LOOK)),
                None => drop(self.control.wait_for(left.min(LOOK))),
            }
        }
    }

    /// Stops every thread at its next look and waits for them, as if the process had been killed: nothing is
    /// flushed, closed, or completed. What was durable stays as it is.
    pub fn abandon(mut self) {
        self.waited = true;
        self.control.abandon();
        // That it was stopped is no news.
        self.control.wait().ok();
    }

    /// What the job has done so far.
    #[must_use]
    pub fn metrics(&self) -> JobSnapshot {
        self.registry.snapshot(self.control.elapsed())
    }

    /// Asks the job to end in good order: sources stop, what is in flight is handled, sinks are closed.
    /// Returns at once.
    pub fn cancel(&self) {
        self.control.cancel();
    }

    /// Something that can cancel the job from elsewhere: a signal handler.
    #[must_use]
    pub fn canceller(&self) -> Canceller {
        Canceller(Arc::clone(&self.control))
    }

    /// Waits until the job has ended, at most `timeout`. Says whether it has.
    #[must_use]
    pub fn wait_for(&self, timeout: Duration) -> bool {
        self.control.wait_for(timeout)
    }

    /// Waits until every subtask has ended.
    ///
    /// # Errors
    /// The first failure of any subtask.
    pub fn wait(mut self) -> Result<Summary, Box<JobFailure>> {
        self.waited = true;
        self.control.wait()?;
        let snapshot = self.metrics();
        Ok(Summary {
            outcome: if self.control.was_cut_short() { Outcome::Cancelled } else { Outcome::Finished },
            elapsed: snapshot.uptime,
            operators: snapshot.operators,
            positions: self.registry.positions(),
        })
    }
}

impl Drop for JobHandle {
    fn drop(&mut self) {
        if !self.waited {
            self.control.cancel();
        }
    }
}

impl Canceller {
    /// As [`JobHandle::cancel`].
    pub fn cancel(&self) {
        self.0.cancel();
    }
}

impl Summary {
    /// The operator called `uid`.
    #[must_use]
    pub fn operator(&self, uid: &str) -> Option<&OperatorSnapshot> {
        self.operators.iter().find(|operator| operator.uid.as_str() == uid)
    }
}
