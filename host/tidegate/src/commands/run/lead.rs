//! The life of a job in this process: started, followed, and started again after a failure where it has checkpoints.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use connectors::stdout::READER_GONE;
use contract::Clock;
use model::job::RestartSpec;
use runtime::{Durability, JobFailure, JobHandle, JobIdentity, Summary, SystemClock};

use super::attempts::{Attempts, Failed, Next};
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
    let mut attempts = Attempts::new(led.restart, led.place.newest.as_ref().map(|manifest| manifest.epoch));
    let mut tally = Tally::default();
    let mut restarts = 0;
    loop {
        let failed = match runtime::start_durable(&led.wired.graph, Arc::clone(&clock), &led.durability) {
            // What is wrong at the first start is wrong with what was asked for.
            Err(error) if restarts == 0 => return Err(error.into()),
            Err(error) => {
                let failed = Failed {
                    blame: error.blame(),
                    retry: error.retry(),
                    record: None,
                    completed: tally.last_complete(),
                };
                (failed, CliError::from(error))
            }
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
                    Err(failure) => (of_failure(&failure, &tally), CliError::of(failure_problem(&failure))),
                }
            }
        };
        let (failed, error) = failed;
        match attempts.after(&failed, led.durability.randomness.draw()) {
            Next::Stay(None) => return Err(error),
            Next::Stay(Some(help)) => return Err(error.with_help(help)),
            Next::Again { attempt, wait } => {
                say_again(&error, attempt, led.restart.attempts, wait);
                if stopping.wait(wait) {
                    return Err(error.with_help("the job was asked to stop while it waited to be started again"));
                }
                restarts += 1;
            }
        }
    }
}

fn follow(job: JobHandle, stopping: &Stopping, quiet: bool, tally: &mut Tally) -> Result<Summary, Box<JobFailure>> {
    stopping.stops(&job);
    progress::follow(&job, quiet, tally);
    tally.update(&job.checkpoints());
    job.wait()
}

fn of_failure(failure: &JobFailure, tally: &Tally) -> Failed {
    Failed {
        blame: failure.blame,
        retry: failure.retry,
        record: failure.record.as_ref().map(ToString::to_string),
        completed: tally.last_complete(),
    }
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
