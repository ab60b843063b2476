//! What every [`Clock`] promises.

use crate::Clock;

/// Checks that [`Clock::elapsed`] never falls over many looks.
///
/// # Panics
/// When it does.
pub fn check(clock: &dyn Clock) {
    let mut last = clock.elapsed();
    for _ in 0..1000 {
        let next = clock.elapsed();
        assert!(next >= last, "elapsed time fell from {last:?} to {next:?}");
        last = next;
    }
}
