//! Waiting between tries, longer each time.

use std::thread;
use std::time::Duration;

use crate::control::Control;

/// The first and the longest pause before a store or a target is asked again.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Grows from try to try.
#[derive(Debug)]
pub(crate) struct Backoff(Duration);

impl Backoff {
    pub(crate) fn new() -> Self {
        Self(FIRST_PAUSE)
    }

    /// Waits before the next try. False: the job has stopped.
    pub(crate) fn pause(&mut self, control: &Control) -> bool {
        if !control.is_stopped() {
            thread::park_timeout(self.0);
        }
        self.0 = LONGEST_PAUSE.min(self.0 * 2);
        !control.is_stopped()
    }
}
