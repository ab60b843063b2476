//! Points in time, as records and the host give them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Milliseconds since 1970-01-01T00:00:00Z.
///
/// A function has no clock of its own: time comes with the records ([`Context::event_time`]), with
/// the progress of the stream ([`Context::watermark`]) or from the host ([`Context::now`]).
///
/// [`Context::event_time`]: crate::Context::event_time
/// [`Context::watermark`]: crate::Context::watermark
/// [`Context::now`]: crate::Context::now
///
/// ```
/// use std::time::Duration;
/// use tidegate::Timestamp;
///
/// let noon = Timestamp::from_millis(1_700_000_000_000);
/// assert_eq!(noon.plus(Duration::from_secs(60)).millis(), 1_700_000_060_000);
/// assert_eq!(noon.plus(Duration::from_secs(60)).since(noon), Some(Duration::from_secs(60)));
/// assert_eq!(noon.since(noon.plus(Duration::from_secs(60))), None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The mark for "none" on the wire.
    pub(crate) const UNKNOWN: i64 = i64::MIN;

    /// The last point there is: the watermark after the end of the input.
    pub const END: Self = Self(i64::MAX);

    /// The point `millis` milliseconds after 1970 began.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970 began.
    #[must_use]
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// The point `span` later; the last one there is where that would be beyond it.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)))
    }

    /// The point `span` earlier; the first one there is where that would be before it.
    #[must_use]
    pub fn minus(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)))
    }

    /// How long ago `earlier` was; `None` where it is later than this.
    #[must_use]
    pub fn since(self, earlier: Self) -> Option<Duration> {
        let millis = self.0.checked_sub(earlier.0)?;
        u64::try_from(millis).ok().map(Duration::from_millis)
    }

    /// From the wire, where the smallest number stands for "none".
    pub(crate) fn known(millis: i64) -> Option<Self> {
        (millis != Self::UNKNOWN).then_some(Self(millis))
    }
}
