//! What a job may set.

use std::time::Duration;

use crate::Error;

/// Limits of one function, set by its job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Linear memory of an instance, in bytes. Default 64 MiB: a batch is 256 KiB, so there is room for
    /// hundreds of copies, and a thousand instances still fit a host.
    pub memory_bytes: u64,
    /// Fuel one record may use; a batch gets as much and is halved when it is not enough. `None`: not
    /// counted. Default 10⁹, about half a second: far above honest work, far below a stuck loop.
    pub fuel_per_record: Option<u64>,
    /// Wall-clock time of one call, the backstop behind fuel. Default 5 s, ten times what the fuel lasts,
    /// so that a busy machine does not decide.
    pub time_per_batch: Duration,
}

impl Limits {
    /// Most linear memory a job may ask for: what 32-bit memory can address.
    pub const MAX_MEMORY_BYTES: u64 = 4 << 30;

    /// Share of `memory_bytes` above which an instance is replaced after a batch, in percent: memory
    /// never shrinks, and an instance that grew this far is more likely to fail in the next batch than
    /// a new one.
    pub const RECYCLE_PERCENT: u64 = 75;

    /// Whether an instance with this much memory is to be replaced.
    pub(crate) fn is_worn(&self, memory_bytes: u64) -> bool {
        memory_bytes.saturating_mul(100) > self.memory_bytes.saturating_mul(Self::RECYCLE_PERCENT)
    }

    /// Refuses what cannot be kept.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let refuse = |setting, value: String, expected| Error::Limit { setting, value, expected };
        if self.memory_bytes == 0 || self.memory_bytes > Self::MAX_MEMORY_BYTES {
            return Err(refuse("memory", self.memory_bytes.to_string(), "1 to 4294967296 bytes"));
        }
        if self.fuel_per_record == Some(0) {
            return Err(refuse("fuel_per_record", "0".to_owned(), "at least 1"));
        }
        if self.time_per_batch.is_zero() {
            return Err(refuse("time_per_batch", "0s".to_owned(), "more than no time"));
        }
        Ok(())
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory_bytes: 64 << 20, fuel_per_record: Some(1_000_000_000), time_per_batch: Duration::from_secs(5) }
    }
}
