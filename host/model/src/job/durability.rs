//! `checkpoint` and `restart` of a job file.

use std::time::Duration;

use super::check::{At, Check, Keys};
use super::codes;
use super::spec::{CheckpointSpec, RestartSpec};

/// What is read again after a crash is at most this long to read.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(10);
/// Far above what a checkpoint takes, and short enough that somebody notices.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
/// So that a job whose checkpoints take long still works between them.
const DEFAULT_MIN_PAUSE: Duration = Duration::from_secs(1);
/// One bad upload is no reason to stop; four in a row are no accident.
const DEFAULT_TOLERABLE_FAILURES: u32 = 3;
/// The newest, and two to go back to.
const DEFAULT_RETAIN: u32 = 3;

/// Through a minute of the shortest waits and some of the longest: a restart of what the job needs.
pub(super) const DEFAULT_RESTART: RestartSpec =
    RestartSpec { attempts: 10, first_backoff: Duration::from_secs(1), most_backoff: Duration::from_secs(60) };

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// `checkpoint: {}` and `checkpoint:` are checkpoints with every default.
pub(super) fn read_checkpoint(check: &mut Check, at: &At<'_>) -> CheckpointSpec {
    let mut spec = CheckpointSpec {
        interval: DEFAULT_INTERVAL,
        timeout: DEFAULT_TIMEOUT,
        min_pause: DEFAULT_MIN_PAUSE,
        tolerable_failures: DEFAULT_TOLERABLE_FAILURES,
        retain: DEFAULT_RETAIN,
    };
    let Some(mut keys) = check.keys(at) else { return spec };
    let mut duration = |check: &mut Check, key, least, most| {
        keys.take(check, key).and_then(|at| check.duration(&at, Duration::from_millis(least)..=most))
    };
    spec.interval = duration(check, "interval", 10, DAY).unwrap_or(spec.interval);
    spec.timeout = duration(check, "timeout", 100, DAY).unwrap_or(spec.timeout);
    let default_pause = DEFAULT_MIN_PAUSE.min(spec.interval / 2);
    spec.min_pause = duration(check, "min_pause", 0, DAY).unwrap_or(default_pause);
    let mut count = |check: &mut Check, key, least| {
        let given = keys.take(check, key).and_then(|at| check.integer(&at, least..=1000));
        given.and_then(|count| u32::try_from(count).ok())
    };
    spec.tolerable_failures = count(check, "tolerable_failures", 0).unwrap_or(spec.tolerable_failures);
    spec.retain = count(check, "retain", 1).unwrap_or(spec.retain);
    keys.finish(check);
    spec
}

/// `restart`, which a job without checkpoints has no use for: it has nothing to go on from.
pub(super) fn read_restart(check: &mut Check, keys: &mut Keys<'_>, has_checkpoints: bool) -> RestartSpec {
    let mut spec = DEFAULT_RESTART;
    let Some(at) = keys.take(check, "restart") else { return spec };
    if !has_checkpoints {
        refuse_without_checkpoint(check, &at, "`restart` goes on from a checkpoint");
    }
    let Some(mut keys) = check.keys(&at) else { return spec };
    if let Some(attempts) = keys.take(check, "attempts").and_then(|at| check.integer(&at, 0..=1_000_000)) {
        spec.attempts = u32::try_from(attempts).unwrap_or(spec.attempts);
    }
    if let Some((first, most)) = keys.take(check, "backoff").and_then(|at| read_backoff(check, &at)) {
        (spec.first_backoff, spec.most_backoff) = (first, most);
    }
    keys.finish(check);
    spec
}

/// `1s..60s`, or one duration for a wait that is always the same.
fn read_backoff(check: &mut Check, at: &At<'_>) -> Option<(Duration, Duration)> {
    let expected = "the first and the longest wait, such as `1s..60s`";
    let text = check.text(at, expected)?;
    let (first, most) = text.split_once("..").unwrap_or((text, text));
    let parsed = |text: &str| humantime::parse_duration(text.trim()).ok();
    let (Some(first), Some(most)) = (parsed(first), parsed(most)) else {
        check.problem(codes::WRONG_VALUE, at, format!("expected {expected}: found {}", at.node.describe()));
        return None;
    };
    let waits = Duration::from_millis(10)..=HOUR;
    if !waits.contains(&first) || !waits.contains(&most) || first > most {
        let message = format!(
            "expected waits from `10ms` to `1h`, the first not above the longest: found {}",
            at.node.describe()
        );
        check.problem(codes::OUT_OF_RANGE, at, message);
        return None;
    }
    Some((first, most))
}

/// Refuses what only a job with checkpoints can do.
pub(super) fn refuse_without_checkpoint(check: &mut Check, at: &At<'_>, why: &str) {
    let help = "add `checkpoint: {}` to the job, or remove this key".to_owned();
    let message = format!("{why}, and the job has no `checkpoint`");
    check.problem_with_help(codes::NEEDS_CHECKPOINT, at, message, Some(help));
}
