//! The host side of the imports: what a store owns while a guest runs.
//!
//! # Flow of a call
//! [`Host::enter`] names the phase and takes the state and the staging of the turn → the guest runs and
//! its imports land in the files beside this one → [`Host::leave`] gives everything back.
//!
//! # Invariants
//! 1. Outside of `process` there is no state to read and nothing is staged but log lines.
//! 2. Every import looks at the deadline first, so time spent in host calls counts.
//! 3. An import refuses by trapping with a [`Refusal`]; the guest never sees it.

mod emit;
pub(crate) mod repeats;
mod state;
mod telemetry;
mod timers;

use std::sync::Arc;
use std::time::Duration;

use contract::{KeyedState, SlotKeys, Staged};
use model::{Descriptor, EventTime};

use crate::bindings::tidegate::flow::types;
use crate::caps;
use crate::check::Violation;
use crate::engine::{TickCount, ticks_in};
use crate::limiter::Limiter;

/// Which export is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Start functions of the core modules.
    Start,
    Describe,
    Open,
    Assign,
    Process,
    Migrate,
}

impl Phase {
    /// What messages call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Describe => "describe",
            Self::Open => "open",
            Self::Assign => "assign",
            Self::Process => "process",
            Self::Migrate => "migrate",
        }
    }
}

/// Why an import trapped.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    /// The guest broke the contract.
    #[error("{call}: {violation}")]
    Violation { call: &'static str, violation: Violation },
    /// More state than a guest could take.
    #[error("{call}: more than {most} bytes of state in one call")]
    StateTooLarge { call: &'static str, most: usize },
    /// Time is up.
    #[error("deadline")]
    Deadline,
    /// The state behind us failed.
    #[error("{0}")]
    Host(contract::Error),
}

/// What a batch has used of the caps.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    staged_bytes: usize,
    rows_out: usize,
    state_writes: usize,
    timers: usize,
    staging_calls: usize,
    metric_calls: usize,
    log_bytes: usize,
    log_lines: usize,
    dropped_logs: usize,
    dropped_metrics: usize,
}

/// The data of a store.
pub(crate) struct Host {
    pub(crate) limiter: Limiter,
    /// What the guest said before it trapped.
    pub(crate) panic: Option<String>,
    phase: Phase,
    descriptor: Arc<Descriptor>,
    state: Option<Box<dyn KeyedState>>,
    keys: Arc<SlotKeys>,
    rows: u32,
    /// Whether the rows are timers.
    of_timers: bool,
    /// The slot of each row, and its event time, for a function that keeps state.
    row_slots: Vec<u32>,
    times: Vec<EventTime>,
    staged: Staged,
    usage: Usage,
    ticks: TickCount,
    deadline: u64,
}

/// What the engine lends to a call of `process`.
#[derive(Default)]
pub(crate) struct Loan {
    pub(crate) state: Option<Box<dyn KeyedState>>,
    pub(crate) keys: Arc<SlotKeys>,
    pub(crate) rows: u32,
    /// Whether the rows are timers.
    pub(crate) of_timers: bool,
    /// The slot of each row; nothing where no state is kept.
    pub(crate) row_slots: Vec<u32>,
    /// The event time of each, likewise.
    pub(crate) times: Vec<EventTime>,
    pub(crate) staged: Staged,
    /// What was staged, as far as it was counted when it came. Not lent: it comes back.
    pub(crate) staged_bytes: usize,
}

impl Host {
    pub(crate) fn new(descriptor: Arc<Descriptor>, memory_bytes: u64, ticks: TickCount) -> Self {
        Self {
            limiter: Limiter::new(memory_bytes),
            panic: None,
            phase: Phase::Start,
            descriptor,
            state: None,
            keys: Arc::default(),
            rows: 0,
            of_timers: false,
            row_slots: Vec::new(),
            times: Vec::new(),
            staged: Staged::default(),
            usage: Usage::default(),
            deadline: ticks.now(),
            ticks,
        }
    }

    /// A call begins.
    pub(crate) fn enter(&mut self, phase: Phase, time: Duration, loan: Loan) {
        self.phase = phase;
        self.deadline = self.ticks.now().saturating_add(ticks_in(time));
        self.panic = None;
        self.limiter.forget();
        self.usage = Usage::default();
        self.state = loan.state;
        self.keys = loan.keys;
        self.rows = loan.rows;
        self.of_timers = loan.of_timers;
        self.row_slots = loan.row_slots;
        self.times = loan.times;
        self.staged = loan.staged;
    }

    /// The call is over: gives back what was lent, with what was staged.
    pub(crate) fn leave(&mut self) -> Loan {
        self.note_dropped();
        Loan {
            state: self.state.take(),
            keys: std::mem::take(&mut self.keys),
            rows: std::mem::take(&mut self.rows),
            of_timers: std::mem::take(&mut self.of_timers),
            row_slots: std::mem::take(&mut self.row_slots),
            times: std::mem::take(&mut self.times),
            staged: std::mem::take(&mut self.staged),
            staged_bytes: self.usage.staged_bytes,
        }
    }

    /// Whether time is up, as far as ticks tell.
    pub(crate) fn is_overdue(&self) -> bool {
        self.ticks.now() >= self.deadline
    }

    fn check_deadline(&self) -> Result<(), Refusal> {
        if self.is_overdue() { Err(Refusal::Deadline) } else { Ok(()) }
    }

    /// Lets an import through that only `process` may call.
    fn admit(&self, call: &'static str) -> Result<(), Refusal> {
        self.check_deadline()?;
        if self.phase == Phase::Process {
            return Ok(());
        }
        let violation = Violation::Unavailable("may be called in `process` only");
        Err(Refusal::Violation { call, violation })
    }

    /// Counts a call that stages something.
    fn count_staging(&mut self, bytes: usize) -> Result<(), Violation> {
        let usage = &mut self.usage;
        usage.staging_calls += 1;
        usage.staged_bytes = usage.staged_bytes.saturating_add(bytes);
        at_most("calls of emit, store and timers", usage.staging_calls, caps::STAGING_CALLS)?;
        at_most("bytes", usage.staged_bytes, caps::STAGED_BYTES)
    }
}

pub(crate) fn at_most(what: &'static str, found: usize, most: usize) -> Result<(), Violation> {
    if found > most { Err(Violation::TooMany { what, found, most }) } else { Ok(()) }
}

/// Turns a violation in `call` into a trap.
fn refuse(call: &'static str) -> impl FnOnce(Violation) -> Refusal {
    move |violation| Refusal::Violation { call, violation }
}

impl types::Host for Host {}
