//! Time as the engine sees it.

use std::time::Duration;

use model::HostTime;

/// The host's clocks. A test moves them instead of sleeping.
pub trait Clock: Send + Sync {
    /// Wall-clock time. May jump; who needs it monotone keeps its own maximum.
    fn now(&self) -> HostTime;

    /// Time since an arbitrary start; never falls.
    fn elapsed(&self) -> Duration;
}
