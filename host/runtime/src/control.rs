//! What all subtasks of a job share to begin, stop and end together.
//!
//! # Words
//! - *drain*: sources stop, what is in flight is handled to the end
//! - *stop*: every thread leaves at its next look; what is in flight is lost
//!
//! # Invariants
//! 1. The first failure is the one reported; what follows from it is not.
//! 2. No source reads before every subtask has opened what it needs.
//! 3. Whoever waits wakes when the job drains or stops: every wait of a subtask is a park of a
//!    registered thread, or of the thread that is about to register and looks first.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::Duration;

use contract::Clock;

use crate::JobFailure;

/// See the module.
pub(crate) struct Control {
    clock: Arc<dyn Clock>,
    started: Duration,
    draining: AtomicBool,
    stopped: AtomicBool,
    cut_short: AtomicBool,
    /// Subtasks that have not opened yet.
    unopened: AtomicUsize,
    threads: Mutex<Vec<Thread>>,
    end: Mutex<End>,
    ended: Condvar,
}

#[derive(Debug)]
struct End {
    running: usize,
    failure: Option<JobFailure>,
    /// A subtask that ended before its input; reported where nobody says why.
    quiet: Option<JobFailure>,
    /// When the last thread left.
    at: Option<Duration>,
}

impl Control {
    /// For so many `subtasks`, and so many `others` that work for them and leave with them.
    pub(crate) fn new(clock: Arc<dyn Clock>, subtasks: usize, others: usize) -> Self {
        let threads = subtasks + others;
        let started = clock.elapsed();
        Self {
            clock,
            started,
            draining: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            cut_short: AtomicBool::new(false),
            unopened: AtomicUsize::new(subtasks),
            threads: Mutex::new(Vec::with_capacity(threads)),
            end: Mutex::new(End { running: threads, failure: None, quiet: None, at: None }),
            ended: Condvar::new(),
        }
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Time since the start, until the end.
    pub(crate) fn elapsed(&self) -> Duration {
        let now = self.end().at.unwrap_or_else(|| self.clock.elapsed());
        now.saturating_sub(self.started)
    }

    /// Makes the calling thread one of those that are woken.
    pub(crate) fn register(&self) {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(std::thread::current());
    }

    /// Notes that the calling subtask has opened, and waits for the others. False: the job stopped.
    pub(crate) fn opened(&self) -> bool {
        if self.unopened.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.wake_all();
        }
        self.wait_open()
    }

    /// Waits until every subtask has opened. False: the job stopped.
    pub(crate) fn wait_open(&self) -> bool {
        while self.unopened.load(Ordering::SeqCst) > 0 && !self.is_stopped() {
            std::thread::park();
        }
        !self.is_stopped()
    }

    pub(crate) fn cancel(&self) {
        self.draining.store(true, Ordering::SeqCst);
        self.wake_all();
    }

    /// Stops the job with `failure`, unless it has failed before.
    pub(crate) fn fail(&self, failure: JobFailure) {
        self.end().failure.get_or_insert(failure);
        self.stopped.store(true, Ordering::SeqCst);
        self.wake_all();
    }

    /// Stops every thread at its next look, as if the process had ended.
    pub(crate) fn abandon(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.wake_all();
    }

    /// Whether sources are to stop.
    #[inline]
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Whether everybody is to leave.
    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// Notes that a source stopped before its end.
    pub(crate) fn note_cut_short(&self) {
        self.cut_short.store(true, Ordering::SeqCst);
    }

    pub(crate) fn was_cut_short(&self) -> bool {
        self.cut_short.load(Ordering::SeqCst)
    }

    /// Notes that one of the threads has left; `quiet` if before the end of its input and not for a
    /// reason of its own.
    pub(crate) fn left(&self, quiet: Option<JobFailure>) {
        let mut end = self.end();
        end.quiet = end.quiet.take().or(quiet);
        end.running = end.running.saturating_sub(1);
        if end.running == 0 {
            end.at = Some(self.clock.elapsed());
            self.ended.notify_all();
        }
    }

    /// Waits for the last thread.
    pub(crate) fn wait(&self) -> Result<(), Box<JobFailure>> {
        let mut end = self.end();
        while end.running > 0 {
            end = self.ended.wait(end).unwrap_or_else(PoisonError::into_inner);
        }
        match end.failure.as_ref().or(end.quiet.as_ref()) {
            Some(failure) => Err(Box::new(failure.clone())),
            None => Ok(()),
        }
    }

    /// Waits for the last thread, at most `timeout`. Says whether it has left.
    pub(crate) fn wait_for(&self, timeout: Duration) -> bool {
        let waited = self.ended.wait_timeout_while(self.end(), timeout, |end| end.running > 0);
        waited.unwrap_or_else(PoisonError::into_inner).0.running == 0
    }

    fn end(&self) -> MutexGuard<'_, End> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets every registered thread look again.
    pub(crate) fn wake_all(&self) {
        for thread in self.threads.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            thread.unpark();
        }
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control")
            .field("draining", &self.is_draining())
            .field("stopped", &self.is_stopped())
            .field("end", &*self.end())
            .finish_non_exhaustive()
    }
}
