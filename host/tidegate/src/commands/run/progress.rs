//! What a person sees while a job runs: live lines on a terminal, a plain line now and then elsewhere.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use runtime::{JobHandle, JobSnapshot, OperatorSnapshot};

use super::figures::{notes, percent, rate, rates};

/// How often live lines change: often enough to look alive, rarely enough to be read.
const LIVE: Duration = Duration::from_millis(250);
/// How often a plain line is printed.
const PLAIN: Duration = Duration::from_secs(5);

/// Shows progress until the job has ended.
pub(crate) fn follow(job: &JobHandle, quiet: bool) {
    if quiet {
        while !job.wait_for(PLAIN) {}
        return;
    }
    if std::io::stderr().is_terminal() {
        follow_live(job);
    } else {
        follow_plain(job);
    }
}

fn follow_live(job: &JobHandle) {
    let all = MultiProgress::new();
    let style =
        ProgressStyle::with_template("{spinner} {wide_msg}").unwrap_or_else(|_| ProgressStyle::default_spinner());
    let mut earlier: Option<JobSnapshot> = None;
    let mut lines: Vec<ProgressBar> = Vec::new();
    while !job.wait_for(LIVE) {
        let now = job.metrics();
        while lines.len() < now.operators.len() {
            lines.push(all.add(ProgressBar::new_spinner().with_style(style.clone())));
        }
        for (index, (line, operator)) in lines.iter().zip(&now.operators).enumerate() {
            let before = earlier.as_ref().and_then(|job| Some((job, job.operators.get(index)?)));
            line.set_message(describe(before, (&now, operator)));
            line.tick();
        }
        earlier = Some(now);
    }
    for line in &lines {
        line.finish_and_clear();
    }
}

fn follow_plain(job: &JobHandle) {
    let mut earlier: Option<JobSnapshot> = None;
    while !job.wait_for(PLAIN) {
        let now = job.metrics();
        let seconds = now.uptime.as_secs();
        for (index, operator) in now.operators.iter().enumerate() {
            let before = earlier.as_ref().and_then(|job| Some((job, job.operators.get(index)?)));
            let line = format!("{seconds:>5} s  {}\n", describe(before, (&now, operator)));
            // Nobody may be reading any more; the job goes on.
            drop(std::io::stderr().write_all(line.as_bytes()));
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
