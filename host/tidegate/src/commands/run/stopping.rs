//! Ctrl-C and SIGTERM: the first ends the job in good order, a second one ends the process at once.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use runtime::{Canceller, JobHandle};

use super::CANCELLED;
use crate::report::CliError;

/// What the signal handler and the command share.
#[derive(Clone, Default)]
pub(super) struct Stopping(Arc<Shared>);

#[derive(Default)]
struct Shared {
    inner: Mutex<Inner>,
    asked: Condvar,
}

#[derive(Default)]
struct Inner {
    is_asked: bool,
    job: Option<Canceller>,
}

impl Stopping {
    /// Handles signals from now on. Called once.
    ///
    /// # Errors
    /// When the system refuses.
    pub(super) fn on_signals() -> Result<Self, CliError> {
        let stopping = Self::default();
        let handler = stopping.clone();
        ctrlc::set_handler(move || handler.ask())
            .map_err(|error| CliError::failed(format!("handle Ctrl-C: {error}")))?;
        Ok(stopping)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self) {
        let mut inner = self.inner();
        if inner.is_asked {
            std::process::exit(i32::from(CANCELLED));
        }
        inner.is_asked = true;
        if let Some(job) = &inner.job {
            job.cancel();
        }
        drop(inner);
        self.0.asked.notify_all();
    }

    /// Lets signals reach this job; one that came before reaches it at once.
    pub(super) fn stops(&self, job: &JobHandle) {
        let canceller = job.canceller();
        let mut inner = self.inner();
        if inner.is_asked {
            canceller.cancel();
        }
        inner.job = Some(canceller);
    }

    /// Waits as long as nobody asks to stop, at most `time`. Says whether somebody has.
    pub(super) fn wait(&self, time: Duration) -> bool {
        let inner = self.inner();
        let waited = self.0.asked.wait_timeout_while(inner, time, |inner| !inner.is_asked);
        waited.unwrap_or_else(PoisonError::into_inner).0.is_asked
    }
}
