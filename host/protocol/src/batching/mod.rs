//! When a batch that is being gathered is closed.
//!
//! # Invariants
//! 1. A batch with nothing in it is never closed: empty batches do not travel.
//! 2. With rows in it, a batch is closed at the latest when its first row is [`BatchLimits::max_age`] old.

use std::time::Duration;

/// When a batch is closed: at whichever comes first, or when the input is idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// Most rows.
    pub max_rows: usize,
    /// About the most bytes; a single larger record travels alone.
    pub max_bytes: usize,
    /// The longest a row waits for others.
    pub max_age: Duration,
}

impl BatchLimits {
    /// Enough rows that what is paid per batch vanishes, few enough for tables of a batch to stay in the
    /// cache nearest the core.
    pub const MAX_ROWS: usize = 4096;
    /// Fits a level 2 cache with its columns.
    pub const MAX_BYTES: usize = 256 * 1024;
    /// Far below what a person or a network notices, far above the cost of a batch.
    pub const MAX_AGE: Duration = Duration::from_millis(1);
}

impl Default for BatchLimits {
    fn default() -> Self {
        Self { max_rows: Self::MAX_ROWS, max_bytes: Self::MAX_BYTES, max_age: Self::MAX_AGE }
    }
}

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
