//! Sources, functions and sinks in the JSON Schema.
#![expect(dead_code, reason = "the types describe the file and are never filled")]

use std::collections::BTreeMap;

use schemars::JsonSchema;

use crate::MAX_PARALLELISM;

use super::{Refs, Size, Span, Texts};

type Any = serde_json::Value;

/// Where records come from: exactly one of `file`, `generator`, `kafka`, `postgres`, `http`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Source {
    /// Lines of a file or of the files of a directory.
    file: Option<FileSource>,
    /// Made-up records.
    generator: Option<Generator>,
    /// Not available yet.
    kafka: Option<Kafka>,
    /// Not available yet.
    postgres: Option<Any>,
    /// Not available yet.
    http: Option<Any>,
    /// What the values are.
    format: Option<Format>,
    /// Where the event time stands; without it records have none.
    event_time: Option<EventTime>,
    /// How event times become a watermark.
    watermark: Option<Watermark>,
    /// What becomes of a line that is no record, and of a record without its event time.
    on_error: Option<OnError>,
    /// How many subtasks read it.
    #[schemars(range(min = 1, max = MAX_PARALLELISM))]
    parallelism: Option<u32>,
}

/// Lines of a file or of the files of a directory.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct FileSource {
    /// A file or a directory, relative to the job file.
    path: String,
    /// Of a directory only files whose name ends in one of these.
    include: Option<Texts>,
    /// How the files are packed.
    compression: Option<SourceCompression>,
    /// The longest line that is a record.
    max_record: Option<Size>,
}

/// How files are packed.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
enum SourceCompression {
    /// The first bytes of each file tell.
    Auto,
    /// Not at all.
    None,
    /// gzip.
    Gzip,
    /// zstd.
    Zstd,
}

/// Made-up records: the same for the same options, for ever.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Generator {
    /// How many in all; without it there is no end.
    records: Option<u64>,
    /// How many per second over all subtasks; without it as many as are asked for.
    rate: Option<f64>,
    /// Decides every byte.
    seed: Option<u64>,
    /// What the records look like.
    shape: Option<Shape>,
    /// The share of records that repeat an earlier one, 0 to 0.999.
    #[schemars(range(min = 0.0, max = 0.999))]
    duplicates: Option<f64>,
    /// How keys are spread.
    keys: Option<Keys>,
    /// Bytes of filler in each record.
    payload_bytes: Option<Size>,
}

/// What generated records look like.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
enum Shape {
    /// JSON with `event_id`, `ts`, `customer.id`, `amount`, `currency`, `country`, `items`, `note`.
    Orders,
    /// JSON with `user`, `page`, `ts`, `ms`, `referrer`.
    Clicks,
    /// A line of words.
    Words,
    /// The number of the record, and the filler.
    Raw,
}

/// How keys are spread.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Keys {
    /// How many distinct keys there are.
    count: Option<u64>,
    /// The exponent of their distribution; 0: every key alike.
    zipf: Option<f64>,
}

/// What values are: `json`, `csv`, `raw`, or `csv` with options.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Format {
    /// By name.
    Name(FormatName),
    /// With options.
    Options(FormatOptions),
}

/// What values are.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
enum FormatName {
    /// One JSON value each.
    Json,
    /// Delimited columns, with a header line.
    Csv,
    /// Bytes as they are.
    Raw,
}

/// A format with options.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct FormatOptions {
    /// Delimited columns.
    csv: Csv,
}

/// Delimited columns.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Csv {
    /// What stands between two columns: one ASCII character, not a quote and not a part of a number.
    delimiter: Option<String>,
    /// The columns, in order; without them the header line of a source tells, or the fields that a sink is given.
    columns: Option<Texts>,
    /// Whether the first line of each file of a source names the columns. Of a sink only `false` is available yet.
    header: Option<bool>,
}

/// Where the event time stands, and what it means.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct EventTime {
    /// A JSON pointer such as `/ts`.
    field: String,
    /// What the number, or the text, means.
    unit: TimeUnit,
}

/// What a time means.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
enum TimeUnit {
    /// Seconds since 1970.
    S,
    /// Milliseconds since 1970.
    Ms,
    /// Microseconds since 1970.
    Us,
    /// Nanoseconds since 1970.
    Ns,
    /// A text such as `2024-05-01T12:00:00Z`.
    Rfc3339,
}

/// How event times become a watermark; of a source with `event_time`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Watermark {
    /// How far behind the greatest event time of its split a record may be and still be on time.
    max_out_of_orderness: Span,
    /// After this long without records an input holds nothing back. Not available yet.
    idle_after: Option<Span>,
    /// How far ahead of the host's clock an event time may be and still move the watermark; 1h.
    max_ahead: Option<Span>,
}

/// Kafka. Not available yet.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Kafka {
    /// `host:port`, several with commas.
    brokers: Option<String>,
    /// The topic.
    topic: Option<String>,
    /// Where a source begins.
    start: Option<String>,
    /// What a sink promises.
    delivery: Option<String>,
}

/// What becomes of a bad record; without it `dead-letter` if the job has `dead_letters`, else `fail`.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
enum OnError {
    /// The job fails.
    Fail,
    /// It is counted and dropped.
    Skip,
    /// It goes to the dead letters.
    DeadLetter,
}

/// A function: `input` or `inputs`, and a module.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Function {
    /// What it reads.
    input: Option<Refs>,
    /// What it reads, by the names of its inputs.
    inputs: Option<BTreeMap<String, Refs>>,
    /// What records are partitioned by: a JSON pointer, `$key` or `$value`.
    key: Option<String>,
    /// A component (`.wasm`) or the directory of a function crate, relative to the job file.
    module: String,
    /// Whatever the function wants to be told: any mapping.
    config: Option<BTreeMap<String, Any>>,
    /// What it may use.
    limits: Option<Limits>,
    /// What becomes of a record it cannot handle.
    on_error: Option<OnError>,
    /// How many subtasks run it.
    #[schemars(range(min = 1, max = MAX_PARALLELISM))]
    parallelism: Option<u32>,
}

/// What a function may use.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Limits {
    /// The memory of one instance.
    memory: Option<Size>,
    /// The instructions that one record may cost.
    fuel_per_record: Option<u64>,
    /// The longest that one batch may take.
    time_per_batch: Option<Span>,
}

/// Where records go: exactly one of `file`, `stdout`, `blackhole`, `kafka`, `postgres`, `http`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Sink {
    /// Where its records come from.
    input: Refs,
    /// Lines in files.
    file: Option<FileSink>,
    /// Lines on standard output.
    stdout: Option<Empty>,
    /// Nowhere; records are counted.
    blackhole: Option<Empty>,
    /// Not available yet.
    kafka: Option<Kafka>,
    /// Not available yet.
    postgres: Option<Any>,
    /// Not available yet.
    http: Option<Any>,
    /// What the values are, and how fields are written that a function leaves to the host; what flows into it
    /// unless it is said.
    format: Option<Format>,
    /// How many subtasks write it.
    #[schemars(range(min = 1, max = MAX_PARALLELISM))]
    parallelism: Option<u32>,
}

/// Where records go that were given up on.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct DeadLetters {
    /// Lines in files.
    file: Option<FileSink>,
    /// Lines on standard output.
    stdout: Option<Empty>,
    /// Nowhere; records are counted.
    blackhole: Option<Empty>,
    /// Not available yet.
    kafka: Option<Kafka>,
    /// Not available yet.
    postgres: Option<Any>,
    /// Not available yet.
    http: Option<Any>,
}

/// Lines in files.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct FileSink {
    /// A directory, or one file (`out.jsonl`) for a sink of one subtask; relative to the job file.
    path: String,
    /// How the files are packed.
    compression: Option<SinkCompression>,
    /// Whether files that are there already are replaced; never of an exactly-once sink.
    overwrite: Option<bool>,
    /// What it promises in a job with checkpoints; `exactly-once` unless something else is said.
    delivery: Option<Delivery>,
    /// How an exactly-once sink shows what it has published; `plain`.
    layout: Option<Layout>,
    /// The size at which an exactly-once sink closes a file and begins another, 64KiB to 64GiB; 128MiB.
    roll_bytes: Option<Size>,
}

/// What a sink promises.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
enum Delivery {
    /// Every record is visible once, after the checkpoint that it belongs to.
    ExactlyOnce,
    /// Records leave at once, and some again after a crash.
    AtLeastOnce,
}

/// How what was published is told from what was not.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
enum Layout {
    /// Every file that is there under a plain name is published.
    Plain,
    /// A file is published if a commit file lists it.
    Commits,
}

/// How files are packed.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
enum SinkCompression {
    /// Not at all.
    None,
    /// gzip.
    Gzip,
}

/// No options.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Empty {}
