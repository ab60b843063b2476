//! Failures of a job that are nobody's in particular: its checkpoints cannot go on.

use model::{Blame, OperatorUid, Retry, SubtaskIndex};
use protocol::coordinator::FailReason;

use super::shape::Shape;
use super::words;
use crate::JobFailure;

/// Who answers for what no operator did.
pub(crate) fn checkpoints_uid() -> OperatorUid {
    OperatorUid::new("checkpoints").expect("the constant is a name")
}

/// A failure of the checkpoints.
pub(crate) fn failure(code: &str, blame: Blame, retry: Retry, message: String) -> JobFailure {
    JobFailure {
        operator: checkpoints_uid(),
        subtask: SubtaskIndex(0),
        record: None,
        code: Some(code.to_owned()),
        blame,
        retry,
        message,
        causes: Vec::new(),
    }
}

/// What the coordinator gave up for.
pub(crate) fn of(reason: &FailReason, shape: &Shape) -> JobFailure {
    let (code, blame, retry) = match reason {
        FailReason::Fenced { .. } => ("E0433", Blame::External, Retry::No),
        FailReason::TooManyAborts { .. } => ("E0441", Blame::External, Retry::RestoreFirst),
        FailReason::InDoubt { .. } => ("E0442", Blame::External, Retry::RestoreFirst),
        FailReason::Lost { .. } => ("E0443", Blame::External, Retry::RestoreFirst),
        FailReason::PublishRefused { .. } => ("E0444", Blame::External, Retry::No),
        FailReason::OutOfOrder { .. } => ("E0521", Blame::Host, Retry::RestoreFirst),
    };
    failure(code, blame, retry, words::of_failure(reason, shape))
}
