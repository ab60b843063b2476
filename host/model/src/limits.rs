//! The numbers of a job that several rooms must agree on: their bounds and their defaults.

use std::time::Duration;

/// Most subtasks of one operator: every one is a thread, and these are more than the cores of any host
/// it is meant for.
pub const MAX_PARALLELISM: u32 = 256;

/// Most key groups of a job: per-group costs (an index, a line in a manifest) stay bounded, and every
/// group number and every end of a range fits 16 bits.
pub const MAX_KEY_GROUPS: u16 = 1 << 15;

/// Key groups of a job that does not say: enough to spread over 128 subtasks later, and few enough that
/// their tables cost nothing.
pub const DEFAULT_KEY_GROUPS: u16 = 128;

/// Bytes that wait between two subtasks unless the job says otherwise: four full batches, so that a
/// sender never waits for a receiver that is merely between two of them.
pub const DEFAULT_QUEUE_BYTES: usize = 4 * BatchLimits::MAX_BYTES;

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
