//! Functions made of a module: [`contract::FunctionFactory`] and [`contract::UserFunction`].
//!
//! # Invariants
//! 1. An instance that trapped, or hit a limit, is dropped before the call returns.
//! 2. A turn gets back its batch, its state and its staging, whatever the guest did.

pub(crate) mod live;

use std::sync::Arc;

use contract::{FunctionFactory, InputBatch, ProcessError, Staged, Task, Turn, UserFunction};
use model::{Column, Descriptor, EventTime, ModuleDigest, OptionalColumn, StateId, Values, timer_of_origin};

use crate::bindings::tidegate::flow::types as wit;
use crate::check::{self, Violation};
use crate::function::live::Live;
use crate::host::repeats::repeated_bytes;
use crate::host::{Loan, Phase, at_most};
use crate::module::{Module, live_error};
use crate::{Error, Limits, caps, convert, failure};

/// Makes functions of a module, within the limits of a job.
#[derive(Clone, Debug)]
pub struct GuestFactory {
    module: Arc<Module>,
    limits: Limits,
}

impl GuestFactory {
    /// A factory for functions of `module`.
    ///
    /// # Errors
    /// [`Error::Limit`] for limits that cannot be kept.
    pub fn new(module: Arc<Module>, limits: Limits) -> Result<Self, Error> {
        limits.check()?;
        Ok(Self { module, limits })
    }

    /// The module.
    #[must_use]
    pub fn module(&self) -> &Arc<Module> {
        &self.module
    }

    /// A function, opened.
    ///
    /// # Errors
    /// [`Error::Refused`] when it refuses its config, [`Error::Open`] when it traps or exceeds a limit,
    /// [`Error::Instantiate`] when there is no room for it.
    pub fn open(&self, task: &Task) -> Result<GuestFunction, Error> {
        let mut function = GuestFunction {
            module: Arc::clone(&self.module),
            limits: self.limits.clone(),
            task: task.clone(),
            live: None,
            is_fresh: true,
            fuel_used: 0,
            pending: Staged::default(),
            scratch: Scratch::default(),
        };
        function.restart()?;
        Ok(function)
    }
}

impl FunctionFactory for GuestFactory {
    fn descriptor(&self) -> &Descriptor {
        self.module.descriptor()
    }

    fn digest(&self) -> Option<ModuleDigest> {
        Some(self.module.digest())
    }

    fn instantiate(&self, task: &Task) -> Result<Box<dyn UserFunction>, contract::Error> {
        Ok(Box::new(self.open(task)?))
    }
}

/// A function that runs in the sandbox.
pub struct GuestFunction {
    module: Arc<Module>,
    limits: Limits,
    task: Task,
    /// `None` after a failure, and when memory wore out: the next call makes another.
    live: Option<Live>,
    is_fresh: bool,
    fuel_used: u64,
    /// What was said outside of `process`; goes with the next turn.
    pending: Staged,
    scratch: Scratch,
}

/// Room for what has to be laid out anew for each batch.
#[derive(Default)]
struct Scratch {
    values: OptionalColumn,
    timestamps: Vec<i64>,
    /// Slots and times of the rows, as they are lent.
    row_slots: Vec<u32>,
    times: Vec<EventTime>,
}

impl GuestFunction {
    /// Whether there is an instance now. Without one the next call makes it.
    #[must_use]
    pub fn has_instance(&self) -> bool {
        self.live.is_some()
    }

    /// Linear memory of the instance, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.live.as_ref().map_or(0, Live::memory_in_use)
    }

    /// Makes an instance and opens it, in place of the old one.
    fn restart(&mut self) -> Result<(), Error> {
        self.live = None;
        let module = &self.module;
        let mut live = Live::start(module.sandbox(), module.pre(), module.shared_descriptor(), &self.limits)?;
        let (result, loan) = live.call_with(Phase::Open, &self.limits, Loan::default(), |function, store| {
            function.call_open(store, convert::task(&self.task))
        });
        self.fuel_used += live.take_fuel_used();
        result.map_err(|error| live_error(error, Error::Open))?.map_err(|mut message| {
            caps::cut(&mut message, caps::MESSAGE_BYTES);
            Error::Refused { message }
        })?;
        self.hold(loan.staged);
        self.live = Some(live);
        self.is_fresh = true;
        Ok(())
    }

    /// The instance, taken: whoever is sure that it is whole puts it back.
    fn take_live(&mut self) -> Result<Live, ProcessError> {
        if self.live.is_none() {
            self.restart().map_err(|error| ProcessError::Host(error.into()))?;
        }
        self.is_fresh = false;
        Ok(self.live.take().expect("made above when there was none"))
    }

    /// Puts an instance back that is whole, unless its memory wore out.
    fn keep(&mut self, live: Live) {
        if !self.limits.is_worn(live.memory_in_use()) {
            self.live = Some(live);
        }
    }

    /// Keeps what was said outside of `process`, as much as one batch may say.
    fn hold(&mut self, said: Staged) {
        if self.pending.logs.len() < caps::LOG_LINES {
            self.pending.logs.extend(said.logs);
        }
        if self.pending.metrics.len() < caps::METRIC_CALLS {
            self.pending.metrics.extend(said.metrics);
        }
    }

    fn lend(&mut self, turn: &mut Turn) -> Loan {
        let mut staged = std::mem::take(&mut turn.staged);
        staged.logs.append(&mut self.pending.logs);
        staged.metrics.append(&mut self.pending.metrics);
        let mut row_slots = std::mem::take(&mut self.scratch.row_slots);
        let mut times = std::mem::take(&mut self.scratch.times);
        row_slots.clear();
        times.clear();
        if !self.module.descriptor().states.is_empty() {
            row_slots.extend_from_slice(&turn.batch.slots);
            times.extend_from_slice(&turn.batch.records.timestamps);
        }
        Loan {
            state: turn.state.take(),
            keys: Arc::clone(&turn.batch.keys),
            rows: u32::try_from(turn.batch.records.len()).expect("a batch has fewer than 2^32 rows"),
            of_timers: !turn.batch.kinds.is_empty(),
            row_slots,
            times,
            staged,
            ..Loan::default()
        }
    }
}

impl UserFunction for GuestFunction {
    fn process(&mut self, turn: &mut Turn) -> Result<(), ProcessError> {
        let mut live = self.take_live()?;
        let loan = self.lend(turn);
        let rows = loan.rows;
        let batch = Laid::out(&turn.batch, self.module.descriptor(), &mut self.scratch);
        let (result, loan) = live.call_with(Phase::Process, &self.limits, loan, |function, store| {
            function.call_process(store, batch.as_wit())
        });
        turn.state = loan.state;
        turn.staged = loan.staged;
        (self.scratch.row_slots, self.scratch.times) = (loan.row_slots, loan.times);
        self.fuel_used += live.take_fuel_used();
        let answer = result?;
        if answer.is_ok() {
            let repeated = repeated_bytes(&turn.staged.emits, &turn.batch.records);
            let bytes = loan.staged_bytes.saturating_add(repeated);
            at_most("bytes, rows sent on again among them", bytes, caps::STAGED_BYTES)
                .map_err(broken_result(Phase::Process))?;
        }
        self.keep(live);
        answer.map_err(|bad| {
            let row = Some(bad.row).filter(|&row| row < rows);
            ProcessError::Function(failure::rejected(row, bad.message))
        })
    }

    fn assign(&mut self, values: &Values) -> Result<(OptionalColumn, Vec<EventTime>), ProcessError> {
        let mut live = self.take_live()?;
        let column = values.to_column();
        let (result, loan) = live.call_with(Phase::Assign, &self.limits, Loan::default(), |function, store| {
            function.call_assign(store, convert::optional(&column))
        });
        self.hold(loan.staged);
        self.fuel_used += live.take_fuel_used();
        let rows = values.len();
        let (keys, times) = match result? {
            Ok(assigned) => assigned,
            Err(bad) => {
                self.keep(live);
                let row = Some(bad.row).filter(|&row| (row as usize) < rows);
                return Err(ProcessError::Function(failure::rejected(row, bad.message)));
            }
        };
        let keys = check::optional("keys", keys).map_err(broken_result(Phase::Assign))?;
        check::length("keys", keys.len(), rows).map_err(broken_result(Phase::Assign))?;
        check::length("event times", times.len(), rows).map_err(broken_result(Phase::Assign))?;
        self.keep(live);
        Ok((keys, check::event_times(times)))
    }

    fn migrate(&mut self, state: StateId, from_version: u32, values: &Column) -> Result<Column, ProcessError> {
        let mut live = self.take_live()?;
        let result = live.call(Phase::Migrate, &self.limits, |function, store| {
            function.call_migrate(store, state.0, from_version, convert::column(values))
        });
        self.fuel_used += live.take_fuel_used();
        let migrated = result?.map_err(|message| ProcessError::Function(failure::rejected(None, message)))?;
        let migrated = check::column("values", migrated).map_err(broken_result(Phase::Migrate))?;
        check::length("values", migrated.len(), values.len()).map_err(broken_result(Phase::Migrate))?;
        self.keep(live);
        Ok(migrated)
    }

    fn renew(&mut self) -> Result<(), contract::Error> {
        Ok(self.restart()?)
    }

    fn is_fresh(&self) -> bool {
        self.is_fresh
    }

    fn fuel_used(&self) -> u64 {
        self.fuel_used
    }

    fn take_said(&mut self) -> Staged {
        std::mem::take(&mut self.pending)
    }
}

impl std::fmt::Debug for GuestFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GuestFunction")
            .field("module", &self.module)
            .field("operator", &self.task.operator)
            .finish_non_exhaustive()
    }
}

/// A result that breaks the contract.
fn broken_result(phase: Phase) -> impl FnOnce(Violation) -> ProcessError {
    move |violation| ProcessError::Function(failure::broken(phase, &violation))
}

/// A batch as it crosses: borrowed where it lies as the world wants it, laid out where not.
struct Laid<'a> {
    batch: &'a InputBatch,
    kinds: Vec<wit::RowKind>,
    values: &'a OptionalColumn,
    fields: Vec<wit::FieldColumnParam<'a>>,
    timestamps: &'a [i64],
    headers: Option<wit::HeadersParam<'a>>,
}

impl<'a> Laid<'a> {
    fn out(batch: &'a InputBatch, descriptor: &Descriptor, scratch: &'a mut Scratch) -> Self {
        let records = &batch.records;
        let of_timers = !batch.kinds.is_empty();
        scratch.values.clear();
        if descriptor.wants_values && !of_timers {
            records.values.iter().for_each(|value| scratch.values.push(value));
        }
        scratch.timestamps.clear();
        if of_timers {
            let fired = (0..records.len()).filter_map(|row| records.origins.get(row).and_then(timer_of_origin));
            scratch.timestamps.extend(fired.map(|(_, at)| at));
        } else {
            scratch.timestamps.extend(records.timestamps.iter().map(|time| time.0));
        }
        let headers = records.headers.as_ref().filter(|_| descriptor.wants_headers);
        Self {
            batch,
            kinds: batch.kinds.iter().copied().map(convert::row_kind).collect(),
            values: &scratch.values,
            fields: records.fields.iter().map(convert::field).collect(),
            timestamps: &scratch.timestamps,
            headers: headers.map(convert::headers),
        }
    }

    fn as_wit(&self) -> wit::InputBatch<'_> {
        wit::InputBatch {
            input: self.batch.input.0,
            kinds: &self.kinds,
            slots: &self.batch.slots,
            keys: convert::column(&self.batch.keys.keys),
            values: convert::optional(self.values),
            fields: &self.fields,
            timestamps: self.timestamps,
            headers: self.headers.clone(),
            watermark: self.batch.watermark.0,
            now: self.batch.now.0,
        }
    }
}
