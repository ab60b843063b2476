//! What a person sees while a job runs: live lines on a terminal, a plain line now and then elsewhere.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use runtime::{ConditionKind, JobHandle, JobSnapshot, OperatorSnapshot};

use super::tally::Tally;
use crate::figures::{notes, percent, rate, rates, size, stretch};

/// How often live lines change: often enough to look alive, rarely enough to be read.
const LIVE: Duration = Duration::from_millis(250);
/// How often a plain line is printed.
const PLAIN: Duration = Duration::from_secs(5);

/// How often checkpoints are counted while nothing is shown: before the runtime forgets them.
const COUNTED: Duration = Duration::from_millis(500);

/// Shows progress until the job has ended, and counts its checkpoints.
pub(crate) fn follow(job: &JobHandle, quiet: bool, tally: &mut Tally) {
    if quiet {
        while !job.wait_for(COUNTED) {
            tally.update(&job.checkpoints());
        }
        return;
    }
    if std::io::stderr().is_terminal() {
        follow_live(job, tally);
    } else {
        follow_plain(job, tally);
    }
}

fn follow_live(job: &JobHandle, tally: &mut Tally) {
    let all = MultiProgress::new();
    let style =
        ProgressStyle::with_template("{spinner} {wide_msg}").unwrap_or_else(|_| ProgressStyle::default_spinner());
    let mut earlier: Option<JobSnapshot> = None;
    let mut lines: Vec<ProgressBar> = Vec::new();
    while !job.wait_for(LIVE) {
        let now = job.metrics();
        tally.update(&job.checkpoints());
        let checkpoints = describe_checkpoints(job, &now);
        while lines.len() < now.operators.len() + usize::from(checkpoints.is_some()) {
            lines.push(all.add(ProgressBar::new_spinner().with_style(style.clone())));
        }
        for (index, (line, operator)) in lines.iter().zip(&now.operators).enumerate() {
            let before = earlier.as_ref().and_then(|job| Some((job, job.operators.get(index)?)));
            line.set_message(describe(before, (&now, operator)));
            line.tick();
        }
        if let (Some(line), Some(text)) = (lines.last(), checkpoints) {
            line.set_message(text);
            line.tick();
        }
        earlier = Some(now);
    }
    for line in &lines {
        line.finish_and_clear();
    }
}

fn follow_plain(job: &JobHandle, tally: &mut Tally) {
    let mut earlier: Option<JobSnapshot> = None;
    let mut waited = Duration::ZERO;
    while !job.wait_for(COUNTED) {
        tally.update(&job.checkpoints());
        waited += COUNTED;
        if waited < PLAIN {
            continue;
        }
        waited = Duration::ZERO;
        let now = job.metrics();
        let seconds = now.uptime.as_secs();
        for (index, operator) in now.operators.iter().enumerate() {
            let before = earlier.as_ref().and_then(|job| Some((job, job.operators.get(index)?)));
            let line = format!("{seconds:>5} s  {}\n", describe(before, (&now, operator)));
            // Nobody may be reading any more; the job goes on.
            drop(std::io::stderr().write_all(line.as_bytes()));
        }
        if let Some(text) = describe_checkpoints(job, &now) {
            drop(std::io::stderr().write_all(format!("{seconds:>5} s  {text}\n").as_bytes()));
        }
        earlier = Some(now);
    }
}

fn describe(earlier: Option<(&JobSnapshot, &OperatorSnapshot)>, later: (&JobSnapshot, &OperatorSnapshot)) -> String {
    let operator = later.1;
    let rates = rates(earlier, later);
    let mut line = format!(
        "{:<16} in {:>9}  out {:>9}  busy {:>5}",
        operator.uid.as_str(),
        rate(rates.records_in),
        rate(rates.records_out),
        percent(rates.busy),
    );
    // Only where it tells something: a terminal line is short.
    if rates.backpressured >= 0.005 {
        line += &format!("  backpressured {}", percent(rates.backpressured));
    }
    let notes = notes(operator);
    if !notes.is_empty() {
        line += "  ";
        line += &notes;
    }
    line
}

/// Epoch, last checkpoint, what waits, and what is not as it should be; `None` for a job without checkpoints.
fn describe_checkpoints(job: &JobHandle, now: &JobSnapshot) -> Option<String> {
    let identity = job.identity()?;
    let checkpoints = job.checkpoints();
    let newest = checkpoints.first().map_or(identity.restored.unwrap_or_default(), |checkpoint| checkpoint.epoch);
    let mut line = format!("{:<16} epoch {}", "checkpoints", newest.0 + 1);
    if let Some((last, at)) = checkpoints.iter().find_map(|checkpoint| Some((checkpoint, checkpoint.completed_at?))) {
        let bytes = last.subtasks.iter().map(|subtask| subtask.bytes).sum();
        line += &format!(
            "  last {}: {} ago, took {}, {}",
            last.epoch,
            stretch(now.uptime.saturating_sub(at)),
            stretch(at.saturating_sub(last.triggered_at)),
            size(bytes)
        );
    }
    let unpublished = checkpoints.iter().filter(|it| it.completed_at.is_some() && it.published_at.is_none()).count();
    if unpublished > 0 {
        line += &format!("  not published {unpublished}");
    }
    for condition in job.conditions() {
        let since = stretch(now.uptime.saturating_sub(condition.since));
        let subtask = condition.subtask.map(|subtask| format!("/{subtask}")).unwrap_or_default();
        let operator = condition.operator.map(|operator| format!(" (`{operator}`{subtask})")).unwrap_or_default();
        line += &format!("  ! {}{operator}, for {since}: {}", words(condition.kind), condition.message);
    }
    Some(line)
}

fn words(kind: ConditionKind) -> &'static str {
    match kind {
        ConditionKind::StoreAway => "the checkpoint store does not answer",
        ConditionKind::StoreFull => "the checkpoint store has no room",
        ConditionKind::SinkWaits => "a sink's target takes nothing: records and checkpoints wait",
        ConditionKind::NotStaged => "output cannot be staged: the checkpoint waits",
        ConditionKind::CheckpointSlow => "a checkpoint takes long",
        ConditionKind::CheckpointsAborted => "checkpoints were aborted",
        ConditionKind::NotPublished => "a sink cannot publish and goes on trying",
        ConditionKind::TooManyUnpublished => "checkpoints wait until more is published",
        ConditionKind::BacklogFull => "sources wait until output is durable",
        ConditionKind::NotRemoved => "old checkpoints cannot be removed",
        ConditionKind::ClockJumped => "the clock of the machine jumped",
    }
}
