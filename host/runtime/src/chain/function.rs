//! An operator that runs a user function.
//!
//! A batch becomes one turn: slots, fields, state. When the turn fails, nothing of it counts, and
//! [`protocol::isolation`] says which rows to try next; what succeeds takes effect before what follows is
//! tried, so that every record sees the state its predecessors left.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use contract::{
    Emit, Failure, FailureKind, InputBatch, KeyedState, ProcessError, RowKind, SlotKeys, Turn, UserFunction,
};
use fail::fail_point;
use model::{Barrier, EventTime, HostTime, InputId, RecordBatch, TimerClock, timer_of_origin};
use protocol::host_clock::HostClock;
use protocol::isolation::{Course, Outcome, Pace, Search, Step};

use super::barriers::Arrival;
use super::context::{Bad, Context, Flow, Responsible, Wrong};
use super::emits::{self, Leaving, OutputPort, Records};
use super::keeping::Keeping;
use super::logs::LogBook;
use super::slots::{SlotTable, restore};
use super::timers::{self, TimerTable};
use super::times::{Cutter, Prepared};
use crate::epochs::handed::{HandedPart, StateNow};

/// Bytes of dead state that are reclaimed after a batch: several times what a full batch can write, so
/// that reclaiming keeps ahead, and well below a millisecond of copying.
const MAINTAIN_BYTES: usize = 512 * 1024;

/// State statistics are looked at once in so many batches: they are for people.
const BATCHES_PER_STATS: u32 = 32;

/// See the module.
pub(crate) struct FunctionOperator {
    pub(crate) responsible: Responsible,
    function: Box<dyn UserFunction>,
    pub(super) is_keyed: bool,
    /// Whether some of its state expires by event time.
    pub(super) looks_by_event_time: bool,
    renew_instances: bool,
    pub(super) outputs: Vec<OutputPort>,
    /// `None` for a function that sets none.
    pub(super) timers: Option<Box<TimerTable>>,
    pub(super) watermark: EventTime,
    pub(super) slots: SlotTable,
    pub(super) turn: Turn,
    pub(super) prepared: Option<Prepared>,
    pub(super) cutter: Cutter,
    pub(super) now: HostTime,
    pub(super) clock: HostClock,
    logs: LogBook,
    batches_until_stats: u32,
    pace: Pace,
    keeping: Option<Keeping>,
}

/// What a function operator is made of.
pub(crate) struct FunctionParts {
    pub(crate) responsible: Responsible,
    pub(crate) function: Box<dyn UserFunction>,
    pub(crate) is_keyed: bool,
    /// Whether some of its state expires by event time.
    pub(crate) looks_by_event_time: bool,
    pub(crate) renew_instances: bool,
    pub(crate) outputs: Vec<OutputPort>,
    pub(crate) state: Option<Box<dyn KeyedState>>,
    /// Its timers; `None` for a function that sets none.
    pub(crate) timers: Option<Box<TimerTable>>,
    /// How its state is kept; `None` for a function without state, or in a job without checkpoints.
    pub(crate) keeping: Option<Keeping>,
    /// Processing time.
    pub(crate) clock: HostClock,
    pub(crate) logs: LogBook,
}

/// What the rows of a turn are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    pub(super) input: InputId,
    pub(super) kind: RowKind,
}

impl Rows {
    /// Records that came on `input`.
    pub(super) fn records(input: InputId) -> Self {
        Self { input, kind: RowKind::Entry }
    }
}

impl FunctionOperator {
    pub(crate) fn new(parts: FunctionParts) -> Self {
        Self {
            responsible: parts.responsible,
            function: parts.function,
            is_keyed: parts.is_keyed,
            looks_by_event_time: parts.looks_by_event_time,
            prepared: None,
            cutter: Cutter::default(),
            renew_instances: parts.renew_instances,
            outputs: parts.outputs,
            timers: parts.timers,
            watermark: EventTime::UNKNOWN,
            slots: SlotTable::default(),
            turn: Turn { state: parts.state, ..Turn::default() },
            now: parts.clock.last(),
            clock: parts.clock,
            logs: parts.logs,
            batches_until_stats: 0,
            pace: Pace::default(),
            keeping: parts.keeping,
        }
    }

    /// Handles a batch that came on `input`, whole: every row is applied or dealt with.
    pub(crate) fn process(&mut self, input: InputId, batch: RecordBatch, context: &mut Context) -> Flow {
        let metrics = &self.responsible.metrics;
        metrics.records_in.add_len(batch.len());
        metrics.bytes_in.add_len(batch.values.total_bytes());
        if self.is_keyed && batch.routing.is_none() {
            return Err(self.responsible.broken("a batch of a keyed function came without keys"));
        }
        self.read_clock(context);
        if self.looks_by_event_time {
            self.process_by_time(input, batch, context)?;
        } else {
            self.process_part(Rows::records(input), batch, context)?;
        }
        self.learn_completed(context);
        self.after_batch()
    }

    /// Handles rows that see the same of the state.
    pub(super) fn process_part(&mut self, of: Rows, batch: RecordBatch, context: &mut Context) -> Flow {
        let rows = u32::try_from(batch.len()).expect("a batch has fewer than 2^32 rows");
        let mut search = Search::in_pieces(rows, self.pace.most());
        let mut course = Course::default();
        let mut whole = batch;
        let mut failure = None;
        loop {
            match search.next() {
                Step::Done => break,
                Step::Condemn { row } => {
                    course.had_bad_row = true;
                    let failure: Failure = failure.take().expect("a row is condemned for the failure before");
                    self.condemn(of, &whole, row, &failure, context)?;
                }
                Step::Try { rows: tried, fresh } => {
                    if fresh {
                        self.renew()?;
                    }
                    let fresh = self.function.is_fresh();
                    let is_whole = tried.start == 0 && tried.end == rows;
                    if !is_whole {
                        self.unprepare(&mut whole);
                    }
                    let part =
                        if is_whole { mem::take(&mut whole) } else { whole.select(&tried.clone().collect::<Vec<_>>()) };
                    match self.attempt(of, part, context)? {
                        Attempt::Applied => {
                            course.longest_applied = course.longest_applied.max(tried.end - tried.start);
                            search.report(Outcome::Applied);
                        }
                        Attempt::Failed(part, found) => {
                            if is_whole {
                                whole = part;
                            }
                            self.responsible.metrics.failed_calls.add(1);
                            course.was_over_limit |= is_limit(found.kind) && tried.end - tried.start > 1;
                            let hint = found.row.and_then(|row| row.checked_add(tried.start));
                            failure = Some(found);
                            search.report(Outcome::Failed { hint, fresh });
                        }
                    }
                }
            }
        }
        self.pace.note(course);
        Ok(())
    }

    /// Hands over the state as it is and sends the barrier.
    pub(crate) fn barrier(&mut self, barrier: Barrier, arrival: Arrival, context: &mut Context) -> Flow {
        let began = context.elapsed();
        fail_point!("before-snapshot");
        self.learn_completed(context);
        // Also where no batch came since the last barrier: what expires by the host's clock is purged.
        let clock = context.control.clock();
        self.now = self.clock.read(clock.now(), clock.elapsed());
        let kept = match (&mut self.turn.state, &mut self.keeping) {
            (Some(state), Some(keeping)) => {
                state.time_passed(self.now);
                Some(keeping.keep(state.as_mut(), barrier).map_err(|error| self.responsible.seam(&error))?)
            }
            _ => None,
        };
        if let (Some(kept), Some(epochs)) = (&kept, &context.epochs) {
            epochs.add_to_backlog(kept.delta_bytes());
        }
        let what = HandedPart::State(StateNow { now: self.now, kept });
        self.responsible.hand_over(barrier, arrival, began, what, context);
        fail_point!("after-snapshot");
        let mut lanes = self.outputs.iter_mut().flat_map(|port| &mut port.lanes);
        lanes.try_for_each(|lane| lane.barrier(barrier, context))
    }

    /// Lets the table purge what the last complete checkpoint allows.
    pub(super) fn learn_completed(&mut self, context: &Context) {
        if let (Some(state), Some(keeping), Some(epochs)) = (&mut self.turn.state, &mut self.keeping, &context.epochs)
            && let Some(watermark) = keeping.completed(epochs.completed())
        {
            state.completed(watermark);
        }
    }

    pub(crate) fn tick(&mut self, now: Duration, is_idle: bool, context: &mut Context) -> Flow {
        let mut lanes = self.outputs.iter_mut().flat_map(|port| &mut port.lanes);
        lanes.try_for_each(|lane| lane.tick(now, is_idle, context))
    }

    pub(crate) fn close(&mut self, context: &mut Context) -> Flow {
        if let Some(state) = &self.turn.state {
            self.responsible.metrics.note_state(state.stats());
        }
        self.logs.close();
        let mut lanes = self.outputs.iter_mut().flat_map(|port| &mut port.lanes);
        lanes.try_for_each(|lane| lane.close(context))
    }

    /// One call of the function, and all its effects if it succeeds. Its log lines are written unless its rows
    /// are tried again, which says the same once more.
    fn attempt(&mut self, of: Rows, part: RecordBatch, context: &mut Context) -> Flow<Attempt> {
        let rows = part.len();
        let had_state = self.turn.state.is_some();
        let is_last_try = rows == 1 && self.function.is_fresh();
        let keys = self.fill_turn(of, part);
        let called = self.function.process(&mut self.turn);
        if had_state && self.turn.state.is_none() {
            return Err(self.responsible.broken("the function did not give its state back"));
        }
        let found = match called {
            Ok(()) => None,
            Err(ProcessError::Function(failure)) => Some(failure),
            Err(ProcessError::Host(error)) => {
                self.logs.write(&mut self.turn.staged.logs, &self.turn.batch.records, context);
                return Err(self.responsible.seam(&error));
            }
        };
        let mut records = mem::take(&mut self.turn.batch.records);
        if records.len() != rows {
            return Err(self.responsible.broken("the function did not give its batch back"));
        }
        let fields = mem::take(&mut records.fields);
        let mut routing = records.routing.take();
        let prepared = match found {
            Some(failure) => Err(failure),
            None => self
                .check_staged(of, keys.hashes.len())
                .and_then(|()| emits::prepare(&mut self.turn.staged.emits, &records, &mut self.outputs)),
        };
        if prepared.is_ok() || is_last_try {
            self.logs.write(&mut self.turn.staged.logs, &records, context);
        }
        match prepared {
            Ok(leaving) => {
                self.apply(&timers::fired(of, &records.origins))?;
                fail_point!("after-state-write");
                self.leave(leaving, records, context)?;
                Ok(Attempt::Applied)
            }
            Err(failure) => {
                self.turn.staged.clear();
                if let Some(routing) = routing.as_mut().filter(|_| self.is_keyed) {
                    restore(routing, &keys, rows);
                }
                records.routing = routing;
                records.fields = fields;
                Ok(Attempt::Failed(records, failure))
            }
        }
    }

    /// Makes the turn of `part`. Returns the keys of its slots, for [`restore`].
    fn fill_turn(&mut self, of: Rows, mut part: RecordBatch) -> Arc<SlotKeys> {
        self.turn.staged.clear();
        let (slots, keys) = self.slots_of(&mut part);
        self.turn.batch = InputBatch {
            input: of.input,
            kinds: if of.kind == RowKind::Entry { Vec::new() } else { vec![of.kind; part.len()] },
            slots,
            keys: Arc::clone(&keys),
            records: part,
            watermark: self.watermark,
            now: self.now,
        };
        keys
    }

    /// Whether what the turn wants done can be, as far as only the engine can tell.
    fn check_staged(&self, of: Rows, slots: usize) -> Result<(), Failure> {
        let is_forward = |emit: &Emit| matches!(emit, Emit::Forward { .. });
        if of.kind != RowKind::Entry && self.turn.staged.emits.iter().any(is_forward) {
            let message = "a timer is no record that could be sent on".to_owned();
            return Err(Failure { kind: FailureKind::Contract, row: None, message });
        }
        timers::check(&self.turn.staged.timers, self.timers.is_some(), slots)
    }

    /// Applies what the turn wrote, set and counted, and the end of the timers that it was made of.
    fn apply(&mut self, fired: &[(TimerClock, i64)]) -> Flow {
        if let Some(timers) = &mut self.timers {
            let staged = &mut self.turn.staged;
            let done = timers.take(&self.turn.batch.keys, fired, &mut staged.timers, &mut staged.writes);
            let metrics = &self.responsible.metrics;
            metrics.timers_set.add_len(done.set);
            metrics.timers_fired.add_len(done.fired);
            metrics.timers_pending.set(timers.len() as u64);
        }
        let writes = &self.turn.staged.writes;
        if let Some(state) = &mut self.turn.state
            && !writes.is_empty()
        {
            state.apply(&self.turn.batch.keys, writes, self.now).map_err(|error| self.responsible.seam(&error))?;
        }
        for (metric, value) in self.turn.staged.metrics.drain(..) {
            self.responsible.metrics.record_custom(usize::from(metric.0), value);
        }
        Ok(())
    }

    /// Sends what leaves; the input itself goes with the last lane that passes it whole.
    fn leave(&mut self, leaving: Vec<Leaving>, mut input: RecordBatch, context: &mut Context) -> Flow {
        let last_rows = leaving.iter().rposition(|leaving| matches!(leaving.records, Records::Rows(_)));
        for (place, Leaving { output, lane, records }) in leaving.into_iter().enumerate() {
            let batches = match records {
                Records::Made(batches) => batches,
                Records::Rows(rows) if is_every_row(&rows, input.len()) => {
                    vec![if last_rows == Some(place) { mem::take(&mut input) } else { input.clone() }]
                }
                Records::Rows(rows) => vec![input.select(&rows)],
            };
            let port = self.outputs.get_mut(output).expect("emits were prepared for these outputs");
            if lane.is_none_or(|lane| lane == 0) {
                let metrics = &self.responsible.metrics;
                let count = batches.iter().map(RecordBatch::len).sum();
                metrics.count_output(output, count);
                metrics.records_out.add_len(count);
                metrics.bytes_out.add_len(batches.iter().map(|batch| batch.values.total_bytes()).sum());
            }
            if let Some(lane) = lane {
                let lane = port.lanes.get_mut(lane).expect("emits were prepared for these lanes");
                for batch in batches {
                    lane.send(batch, context)?;
                }
            }
        }
        Ok(())
    }

    fn condemn(&mut self, of: Rows, batch: &RecordBatch, row: u32, failure: &Failure, context: &mut Context) -> Flow {
        let row = row as usize;
        let key =
            batch.routing.as_ref().filter(|routing| row < routing.keys.len()).map(|routing| routing.keys.get(row));
        let timer = batch.origins.get(row).and_then(timer_of_origin).filter(|_| of.kind != RowKind::Entry);
        if let (Some(key), Some((clock, at))) = (key, timer) {
            let mut wrong = wrong_of(failure, "process");
            wrong.message = format!("{}: {}", timers::described(clock, at, key), wrong.message);
            self.responsible.deal(Bad::Timer { key, clock, at }, &wrong, context)?;
            return self.forget_timer(key, clock, at);
        }
        self.responsible.deal(Bad::Record { batch, row, key }, &wrong_of(failure, "process"), context)
    }

    fn renew(&mut self) -> Flow {
        self.responsible.metrics.renewals.add(1);
        self.function.renew().map_err(|error| self.responsible.seam(&error))
    }

    pub(super) fn after_batch(&mut self) -> Flow {
        self.responsible.metrics.fuel_used.set(self.function.fuel_used());
        if let Some(state) = &mut self.turn.state {
            state.maintain(MAINTAIN_BYTES).map_err(|error| self.responsible.seam(&error))?;
            if self.batches_until_stats == 0 {
                self.responsible.metrics.note_state(state.stats());
                self.batches_until_stats = BATCHES_PER_STATS;
            }
            self.batches_until_stats -= 1;
        }
        if self.renew_instances { self.renew() } else { Ok(()) }
    }
}

/// What came of a call.
enum Attempt {
    Applied,
    /// The rows as they were, and why.
    Failed(RecordBatch, Failure),
}

fn is_every_row(rows: &[u32], count: usize) -> bool {
    rows.len() == count && (0u32..).zip(rows).all(|(row, &emitted)| row == emitted)
}

/// Whether fewer rows at a time may help: all that is limited for a whole call. A cap on what one call says
/// is part of the contract.
fn is_limit(kind: FailureKind) -> bool {
    match kind {
        FailureKind::OutOfFuel | FailureKind::Deadline | FailureKind::Memory | FailureKind::Contract => true,
        FailureKind::Rejected | FailureKind::Trap => false,
    }
}

/// A failure of a function, as what is wrong with the record.
pub(crate) fn wrong_of(failure: &Failure, call: &str) -> Wrong {
    let (code, kind, verb) = match failure.kind {
        FailureKind::Rejected => ("E0510", "rejected", "rejected the record"),
        FailureKind::Trap => ("E0511", "trap", "trapped"),
        FailureKind::OutOfFuel => ("E0512", "out-of-fuel", "ran out of fuel"),
        FailureKind::Deadline => ("E0513", "deadline", "ran too long"),
        FailureKind::Memory => ("E0514", "memory", "wanted too much memory"),
        FailureKind::Contract => ("E0515", "contract", "broke its contract"),
    };
    // A sandbox says itself what happened where; a native function may not.
    let says_where = failure.message.contains(&format!("`{call}`"));
    let message = if says_where { failure.message.clone() } else { format!("{verb} in `{call}`: {}", failure.message) };
    Wrong { code, kind, message }
}
