//! The life of a job in this process: started, followed, and started again after a failure where it has checkpoints.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use connectors::stdout::READER_GONE;
use contract::Clock;
use model::Epoch;
use model::job::RestartSpec;
use protocol::restart::{Failure, GiveUp, RecordPlace, Restarts, Verdict};
use runtime::{Durability, JobFailure, JobHandle, JobIdentity, Summary, SystemClock};

use super::durable::Place;
use super::stopping::Stopping;
use super::tally::Tally;
use super::{failure_problem, progress};
use crate::figures::stretch;
use crate::report::CliError;
use crate::wiring::Wired;

/// How a job ended that did not fail.
pub(super) struct Ended {
    pub(super) summary: Summary,
    /// Of a job with checkpoints.
    pub(super) durable: Option<EndedDurable>,
}

/// What a job with checkpoints has besides.
pub(super) struct EndedDurable {
    pub(super) identity: JobIdentity,
    pub(super) tally: Tally,
    /// How often it was started again in this process.
    pub(super) restarts: u32,
}

/// What a job with checkpoints is led by.
pub(super) struct Durable<'a> {
    pub(super) wired: &'a Wired,
    pub(super) place: &'a Place,
    pub(super) durability: Durability,
    pub(super) restart: RestartSpec,
}

/// Leads a job without checkpoints. `None`: whoever read its records has enough of them.
///
/// # Errors
/// The failure of the job.
pub(super) fn plain(wired: &Wired, stopping: &Stopping, quiet: bool) -> Result<Option<Ended>, CliError> {
    let job = runtime::start(&wired.graph, Arc::new(SystemClock::new()))?;
    stopping.stops(&job);
    progress::follow(&job, quiet, &mut Tally::default());
    match job.wait() {
        Ok(summary) => Ok(Some(Ended { summary, durable: None })),
        Err(failure) if is_enough(wired, &failure) => Ok(None),
        Err(failure) => Err(CliError::of(failure_problem(&failure))),
    }
}

/// `tidegate run … | head`: whoever read our records has enough of them, and there are no others.
fn is_enough(wired: &Wired, failure: &JobFailure) -> bool {
    wired.writes_only_stdout && failure.code.as_deref() == Some(READER_GONE)
}

/// Leads a job with checkpoints, as often as its restart strategy lets it.
///
/// # Errors
/// The failure that it stays failed with.
pub(super) fn durable(led: &Durable<'_>, stopping: &Stopping, quiet: bool) -> Result<Option<Ended>, CliError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let mut attempts = Restarts::new(led.restart);
    let mut tally = Tally::default();
    let mut restarts = 0;
    loop {
        let failed = match runtime::start_durable(&led.wired.graph, Arc::clone(&clock), &led.durability) {
            // What is wrong at the first start is wrong with what was asked for.
            Err(error) if restarts == 0 => return Err(error.into()),
            Err(error) => (of_error(&error, epoch_after(led, &tally)), CliError::from(error)),
            Ok(job) => {
                let identity = job.identity();
                if let (0, false, Some(identity)) = (restarts, quiet, &identity) {
                    say(&led.place.says(identity, clock.as_ref()));
                }
                match follow(job, stopping, quiet, &mut tally) {
                    Ok(summary) => {
                        let durable = identity.map(|identity| EndedDurable { identity, tally, restarts });
                        return Ok(Some(Ended { summary, durable }));
                    }
                    Err(failure) if is_enough(led.wired, &failure) => return Ok(None),
                    Err(failure) => {
                        let epoch = epoch_after(led, &tally);
                        (of_failure(&failure, epoch), CliError::of(failure_problem(&failure)))
                    }
                }
            }
        };
        if let Some(complete) = tally.last_complete() {
            attempts.completed(complete);
        }
        let (failed, error) = failed;
        match attempts.after(failed, led.durability.randomness.draw()) {
            Verdict::GiveUp(why) => return Err(given_up(error, &why)),
            Verdict::Restart { attempt, wait } => {
                say_again(&error, attempt, led.restart.attempts, wait);
                if stopping.wait(wait) {
                    return Err(error.with_help("the job was asked to stop while it waited to be started again"));
                }
                restarts += 1;
            }
        }
    }
}

/// The epoch in progress after the last checkpoint that is known to be complete.
fn epoch_after(led: &Durable<'_>, tally: &Tally) -> Epoch {
    let restored = led.place.newest.as_ref().map(|manifest| manifest.epoch);
    Epoch(tally.last_complete().max(restored).unwrap_or_default().0 + 1)
}

fn given_up(error: CliError, why: &GiveUp) -> CliError {
    match why {
        // The failure says it.
        GiveUp::NeedsChange | GiveUp::Fenced | GiveUp::NoAttemptLeft { attempts: 0 } => error,
        GiveUp::NoAttemptLeft { .. } => error.with_help(format!("{why}; see `restart` of the job file")),
        GiveUp::BadRecord { .. } => error.with_help(format!(
            "{why}; `on_error: skip` or `on_error: dead-letter` of the function lets the job pass it"
        )),
    }
}

fn follow(job: JobHandle, stopping: &Stopping, quiet: bool, tally: &mut Tally) -> Result<Summary, Box<JobFailure>> {
    stopping.stops(&job);
    progress::follow(&job, quiet, tally);
    tally.update(&job.checkpoints());
    job.wait()
}

/// The codes of a failure that means that somebody else owns the job.
const FENCED: [&str; 1] = [protocol::ownership::Fenced::CODE];

fn of_failure(failure: &JobFailure, epoch: Epoch) -> Failure {
    let record = failure.record.as_ref().map(|record| RecordPlace {
        source: record.source.clone(),
        split: record.split.clone(),
        position: record.position,
    });
    let is_fenced = failure.code.as_deref().is_some_and(|code| FENCED.contains(&code));
    Failure { blame: failure.blame, retry: failure.retry, is_fenced, epoch, record }
}

fn of_error(error: &contract::Error, epoch: Epoch) -> Failure {
    let is_fenced = error.code().is_some_and(|code| FENCED.contains(&code));
    Failure { blame: error.blame(), retry: error.retry(), is_fenced, epoch, record: None }
}

fn say_again(error: &CliError, attempt: u32, most: u32, wait: Duration) {
    say(&format!(
        "failed: {}\nstarts again in {} from the newest checkpoint: attempt {attempt} of {most}\n",
        error.first_line(),
        stretch(wait)
    ));
}

/// A note that nobody can read is no reason to stop.
fn say(text: &str) {
    drop(std::io::stderr().write_all(text.as_bytes()));
}
