//! The clock of a real machine.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use contract::Clock;
use model::HostTime;

/// The machine's clocks.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    started: Instant,
}

impl SystemClock {
    /// A clock whose [`Clock::elapsed`] begins now.
    #[must_use]
    pub fn new() -> Self {
        Self { started: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock everybody else asks")]
    fn now(&self) -> HostTime {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        HostTime(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

#[cfg(test)]
mod tests;
