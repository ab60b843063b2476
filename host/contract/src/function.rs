//! User functions, a batch at a time.
//!
//! The engine hands a function a [`Turn`]: the batch, the state it may read, and an empty [`Staged`]
//! to fill. It applies what was staged only when the function returned ok, so a failed turn leaves no
//! trace. Which record is to blame is found by the engine, which calls again with fewer rows after
//! [`UserFunction::renew`].

use std::fmt;
use std::sync::Arc;

use model::{
    Column, Descriptor, EventTime, FieldColumn, Headers, HostTime, InputId, JobName, MetricId, ModuleDigest,
    OperatorUid, OptionalColumn, OutputId, Parallelism, RecordBatch, SlotIndex, StateId, SubtaskIndex, TimerClock,
    Values,
};

use crate::{Error, KeyedState, SlotKeys};

/// Where an instance runs.
#[derive(Clone, Debug)]
pub struct Task {
    /// The job.
    pub job: JobName,
    /// The operator.
    pub operator: OperatorUid,
    /// The subtask.
    pub subtask: SubtaskIndex,
    /// How many subtasks the operator has.
    pub parallelism: Parallelism,
    /// The operator's `config`: a JSON object.
    pub config: String,
}

/// What a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// A record.
    Entry,
    /// An event-time timer that fired.
    EventTimer,
    /// A processing-time timer that fired.
    ProcessingTimer,
}

/// The rows of one turn.
#[derive(Debug, Default)]
pub struct InputBatch {
    /// Which input they came on.
    pub input: InputId,
    /// What each row is; empty when every row is an entry. Otherwise all are timers of one clock: rows without values,
    /// fields and headers, of each key at most one, whose record key is their key. The time that one was set for is in
    /// its origin ([`model::timer_of_origin`]); its event time is when it looks at state: that time, or for a timer of
    /// processing time the watermark.
    pub kinds: Vec<RowKind>,
    /// The slot of each row; empty for a function that is not keyed.
    pub slots: Vec<u32>,
    /// The distinct keys, by slot.
    pub keys: Arc<SlotKeys>,
    /// The records, with the fields that the input's descriptor lists.
    pub records: RecordBatch,
    /// No earlier event time is expected.
    pub watermark: EventTime,
    /// The host's clock; never falls.
    pub now: HostTime,
}

/// Writes to one state, in order; a later write to the same slot and entry wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateWrites {
    /// The state.
    pub state: StateId,
    /// The slot of each write.
    pub slots: Vec<SlotIndex>,
    /// The entry key of each write; `None` for a state of kind value.
    pub entry_keys: Option<Column>,
    /// What to write; absent deletes.
    pub values: OptionalColumn,
    /// The write time of each, for a state that expires by event time: the event time of the record that
    /// wrote, or made, the entry. Empty: the latest of its slot's rows.
    pub written: Vec<EventTime>,
}

/// Timers to set, or to take back; one call, in the order of the calls with the others. A later word on the same timer
/// wins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimerRequest {
    /// What they wait for.
    pub clock: TimerClock,
    /// Whether they are set; otherwise they are cancelled.
    pub set: bool,
    /// The slot of each.
    pub slots: Vec<SlotIndex>,
    /// Its time, milliseconds since 1970; as many as slots, none of them the smallest.
    pub at_millis: Vec<i64>,
}

/// Records a function made.
#[derive(Clone, Debug, Default)]
pub struct OutputRecords {
    /// For each record the row that caused it; never falls.
    pub rows: Vec<u32>,
    /// Record keys; `None` where records keep those of their rows.
    pub keys: Option<OptionalColumn>,
    /// Values as they are; no rows where `fields` is used.
    pub values: Values,
    /// Columns to be encoded in the port's declared order.
    pub fields: Vec<FieldColumn>,
    /// Event times; empty where records take those of their rows.
    pub timestamps: Vec<EventTime>,
    /// `None` where records keep those of their rows.
    pub headers: Option<Headers>,
}

/// One call to emit.
#[derive(Clone, Debug)]
pub enum Emit {
    /// Input records go on unchanged.
    Forward {
        /// The output; declares no fields.
        output: OutputId,
        /// Their rows; never fall.
        rows: Vec<u32>,
    },
    /// New records.
    Push {
        /// The output.
        output: OutputId,
        /// The records.
        records: OutputRecords,
    },
}

/// How important a log line is.
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

/// A log line of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// How important.
    pub level: LogLevel,
    /// The row it is about.
    pub row: Option<u32>,
    /// What it says.
    pub message: String,
}

/// What a turn wants done. Applied whole, or dropped whole; log lines are kept either way.
#[derive(Debug, Default)]
pub struct Staged {
    /// State writes, in the order of the calls.
    pub writes: Vec<StateWrites>,
    /// Timers, likewise; only of a function whose descriptor has `timers`.
    pub timers: Vec<TimerRequest>,
    /// Emits, in the order of the calls.
    pub emits: Vec<Emit>,
    /// Additions to counters and new values of gauges, in the order of the calls.
    pub metrics: Vec<(MetricId, f64)>,
    /// Log lines.
    pub logs: Vec<LogLine>,
}

impl Staged {
    /// Forgets everything and keeps the room.
    pub fn clear(&mut self) {
        self.writes.clear();
        self.timers.clear();
        self.emits.clear();
        self.metrics.clear();
        self.logs.clear();
    }
}

/// Everything a function is given for one batch.
#[derive(Default)]
pub struct Turn {
    /// The rows.
    pub batch: InputBatch,
    /// The keyed state to read; `None` for a function that is not keyed. The function gives it back.
    pub state: Option<Box<dyn KeyedState>>,
    /// What it wants done; empty at the start.
    pub staged: Staged,
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn")
            .field("rows", &self.batch.records.len())
            .field("keyed", &self.state.is_some())
            .finish_non_exhaustive()
    }
}

/// Why a turn failed, as far as the function is to blame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What kind of failure.
    pub kind: FailureKind,
    /// The row the function itself names; a hint for the search, not a verdict.
    pub row: Option<u32>,
    /// What happened, for a person.
    pub message: String,
}

/// Kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FailureKind {
    /// The function returned an error.
    Rejected,
    /// The function stopped abnormally.
    Trap,
    /// It used more fuel than one record may.
    OutOfFuel,
    /// It ran longer than a batch may.
    Deadline,
    /// It wanted more memory or table than it may have.
    Memory,
    /// It broke the contract or a cap: bad slots, ids, lengths, sizes.
    Contract,
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rejected => "rejected",
            Self::Trap => "trap",
            Self::OutOfFuel => "out-of-fuel",
            Self::Deadline => "deadline",
            Self::Memory => "memory",
            Self::Contract => "contract",
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.message)
    }
}

/// How a turn failed.
#[derive(Debug)]
pub enum ProcessError {
    /// The function or a record is to blame: the engine looks for the record.
    Function(Failure),
    /// The host is: the subtask stops.
    Host(Error),
}

/// A function of a job, ready to be instantiated. Shared by its subtasks.
pub trait FunctionFactory: Send + Sync {
    /// What the function is.
    fn descriptor(&self) -> &Descriptor;

    /// Which code it is; `None` for a native function.
    fn digest(&self) -> Option<ModuleDigest>;

    /// An instance, opened. Called on the thread that will use it.
    ///
    /// # Errors
    /// When it cannot be made or refuses its config.
    fn instantiate(&self, task: &Task) -> Result<Box<dyn UserFunction>, Error>;
}

/// One instance of a function. Owned by one thread.
///
/// # Promises
/// 1. After an error `turn.batch` and `turn.state` are what they were, and `turn.staged` is to be
///    dropped (its log lines may be kept).
/// 2. After a trap or a limit the instance is unusable until [`UserFunction::renew`]; a call before
///    that renews by itself.
/// 3. The result depends on the turn alone, not on earlier turns; that of [`UserFunction::migrate`] on the values alone.
/// 4. `migrate` gives as many values as it was given, or an error.
pub trait UserFunction: Send {
    /// Handles a batch: reads `turn.batch` and `turn.state`, fills `turn.staged`.
    ///
    /// # Errors
    /// [`ProcessError::Function`] where the function or a record is to blame, [`ProcessError::Host`]
    /// where we are.
    fn process(&mut self, turn: &mut Turn) -> Result<(), ProcessError>;

    /// Key and event time of each value, for functions whose descriptor has `assigns`. An absent key
    /// is a null key.
    ///
    /// # Errors
    /// As [`UserFunction::process`].
    fn assign(&mut self, values: &Values) -> Result<(OptionalColumn, Vec<EventTime>), ProcessError>;

    /// Rewrites values of `state` that its version `from_version` wrote: one for one, in order. A function that says
    /// nothing of it rewrites none.
    ///
    /// # Errors
    /// As [`UserFunction::process`]; the row of a failure is the place of a value, where the function names one.
    fn migrate(&mut self, state: StateId, from_version: u32, values: &Column) -> Result<Column, ProcessError> {
        Err(ProcessError::Function(Failure {
            kind: FailureKind::Rejected,
            row: None,
            message: format!(
                "the function does not say how to read version {from_version} of state {state}: {} values are left as they were",
                values.len()
            ),
        }))
    }

    /// Throws the instance away and makes a new one, opened.
    ///
    /// # Errors
    /// When it cannot be made.
    fn renew(&mut self) -> Result<(), Error>;

    /// Whether nothing has been processed since the instance was made.
    fn is_fresh(&self) -> bool;

    /// Fuel used since the function was made, over all instances; 0 where it is not counted.
    fn fuel_used(&self) -> u64;

    /// Log lines and metrics of calls other than [`UserFunction::process`], for a caller that makes no turns. What
    /// nobody takes goes with the next turn.
    fn take_said(&mut self) -> Staged {
        Staged::default()
    }
}
