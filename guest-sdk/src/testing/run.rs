//! What came out.

use std::collections::BTreeMap;

use crate::testing::Emitted;
use crate::{LogLevel, Timer};

/// What a run brought about; see the [module](super).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    pub(super) outputs: BTreeMap<String, Vec<Emitted>>,
    pub(super) bad_records: Vec<BadRecord>,
    pub(super) logs: Vec<LogLine>,
}

impl Run {
    /// What was sent to the main output, in order.
    #[must_use]
    pub fn main(&self) -> &[Emitted] {
        self.output("main")
    }

    /// What was sent to the output of that name, in order.
    ///
    /// # Panics
    /// When the function has no such output.
    #[must_use]
    pub fn output(&self, name: &str) -> &[Emitted] {
        let known = || self.outputs.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        self.outputs.get(name).unwrap_or_else(|| panic!("there is no output `{name}`: the function has {}", known()))
    }

    /// The records given up on, in order, and the timers.
    #[must_use]
    pub fn bad_records(&self) -> &[BadRecord] {
        &self.bad_records
    }

    /// The lines logged.
    #[must_use]
    pub fn logs(&self) -> &[LogLine] {
        &self.logs
    }
}

/// A record given up on; see the [module](super).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRecord {
    pub(super) index: usize,
    pub(super) timer: Option<Timer>,
    pub(super) message: String,
}

impl BadRecord {
    /// Which record of the run it was, from 0; which of its timers, if it was one.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// The timer that it was; `None` for a record.
    #[must_use]
    pub fn timer(&self) -> Option<Timer> {
        self.timer
    }

    /// Why.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// A line logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    pub(super) level: LogLevel,
    pub(super) index: Option<usize>,
    pub(super) message: String,
}

impl LogLine {
    /// How important.
    #[must_use]
    pub fn level(&self) -> LogLevel {
        self.level
    }

    /// Which record of the run it is about, from 0.
    #[must_use]
    pub fn index(&self) -> Option<usize> {
        self.index
    }

    /// What it says.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}
