//! When a batch that is being gathered is closed.
//!
//! # Invariants
//! 1. A batch with nothing in it is never closed: empty batches do not travel.
//! 2. With rows in it, a batch is closed at the latest when its first row is [`BatchLimits::max_age`] old.

use std::time::Duration;

use model::BatchLimits;

/// What has been gathered so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gathered {
    /// Rows.
    pub rows: usize,
    /// Bytes, as the queues count them.
    pub bytes: usize,
    /// Time since the first row came.
    pub age: Duration,
}

/// Why a batch is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Close {
    /// It has its rows.
    Rows,
    /// It has its bytes.
    Bytes,
    /// Its first row has waited long enough.
    Age,
    /// Nothing more is coming now.
    Idle,
}

/// Whether to close a batch, and why; `None`: gather on.
#[must_use]
pub fn close(limits: &BatchLimits, gathered: &Gathered, input_is_idle: bool) -> Option<Close> {
    if gathered.rows == 0 {
        None
    } else if gathered.rows >= limits.max_rows {
        Some(Close::Rows)
    } else if gathered.bytes >= limits.max_bytes {
        Some(Close::Bytes)
    } else if gathered.age >= limits.max_age {
        Some(Close::Age)
    } else if input_is_idle {
        Some(Close::Idle)
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
