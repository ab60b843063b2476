//! What the coordinator says in numbers, in the names of operators and subtasks.

use protocol::coordinator::{AbortReason, FailReason, SinkNumber, SubtaskNumber, Waiting, WaitsFor};

use super::shape::Shape;

/// Why an epoch was aborted.
pub(crate) fn of_abort(reason: &AbortReason, shape: &Shape) -> String {
    let all = shape.subtasks();
    match reason {
        AbortReason::TimedOut { missing, first } => {
            format!(
                "timed out: {missing} of {all} subtasks have not passed the barrier, the first is {}",
                name(*first, shape)
            )
        }
        AbortReason::StillUploading { missing, first } => format!(
            "the timeout is over and {missing} of {all} subtasks are not durable yet, the first is {}: the checkpoint goes on",
            name(*first, shape)
        ),
        AbortReason::ManifestRefused { .. }
        | AbortReason::Ending
        | AbortReason::TooManyAskers
        | AbortReason::JobFailed => reason.to_string(),
    }
}

/// Why the job cannot go on.
pub(crate) fn of_failure(reason: &FailReason, shape: &Shape) -> String {
    match reason {
        FailReason::TooManyAborts { aborts, epoch, last } => {
            let last = of_abort(last, shape);
            format!("{aborts} checkpoints in a row were aborted, the last was epoch {epoch}: {last}")
        }
        FailReason::Lost { subtask, epoch, why } => {
            format!("what {} handed over for epoch {epoch} is lost: {why}", name(*subtask, shape))
        }
        FailReason::PublishRefused { sink, epoch, why } => {
            format!("publish epoch {epoch} of {}: {why}", sink_name(*sink, shape))
        }
        FailReason::OutOfOrder { subtask, epoch } => {
            format!("{} handed over epoch {epoch} out of order", name(*subtask, shape))
        }
        FailReason::Fenced { .. } | FailReason::InDoubt { .. } => reason.to_string(),
    }
}

/// Whom a checkpoint waits for.
pub(crate) fn of_waiting(waiting: &Waiting, shape: &Shape) -> String {
    let Waiting { epoch, wait, missing, first, .. } = waiting;
    let all = shape.subtasks();
    match wait {
        WaitsFor::HandOver => format!(
            "epoch {epoch} waits for {missing} of {all} subtasks to pass the barrier, the first is {}",
            name(*first, shape)
        ),
        WaitsFor::Durability => format!(
            "epoch {epoch} waits until what {missing} of {all} subtasks handed over is durable, the first is {}",
            name(*first, shape)
        ),
        WaitsFor::Manifest => format!("epoch {epoch} waits for its manifest to be created"),
    }
}

/// `operator`/subtask
fn name(number: SubtaskNumber, shape: &Shape) -> String {
    shape
        .member(number)
        .map_or_else(|| format!("subtask {number}"), |member| format!("`{}`/{}", member.operator, member.subtask))
}

fn sink_name(number: SinkNumber, shape: &Shape) -> String {
    let sink = shape.staging_sinks().nth(number.0 as usize);
    sink.map_or_else(|| format!("sink {number}"), |sink| format!("`{}`", sink.uid))
}
