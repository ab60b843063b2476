//! A clock that a test moves.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use model::HostTime;

use crate::Clock;

/// A clock that stands still until it is moved.
#[derive(Debug, Default)]
pub struct ManualClock {
    now_millis: AtomicI64,
    elapsed_nanos: AtomicU64,
}

impl ManualClock {
    /// A clock that shows `now`, with nothing elapsed.
    #[must_use]
    pub fn new(now: HostTime) -> Self {
        Self { now_millis: AtomicI64::new(now.0), elapsed_nanos: AtomicU64::new(0) }
    }

    /// Lets time pass on both clocks.
    pub fn advance(&self, by: Duration) {
        self.now_millis.fetch_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX), Ordering::SeqCst);
        self.elapsed_nanos.fetch_add(u64::try_from(by.as_nanos()).unwrap_or(u64::MAX), Ordering::SeqCst);
    }

    /// Sets the wall clock, also backwards, as a machine's may be.
    pub fn set_now(&self, now: HostTime) {
        self.now_millis.store(now.0, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> HostTime {
        HostTime(self.now_millis.load(Ordering::SeqCst))
    }

    fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.elapsed_nanos.load(Ordering::SeqCst))
    }
}
