//! What a job file says, checked and with every default filled in.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use crate::{BatchLimits, Delivery, Descriptor, InputId, JobName, OperatorUid, OutputId, Parallelism, TimeUnit};

use super::places::Places;

/// A job, checked. Made by [`JobSpec::parse`].
#[derive(Clone, Debug, PartialEq)]
pub struct JobSpec {
    /// The name of the job.
    pub name: JobName,
    /// How many subtasks an operator has unless it says otherwise.
    pub parallelism: Parallelism,
    /// How many key groups the job has; fixed at its first start.
    pub key_groups: u16,
    /// Its checkpoints; `None`: it has none, and whatever it read is read again after a crash.
    pub checkpoint: Option<CheckpointSpec>,
    /// What happens after a failure, in a job with checkpoints.
    pub restart: RestartSpec,
    /// Where keyed state lives.
    pub state: StateSpec,
    /// When a batch is closed.
    pub batch: BatchLimits,
    /// Most bytes that wait between two subtasks.
    pub queue_bytes: usize,
    /// Sources, in the order of the file.
    pub sources: Vec<SourceSpec>,
    /// Functions, in the order of the file.
    pub functions: Vec<FunctionSpec>,
    /// Sinks, in the order of the file.
    pub sinks: Vec<SinkSpec>,
    /// Where records go that were given up on.
    pub dead_letters: Option<SinkConnector>,
    /// The text and where each value stands in it, for messages.
    pub(super) places: Places,
}

/// When checkpoints are taken, and how many are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointSpec {
    /// From the start of one to the start of the next.
    pub interval: Duration,
    /// After this long one is aborted.
    pub timeout: Duration,
    /// The least time from the end of one to the start of the next.
    pub min_pause: Duration,
    /// How many in a row may be aborted before the job fails.
    pub tolerable_failures: u32,
    /// How many complete ones are kept.
    pub retain: u32,
}

/// What happens after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestartSpec {
    /// How often the job is started again before it stays failed; 0: never.
    pub attempts: u32,
    /// The wait before the first of them.
    pub first_backoff: Duration,
    /// The longest wait.
    pub most_backoff: Duration,
}

/// Where keyed state lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateSpec {
    /// What stores it.
    pub backend: StateBackendKind,
}

/// What stores keyed state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateBackendKind {
    /// Memory.
    Memory,
    /// RocksDB on a local disk, with what was used last in memory. Only in a job with checkpoints.
    RocksDb,
}

/// A source of the job.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceSpec {
    /// Its name, one of the operator uids.
    pub uid: OperatorUid,
    /// Where it reads.
    pub connector: SourceConnector,
    /// How its values are read.
    pub format: FormatSpec,
    /// Where the event time stands; `None`: records have none.
    pub event_time: Option<EventTimeSpec>,
    /// How event times become a watermark.
    pub watermark: Option<WatermarkSpec>,
    /// What becomes of what is not a record, and of a record without its event time.
    pub on_error: OnError,
    /// How many subtasks read it.
    pub parallelism: Parallelism,
}

/// Where a source reads.
#[derive(Clone, Debug, PartialEq)]
pub enum SourceConnector {
    /// Lines of files.
    File(FileSourceSpec),
    /// Made-up records.
    Generator(GeneratorSpec),
}

/// Lines of a file, or of every file of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSourceSpec {
    /// A file or a directory, as written; see [`JobSpec::resolve`].
    pub path: PathBuf,
    /// Of a directory only files whose name ends in one of these; empty: all.
    pub include: Vec<String>,
    /// How the bytes are packed.
    pub compression: SourceCompression,
    /// The longest line that is a record.
    pub max_record_bytes: u64,
}

/// How a source's bytes are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceCompression {
    /// Each file's first bytes tell.
    Auto,
    /// Not at all.
    None,
    /// gzip, of one or many members.
    Gzip,
    /// zstd, of one or many frames.
    Zstd,
}

/// Made-up records, the same ones for the same options for ever.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratorSpec {
    /// How many in all; `None`: no end.
    pub records: Option<u64>,
    /// How many per second over all subtasks; `None`: as many as are asked for.
    pub rate_per_second: Option<f64>,
    /// Decides every byte.
    pub seed: u64,
    /// What the records look like.
    pub shape: GeneratorShape,
    /// The share of records that repeat an earlier one, 0 to below 1.
    pub duplicates_share: f64,
    /// How many distinct keys there are.
    pub keys_count: u64,
    /// The exponent of their distribution; 0: every key alike.
    pub keys_zipf: f64,
    /// Bytes of filler in each record.
    pub payload_bytes: u64,
}

/// What generated records look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeneratorShape {
    /// JSON: `event_id`, `ts`, `customer.id`, `amount`, `currency`, `country`, `items`, `note`.
    Orders,
    /// JSON: `user`, `page`, `ts`, `ms`, `referrer`.
    Clicks,
    /// A line of words, for counting.
    Words,
    /// The number of the record and filler, no JSON.
    Raw,
}

/// How values are read, or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FormatSpec {
    /// One JSON value each.
    Json,
    /// Bytes as they are.
    Raw,
    /// Delimited columns.
    Csv(CsvSpec),
}

/// Delimited columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvSpec {
    /// What stands between two columns.
    pub delimiter: u8,
    /// The columns in order; empty: the header line of a source tells, or the fields that a sink is given.
    pub columns: Vec<String>,
    /// Whether the first line names the columns; never for a sink.
    pub header: bool,
}

/// Where the event time stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventTimeSpec {
    /// A JSON pointer (`/ts`).
    pub field: String,
    /// What its number, or text, means.
    pub unit: TimeUnit,
}

/// How event times become a watermark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatermarkSpec {
    /// How far behind the greatest event time of its split a record may be and still be on time.
    pub max_out_of_orderness: Duration,
    /// An event time further ahead of the host's clock does not move the watermark.
    pub max_ahead: Duration,
}

/// What becomes of a bad record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// The job fails.
    Fail,
    /// The record is counted and dropped.
    Skip,
    /// The record goes to the dead letters.
    DeadLetter,
}

impl OnError {
    /// What becomes of bad records where nothing is said: they are kept where there is a place for them,
    /// else the job fails.
    #[must_use]
    pub fn default_of(job_has_dead_letters: bool) -> Self {
        if job_has_dead_letters { Self::DeadLetter } else { Self::Fail }
    }
}

/// A function of the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionSpec {
    /// Its name for ever: it scopes its state.
    pub uid: OperatorUid,
    /// What it reads.
    pub inputs: Vec<InputSpec>,
    /// What its records are partitioned by; `None`: they are not, or the function assigns keys.
    pub key: Option<KeySpec>,
    /// The code, a path as written; see [`JobSpec::resolve`].
    pub module: PathBuf,
    /// A JSON object.
    pub config: String,
    /// What it may use.
    pub limits: LimitsSpec,
    /// What becomes of a record it cannot handle.
    pub on_error: OnError,
    /// How many subtasks run it.
    pub parallelism: Parallelism,
}

/// One input of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputSpec {
    /// The function's name for it; `None`: its first input.
    pub name: Option<String>,
    /// Where its records come from; at least one.
    pub from: Vec<InputRef>,
}

/// `dedup` or `dedup.late`: a source, or an output of a function.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InputRef {
    /// The source or function.
    pub from: OperatorUid,
    /// The name of the output; `None`: a function's first output, a source's records.
    pub output: Option<String>,
}

/// What records are partitioned by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySpec {
    /// The field at a JSON pointer.
    Field(String),
    /// `$key`: the key the record came with.
    RecordKey,
    /// `$value`: the whole value.
    WholeValue,
}

/// As it is written.
impl fmt::Display for KeySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Field(pointer) => pointer,
            Self::RecordKey => "$key",
            Self::WholeValue => "$value",
        })
    }
}

/// What a function may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitsSpec {
    /// Memory of one instance.
    pub memory_bytes: u64,
    /// Instructions one record may cost.
    pub fuel_per_record: u64,
    /// The longest one batch may take.
    pub time_per_batch: Duration,
}

/// A sink of the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SinkSpec {
    /// Its name, one of the operator uids.
    pub uid: OperatorUid,
    /// Where its records come from; at least one.
    pub from: Vec<InputRef>,
    /// Where it writes.
    pub connector: SinkConnector,
    /// What its values are, and how fields are written that a function leaves to the host; `None`: what
    /// flows into it says, see [`JobSpec::sink_formats`].
    pub format: Option<FormatSpec>,
    /// How many subtasks write it.
    pub parallelism: Parallelism,
}

/// Where a sink writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SinkConnector {
    /// Lines in one file, or in the files of a directory.
    File(FileSinkSpec),
    /// Lines on standard output.
    Stdout,
    /// Nowhere; records are counted.
    Blackhole,
}

/// Lines in one file, or in the files of a directory, one per subtask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSinkSpec {
    /// The directory, or the one file ([`FileSinkSpec::is_one_file`]), as written; see
    /// [`JobSpec::resolve`].
    pub path: PathBuf,
    /// How the bytes are packed.
    pub compression: SinkCompression,
    /// Whether a file that is there already may be replaced.
    pub overwrite: bool,
    /// What it promises: [`Delivery::AtLeastOnce`] in a job without checkpoints.
    pub delivery: Delivery,
    /// How what was published is told from what was not; of an exactly-once sink alone.
    pub layout: FileLayout,
    /// A file that reached this size is closed and another one begun; of an exactly-once sink alone.
    pub roll_bytes: u64,
}

/// How an exactly-once file sink shows what it has published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileLayout {
    /// Every file with a plain name is published.
    Plain,
    /// A file is published if a commit file lists it.
    Commits,
}

/// How a sink's bytes are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SinkCompression {
    /// Not at all.
    None,
    /// gzip.
    Gzip,
}

impl FileSinkSpec {
    /// Whether a path names one file, by its ending, rather than a directory.
    #[must_use]
    pub fn is_one_file(path: &Path) -> bool {
        const ENDINGS: [&str; 8] = ["jsonl", "json", "ndjson", "csv", "tsv", "txt", "log", "gz"];
        let ending = path.extension().and_then(|ending| ending.to_str());
        ending.is_some_and(|ending| ENDINGS.contains(&ending)) && !path.as_os_str().as_encoded_bytes().ends_with(b"/")
    }
}

impl JobSpec {
    /// The name of the file it was read from.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.places.file_name()
    }

    /// A path of the job, which is relative to the directory of the job file, without `.` steps: a file has
    /// one name, however the job file was named.
    #[must_use]
    pub fn resolve(&self, path: &Path) -> PathBuf {
        let joined = self.directory().join(path);
        let mut resolved: PathBuf = joined.components().filter(|step| *step != Component::CurDir).collect();
        if resolved.as_os_str().is_empty() {
            resolved.push(".");
        }
        // A slash at the end says that a directory is meant.
        if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            resolved.push("");
        }
        resolved
    }

    /// The directory of the job file, as the file was named; empty for the current one.
    #[must_use]
    pub fn directory(&self) -> &Path {
        Path::new(self.file_name()).parent().unwrap_or(Path::new(""))
    }

    /// The function called `uid`.
    #[must_use]
    pub fn function(&self, uid: &OperatorUid) -> Option<&FunctionSpec> {
        self.functions.iter().find(|function| function.uid == *uid)
    }
}

impl InputSpec {
    /// Which input of the function it is; `None`: the function has no input of that name.
    #[must_use]
    pub fn resolve(&self, descriptor: &Descriptor) -> Option<InputId> {
        let port = match &self.name {
            None => descriptor.inputs.first(),
            Some(name) => descriptor.inputs.iter().find(|port| port.name == *name),
        };
        port.map(|port| InputId(port.id))
    }
}

impl InputRef {
    /// Which output of the function it is; `None`: the function has no output of that name.
    #[must_use]
    pub fn resolve(&self, descriptor: &Descriptor) -> Option<OutputId> {
        match &self.output {
            None => descriptor.outputs.first().map(|port| OutputId(port.id)),
            Some(name) => descriptor.output_named(name),
        }
    }
}
