//! What a job is to the engine: nodes with the objects that do their work, and the edges between them.
//!
//! Whoever starts a job fills a [`JobGraph`] and calls [`crate::start`]. Nothing of it comes from text
//! here: names of outputs are resolved against the descriptors of the functions, everything else is
//! an object already.
//!
//! # Words
//! - *node*: a source, a function or a sink; an operator of the job once it runs
//! - *main output*: a source's records, a function's first output
//!
//! # Invariants
//! 1. A graph that [`JobGraph::check`] accepts can be planned: no dangling edge, no cycle, no port that
//!    does not exist, no cut that its format does not know.

mod check;
mod error;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use contract::{FunctionFactory, Sink, Source, StateBackend};
use format::Format;
use model::job::{InputRef, KeySpec, OnError};
use model::{
    BatchLimits, DEFAULT_KEY_GROUPS, DEFAULT_QUEUE_BYTES, InputId, JobName, OperatorUid, Parallelism, TimeUnit,
};

pub(crate) use check::{Checked, Consumer, DEAD_LETTERS_UID, Producer};
pub use error::Error;

/// A job, ready to be started.
#[derive(Clone)]
pub struct JobGraph {
    /// Its name.
    pub name: JobName,
    /// Sources; their order gives them their [`model::SourceId`].
    pub sources: Vec<SourceNode>,
    /// Functions.
    pub functions: Vec<FunctionNode>,
    /// Sinks.
    pub sinks: Vec<SinkNode>,
    /// Where records go that were given up on, one JSON document each.
    pub dead_letters: Option<Arc<dyn Sink>>,
    /// Numbers that hold for the whole job.
    pub settings: Settings,
}

/// Numbers that hold for a whole job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How many key groups there are; fixed when the job first starts.
    pub key_groups: u16,
    /// When a batch is closed.
    pub batch: BatchLimits,
    /// Most bytes that wait between two subtasks; a single batch above it passes alone.
    pub queue_bytes: usize,
    /// Whether every function instance is thrown away after every batch: the output must not change.
    pub renew_instances: bool,
    /// How long a sink may keep what it was given before it must hand it on.
    pub flush_age: Duration,
}

impl Settings {
    /// A sink hands on what it buffered after this long: short for a person, long for a disk.
    pub const FLUSH_AGE: Duration = Duration::from_millis(100);
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            key_groups: DEFAULT_KEY_GROUPS,
            batch: BatchLimits::default(),
            queue_bytes: DEFAULT_QUEUE_BYTES,
            renew_instances: false,
            flush_age: Self::FLUSH_AGE,
        }
    }
}

/// A source of the job.
#[derive(Clone)]
pub struct SourceNode {
    /// Its name.
    pub uid: OperatorUid,
    /// What reads.
    pub source: Arc<dyn Source>,
    /// How its values are read.
    pub format: Format,
    /// Where event time stands; `None`: what the source itself says, or none.
    pub event_time: Option<EventTimeCut>,
    /// How event times become a watermark.
    pub watermark: Watermarks,
    /// What becomes of what is not a record, and of a record without its event time.
    pub on_error: OnError,
    /// How many subtasks read; splits are dealt to them in turn.
    pub parallelism: Parallelism,
}

/// Where the event time stands in a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventTimeCut {
    /// A JSON pointer; for CSV a column name after the slash.
    pub path: String,
    /// What stands there.
    pub unit: TimeUnit,
}

/// How the event times of a source become a watermark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watermarks {
    /// How far behind the greatest event time of its split a record may be and still be on time.
    /// [`Duration::MAX`]: nothing is known of that.
    pub max_out_of_orderness: Duration,
    /// An event time further ahead of the host's clock does not move the watermark; `None`: any does.
    pub max_ahead: Option<Duration>,
}

impl Watermarks {
    /// Whether it is known how far records are out of order: otherwise no watermark is made of their times.
    #[must_use]
    pub fn are_declared(&self) -> bool {
        self.max_out_of_orderness != Duration::MAX
    }
}

/// A function of the job.
#[derive(Clone)]
pub struct FunctionNode {
    /// Its name, which scopes its state for ever.
    pub uid: OperatorUid,
    /// What it reads; several edges may lead to one input.
    pub inputs: Vec<FunctionInput>,
    /// What its records are partitioned by. `None` for a function that is not keyed, or whose descriptor
    /// has `assigns`.
    pub key: Option<KeySpec>,
    /// What makes its instances.
    pub factory: Arc<dyn FunctionFactory>,
    /// A JSON object.
    pub config: String,
    /// What becomes of a record it cannot be given or cannot handle.
    pub on_error: OnError,
    /// How many subtasks run it. Without a key and with another parallelism than what it reads, batches are
    /// dealt to the subtasks in turn, and records of different batches may overtake each other.
    pub parallelism: Parallelism,
    /// What holds its keyed state; required where its descriptor declares any.
    pub state: Option<Arc<dyn StateBackend>>,
}

/// An edge into a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionInput {
    /// Which input of the function.
    pub input: InputId,
    /// Where the records come from.
    pub from: InputRef,
}

/// A sink of the job.
#[derive(Clone)]
pub struct SinkNode {
    /// Its name.
    pub uid: OperatorUid,
    /// Where its records come from.
    pub inputs: Vec<InputRef>,
    /// What writes.
    pub sink: Arc<dyn Sink>,
    /// How fields are written that a function leaves to the host.
    pub format: Format,
    /// How many subtasks write.
    pub parallelism: Parallelism,
}

impl JobGraph {
    /// A job without nodes, with default settings.
    #[must_use]
    pub fn new(name: JobName) -> Self {
        Self {
            name,
            sources: Vec::new(),
            functions: Vec::new(),
            sinks: Vec::new(),
            dead_letters: None,
            settings: Settings::default(),
        }
    }

    /// Checks everything that can be checked before anything is opened.
    ///
    /// # Errors
    /// The first rule that the graph breaks.
    pub fn check(&self) -> Result<(), Error> {
        Checked::new(self).map(drop)
    }
}

impl fmt::Debug for JobGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sources = self.sources.iter().map(|node| &node.uid);
        let functions = self.functions.iter().map(|node| &node.uid);
        let sinks = self.sinks.iter().map(|node| &node.uid);
        f.debug_struct("JobGraph")
            .field("name", &self.name)
            .field("operators", &sources.chain(functions).chain(sinks).collect::<Vec<_>>())
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
