//! What a function tells its operators: log lines, counters, gauges. Nothing here affects output.

use crate::bindings::telemetry::Level;
use crate::bindings::types::{MetricDescriptor, MetricKind};
use crate::error::Flaw;
use crate::function::{Part, Row};
use crate::host;

/// How important a log line is; the macros [`info!`](crate::info) and its siblings give it.
///
/// ```
/// assert!(tidegate::LogLevel::Warn > tidegate::LogLevel::Info);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Finest.
    Trace,
    /// For debugging.
    Debug,
    /// For the curious.
    Info,
    /// Something odd.
    Warn,
    /// Something wrong.
    Error,
}

impl LogLevel {
    pub(crate) fn wire(self) -> Level {
        match self {
            Self::Trace => Level::Trace,
            Self::Debug => Level::Debug,
            Self::Info => Level::Info,
            Self::Warn => Level::Warn,
            Self::Error => Level::Error,
        }
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn from_wire(level: Level) -> Self {
        match level {
            Level::Trace => Self::Trace,
            Level::Debug => Self::Debug,
            Level::Info => Self::Info,
            Level::Warn => Self::Warn,
            Level::Error => Self::Error,
        }
    }
}

/// Logs something of interest about the current record; takes the context, then what `format!` takes.
///
/// A line is formatted and crosses to the host at once, so do not log every record.
///
/// ```
/// use tidegate::prelude::*;
///
/// #[tidegate::function]
/// struct Noisy;
///
/// impl Unkeyed for Noisy {
///     type In = Utf8;
///     type Out = ();
///
///     fn on_record(&mut self, line: &str, cx: &mut Context<Self>) -> Result {
///         info!(cx, "{} bytes", line.len());
///         Ok(())
///     }
/// }
///
/// # use tidegate::testing::{Harness, Record};
/// let run = Harness::<Noisy>::new().run([Record::text("hey")]);
/// assert_eq!(run.logs()[0].message(), "3 bytes");
/// ```
#[macro_export]
macro_rules! info {
    ($cx:expr, $($message:tt)+) => {
        $cx.log($crate::LogLevel::Info, &::std::format!($($message)+))
    };
}

/// Logs the finest detail about the current record, like [`info!`](crate::info).
#[macro_export]
macro_rules! trace {
    ($cx:expr, $($message:tt)+) => {
        $cx.log($crate::LogLevel::Trace, &::std::format!($($message)+))
    };
}

/// Logs a detail about the current record, like [`info!`](crate::info).
#[macro_export]
macro_rules! debug {
    ($cx:expr, $($message:tt)+) => {
        $cx.log($crate::LogLevel::Debug, &::std::format!($($message)+))
    };
}

/// Logs something odd about the current record, like [`info!`](crate::info).
#[macro_export]
macro_rules! warn {
    ($cx:expr, $($message:tt)+) => {
        $cx.log($crate::LogLevel::Warn, &::std::format!($($message)+))
    };
}

/// Logs something wrong about the current record, like [`info!`](crate::info).
#[macro_export]
macro_rules! error {
    ($cx:expr, $($message:tt)+) => {
        $cx.log($crate::LogLevel::Error, &::std::format!($($message)+))
    };
}

/// A metric as a field of a function: `#[metric] duplicates: Count`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a metric",
    note = "a field with `#[metric]` is a Count or a Gauge"
)]
#[doc(hidden)]
pub trait Metric: Part {
    /// How it behaves.
    const KIND: MetricKind;
    /// The metric under its number.
    fn create(id: u16) -> Self;
    /// What the descriptor says of it.
    #[must_use]
    fn describe(name: &str) -> MetricDescriptor {
        MetricDescriptor { name: name.to_owned(), kind: Self::KIND }
    }
}

/// A counter shown to operators, named like the field that holds it.
///
/// It counts since the job started, over all keys; for a number per key that is part of the result,
/// keep a [`Counter`](crate::Counter) as state. The [crate page](crate) has an example.
pub struct Count {
    id: u16,
    pending: u64,
}

impl Count {
    /// Adds `amount`.
    #[inline]
    pub fn add(&mut self, amount: u64) {
        self.pending = self.pending.saturating_add(amount);
    }
}

impl Metric for Count {
    const KIND: MetricKind = MetricKind::Counter;
    fn create(id: u16) -> Self {
        Self { id, pending: 0 }
    }
}

impl Part for Count {
    fn begin_batch(&mut self, _: usize) {
        self.pending = 0;
    }
    #[inline]
    fn select(&mut self, _: Row) {}
    #[expect(clippy::cast_precision_loss, reason = "a batch counts far below 2^53")]
    fn finish_batch(&mut self) -> Result<(), Flaw> {
        if self.pending > 0 {
            host::add(self.id, self.pending as f64);
            self.pending = 0;
        }
        Ok(())
    }
}

/// A number shown to operators as it is now, named like the field that holds it.
///
/// ```
/// use tidegate::prelude::*;
///
/// #[tidegate::function]
/// struct Sizes {
///     #[metric]
///     last_bytes: Gauge,
/// }
///
/// impl Unkeyed for Sizes {
///     type In = Bytes;
///     type Out = Forward;
///
///     fn on_record(&mut self, value: &[u8], cx: &mut Context<Self>) -> Result {
///         self.last_bytes.set(value.len() as f64);
///         cx.forward();
///         Ok(())
///     }
/// }
///
/// # use tidegate::testing::{Harness, Record};
/// let mut sizes = Harness::<Sizes>::new();
/// sizes.run([Record::text("a"), Record::text("bcd")]);
/// assert_eq!(sizes.metric("last_bytes"), 3.0);
/// ```
pub struct Gauge {
    id: u16,
    pending: Option<f64>,
}

impl Gauge {
    /// Sets the number; the last one of a batch is shown.
    #[inline]
    pub fn set(&mut self, value: f64) {
        self.pending = Some(value);
    }
}

impl Metric for Gauge {
    const KIND: MetricKind = MetricKind::Gauge;
    fn create(id: u16) -> Self {
        Self { id, pending: None }
    }
}

impl Part for Gauge {
    fn begin_batch(&mut self, _: usize) {
        self.pending = None;
    }
    #[inline]
    fn select(&mut self, _: Row) {}
    fn finish_batch(&mut self) -> Result<(), Flaw> {
        if let Some(value) = self.pending.take() {
            host::set(self.id, value);
        }
        Ok(())
    }
}
