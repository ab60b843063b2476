//! Between the contract's calls, which carry batches, and a function, which sees records.
//!
//! # Invariants
//! 1. A batch starts from nothing: what an earlier one left behind, also one that failed, is dropped.
//! 2. All writes leave at the end of the batch, after its last record.
//! 3. The first record that fails ends the batch; the host undoes it and finds the one to blame.

use std::cell::RefCell;
use std::panic::PanicHookInfo;

use crate::bindings::types::{BadRecord, Column, Descriptor, InputBatch, OptionalColumn, RowKind};
use crate::error::Flaw;
use crate::function::{Assignment, Function, Operator, Row};
use crate::output::Outbox;
use crate::timer::{Requests, Timer};
use crate::{Context, Error, Input, OutputKind, Result, Task, Timestamp, host, input};

/// An instance at work.
pub struct Runner<F> {
    function: F,
    main: Outbox,
    timers: Requests,
}

/// What the function says of itself.
#[must_use]
pub fn describe<F: Operator<K>, K>() -> Descriptor {
    host::report_panics();
    let mut descriptor = Descriptor {
        inputs: F::In::ports(),
        outputs: F::Out::port(input::MAIN).into_iter().collect(),
        states: Vec::new(),
        keyed: F::KEYED,
        wants_values: F::In::WANTS_VALUES,
        wants_headers: F::WANTS_HEADERS,
        assigns: F::ASSIGNS,
        timers: F::TIMERS,
        metrics: Vec::new(),
    };
    F::describe(&mut descriptor);
    descriptor
}

impl<F: Function> Runner<F> {
    /// An instance for a task.
    ///
    /// # Errors
    /// When the configuration is refused.
    pub fn open<K>(task: &Task) -> Result<Self>
    where
        F: Operator<K>,
    {
        host::report_panics();
        let first_output = u16::from(F::Out::port(input::MAIN).is_some());
        let mut function = F::create(&task.config, first_output)?;
        Operator::open(&mut function, task)?;
        Ok(Self { function, main: Outbox::new(0, F::Out::columns()), timers: Requests::default() })
    }

    /// Handles a batch.
    ///
    /// # Errors
    /// The first record that fails.
    pub fn process<K>(&mut self, batch: &InputBatch) -> Result<(), BadRecord>
    where
        F: Operator<K>,
    {
        self.function.begin_batch(batch.keys.len());
        self.main.reset();
        self.timers.clear();
        let handled =
            if batch.kinds.iter().all(|kind| *kind == RowKind::Entry) { self.rows(batch) } else { self.fired(batch) };
        handled.map_err(bad_record)?;
        if F::TIMERS {
            self.timers.send();
        }
        self.main.finish().and_then(|()| self.function.finish_batch()).map_err(bad_record)
    }

    /// Handles the timers of a batch, one after the other.
    fn fired<K>(&mut self, batch: &InputBatch) -> Result<(), Flaw>
    where
        F: Operator<K>,
    {
        let mut cx = Context::new(batch, &mut self.main, &mut self.timers);
        for ((row, kind), at) in (0u32..).zip(&batch.kinds).zip(&batch.timestamps) {
            let timer = Timer::of_row(*kind, *at).expect("a batch is made of records, or of timers");
            let time = if *kind == RowKind::EventTimer { *at } else { batch.watermark };
            self.function.select(Row { number: row, slot: slot_of(batch, row), time });
            cx.select(row);
            self.function.on_timer(timer, &mut cx).map_err(|error| Flaw { row, error })?;
        }
        Ok(())
    }

    /// Handles the records of a batch, one after the other.
    fn rows<K>(&mut self, batch: &InputBatch) -> Result<(), Flaw>
    where
        F: Operator<K>,
    {
        let reader = F::In::open(batch).unwrap_or_else(|error| panic!("{error}"));
        let mut cx = Context::new(batch, &mut self.main, &mut self.timers);
        let rows = u32::try_from(batch.timestamps.len()).expect("a batch has fewer than 2^32 rows");
        for row in 0..rows {
            let slot = if F::KEYED { slot_of(batch, row) } else { 0 };
            let time = batch.timestamps.get(row as usize).copied().unwrap_or(Timestamp::UNKNOWN);
            self.function.select(Row { number: row, slot, time });
            cx.select(row);
            F::In::read(&reader, row as usize)
                .and_then(|record| self.function.on_record(record, &mut cx))
                .map_err(|error| Flaw { row, error })?;
        }
        Ok(())
    }

    /// Key and event time of each value.
    ///
    /// # Errors
    /// The first value that has none.
    pub fn assign(&self, values: &OptionalColumn) -> Result<(OptionalColumn, Vec<i64>), BadRecord> {
        let mut keys = OptionalColumn::new();
        let mut times = Vec::with_capacity(values.len());
        let mut key = Vec::new();
        for index in 0..values.len() {
            let row = u32::try_from(index).expect("a batch has fewer than 2^32 rows");
            let mut to = Assignment { key: &mut key, has_key: false, event_time: None };
            self.function.assign(values.get(index), &mut to).map_err(|error| bad_record(Flaw { row, error }))?;
            let Assignment { has_key, event_time, .. } = to;
            keys.push(has_key.then_some(key.as_slice()));
            times.push(event_time.map_or(Timestamp::UNKNOWN, Timestamp::millis));
        }
        Ok((keys, times))
    }
}

/// Rewrites stored values of an older version.
///
/// # Errors
/// When the function does not say how, or cannot.
pub fn migrate<F: Function>(state: u16, from_version: u32, values: &Column) -> Result<Column, String> {
    let mut migrated = Column::new();
    for value in values.iter() {
        F::migrate(state, from_version, value, &mut migrated.bytes).map_err(|error| error.message().to_owned())?;
        migrated.close_item();
    }
    Ok(migrated)
}

/// The answer of a function without `assign`.
///
/// # Errors
/// Always.
pub fn no_assign() -> Result<()> {
    Err(Error::new("the function does not assign keys: it lacks `#[tidegate::function(assign)]`"))
}

/// The one instance of a component.
pub struct Instance<F>(RefCell<Option<Runner<F>>>);

impl<F: Function> Default for Instance<F> {
    fn default() -> Self {
        Self::new()
    }
}

impl<F: Function> Instance<F> {
    /// No instance yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(RefCell::new(None))
    }

    /// Makes the instance.
    ///
    /// # Errors
    /// When the configuration is refused.
    pub fn open<K>(&self, task: &Task) -> Result<(), String>
    where
        F: Operator<K>,
    {
        let runner = Runner::open(task).map_err(|error| error.message().to_owned())?;
        self.0.replace(Some(runner));
        Ok(())
    }

    /// See [`Runner::process`].
    ///
    /// # Errors
    /// The first record that fails.
    pub fn process<K>(&self, batch: &InputBatch) -> Result<(), BadRecord>
    where
        F: Operator<K>,
    {
        self.0.borrow_mut().as_mut().expect("the host opens an instance before it passes a batch").process(batch)
    }

    /// See [`Runner::assign`].
    ///
    /// # Errors
    /// The first value that has none.
    pub fn assign(&self, values: &OptionalColumn) -> Result<(OptionalColumn, Vec<i64>), BadRecord> {
        self.0.borrow().as_ref().expect("the host opens an instance before it passes values").assign(values)
    }
}

/// What a panic says, and where.
#[must_use]
pub fn panic_text(panic: &PanicHookInfo<'_>) -> String {
    let text = panic.payload_as_str().unwrap_or("the function panicked");
    match panic.location() {
        Some(place) => format!("{text} at {}:{}", place.file(), place.line()),
        None => text.to_owned(),
    }
}

#[inline]
fn slot_of(batch: &InputBatch, row: u32) -> u32 {
    *batch.slots.get(row as usize).expect("the host gives every row of a keyed batch a slot")
}

fn bad_record(flaw: Flaw) -> BadRecord {
    BadRecord { row: flaw.row, message: flaw.error.message().to_owned() }
}
