//! How much may wait between two subtasks, so that a barrier behind it does not wait long.
//!
//! A barrier travels behind what was sent before it: what waits in the queues of a subtask is what it has to handle
//! first. Bytes say little of how long that takes, since functions differ by a thousand times; so the bound follows the
//! rate at which the subtask has lately taken bytes, its waits for a full queue of its own included.
//!
//! # Words
//! - *drain*: how fast a subtask takes what its queues hold
//!
//! # Invariants
//! 1. The bound lies between [`LEAST_BYTES`] and the most that was asked for, whichever is less, and the latter.
//! 2. Of two subtasks the faster one is given no less.
//! 3. At a steady rate, all queues of a subtask, each filled to its bound, are drained within [`TARGET`] at the measured rate, or hold no
//!    more than the least.
//! 4. What was measured counts half as much after [`WINDOW`] of work: a subtask whose speed changes is known by that soon.
//!
//! # Absent on purpose
//! Measuring: whoever handles batches knows how long one took.

use std::time::Duration;

/// How long what waits may take. Half of what a checkpoint may wait at an edge: a batch is in hand besides.
pub const TARGET: Duration = Duration::from_millis(25);

/// At least so much may wait, however slow its taker. One batch may always wait, whatever it weighs.
pub const LEAST_BYTES: usize = 16 * 1024;

/// After so much work what was measured before counts half.
pub const WINDOW: Duration = Duration::from_millis(200);

/// What a subtask has lately taken, and how long that took it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drain {
    bytes: u64,
    nanos: u64,
}

impl Drain {
    /// So many bytes took so long.
    pub fn note(&mut self, bytes: usize, took: Duration) {
        self.bytes = self.bytes.saturating_add(bytes as u64);
        self.nanos = self.nanos.saturating_add(nanos(took));
        let window = nanos(WINDOW);
        if self.nanos > 2 * window {
            // Both shrink alike, so that the rate stays; one slow batch weighs no more than a window of others.
            let keep = |whole: u64| u64::try_from(u128::from(whole) * u128::from(window) / u128::from(self.nanos));
            let bytes = keep(self.bytes).unwrap_or(u64::MAX);
            (self.bytes, self.nanos) = (bytes, window);
        }
    }

    /// The most bytes that may wait in each of `queues` queues of the subtask, of which `most_bytes` is the most.
    #[must_use]
    pub fn limit(&self, queues: usize, most_bytes: usize) -> usize {
        let least = LEAST_BYTES.min(most_bytes);
        if self.nanos == 0 {
            // Nothing is known: a slow subtask is not filled before it is, and one too fast for the clock needs no bound.
            return if self.bytes == 0 { least } else { most_bytes };
        }
        let in_target = u128::from(self.bytes) * u128::from(nanos(TARGET)) / u128::from(self.nanos);
        let each = in_target / queues.max(1) as u128;
        usize::try_from(each).unwrap_or(usize::MAX).clamp(least, most_bytes)
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
