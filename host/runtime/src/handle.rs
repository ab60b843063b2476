//! A running job, as its owner sees it.

use std::sync::Arc;
use std::time::Duration;

use model::{OperatorUid, Position};
use serde::Serialize;

use crate::control::Control;
use crate::metrics::{JobSnapshot, OperatorSnapshot, serialize_seconds};
use crate::{JobFailure, registry::Registry};

/// A running job. Dropping it without [`JobHandle::wait`] asks the job to cancel.
#[derive(Debug)]
pub struct JobHandle {
    control: Arc<Control>,
    registry: Arc<Registry>,
    waited: bool,
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
    pub(crate) fn new(control: Arc<Control>, registry: Arc<Registry>) -> Self {
        Self { control, registry, waited: false }
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
