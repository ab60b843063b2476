//! The `sources` of a job file, and formats.

use std::time::Duration;

use crate::{OperatorUid, TimeUnit, is_csv_delimiter, pointer_steps};

use super::check::{At, Check, Keys};
use super::codes;
use super::file::{Defaults, read_connector, read_on_error, read_parallelism, read_path, read_uid};
use super::graph::{Graph, OperatorKind};
use super::spec::{
    CsvSpec, EventTimeSpec, FileSourceSpec, FormatSpec, GeneratorShape, GeneratorSpec, SourceCompression,
    SourceConnector, SourceSpec, WatermarkSpec,
};
use super::tree::{Value, shorten};

/// A line of a megabyte is more often a missing newline than a record.
pub const DEFAULT_MAX_RECORD_BYTES: u64 = 1024 * 1024;
/// What a batch can still address, with room.
const LARGEST_RECORD_BYTES: u64 = 256 * 1024 * 1024;

pub(super) fn read(check: &mut Check, graph: &mut Graph, at: &At<'_>, defaults: Defaults) -> Vec<SourceSpec> {
    let entries = check.entries(at);
    if entries.is_empty() {
        check.problem(codes::MISSING, at, "expected at least one source: found none");
    }
    let mut sources = Vec::new();
    for (name, at) in entries {
        graph.add(name, OperatorKind::Source, &at);
        let uid = read_uid(check, &at, name);
        let Some(keys) = check.keys(&at) else { continue };
        if let (Some(source), Some(uid)) = (read_source(check, keys, defaults, uid.as_ref()), uid) {
            sources.push(SourceSpec { uid, ..source });
        }
    }
    sources
}

fn read_source(
    check: &mut Check,
    mut keys: Keys<'_>,
    defaults: Defaults,
    uid: Option<&OperatorUid>,
) -> Option<SourceSpec> {
    let connector = read_connector(check, &mut keys, &["file", "generator"], &["kafka", "http", "postgres"]);
    let connector = connector.and_then(|(name, at)| match name {
        "file" => read_file(check, &at).map(SourceConnector::File),
        _ => read_generator(check, &at).map(SourceConnector::Generator),
    });
    let format_at = keys.take(check, "format");
    let format = match &format_at {
        Some(at) => read_format(check, at, End::Source),
        None => default_format(connector.as_ref()),
    };
    if let (Some(at), Some(SourceConnector::Generator(_)), FormatSpec::Csv(_)) = (&format_at, &connector, &format) {
        check.problem(codes::WRONG_VALUE, at, "a generator makes JSON or text: expected `json` or `raw`, found `csv`");
    }
    let event_time = keys.take(check, "event_time").and_then(|at| read_event_time(check, &at, &format));
    let watermark = read_watermark(check, &mut keys, event_time.is_some());
    let on_error = read_on_error(check, &mut keys, defaults);
    let parallelism = read_parallelism(check, &mut keys, defaults.parallelism);
    keys.finish(check);
    let (uid, connector) = (uid?.clone(), connector?);
    Some(SourceSpec { uid, connector, format, event_time, watermark, on_error, parallelism })
}

fn default_format(connector: Option<&SourceConnector>) -> FormatSpec {
    match connector {
        Some(SourceConnector::Generator(GeneratorSpec {
            shape: GeneratorShape::Words | GeneratorShape::Raw, ..
        })) => FormatSpec::Raw,
        _ => FormatSpec::Json,
    }
}

fn read_file(check: &mut Check, at: &At<'_>) -> Option<FileSourceSpec> {
    let mut keys = check.keys(at)?;
    let path = keys.require(check, "path", "a file or a directory").and_then(|at| read_path(check, &at));
    let include = keys.take(check, "include").map(|at| read_suffixes(check, &at)).unwrap_or_default();
    let compressions = [
        ("auto", SourceCompression::Auto),
        ("none", SourceCompression::None),
        ("gzip", SourceCompression::Gzip),
        ("zstd", SourceCompression::Zstd),
    ];
    let compression = keys.take(check, "compression").and_then(|at| check.choice(&at, &compressions));
    let max_record = keys.take(check, "max_record").and_then(|at| check.size_bytes(&at, 1..=LARGEST_RECORD_BYTES));
    keys.finish(check);
    Some(FileSourceSpec {
        path: path?,
        include,
        compression: compression.unwrap_or(SourceCompression::Auto),
        max_record_bytes: max_record.unwrap_or(DEFAULT_MAX_RECORD_BYTES),
    })
}

fn read_suffixes(check: &mut Check, at: &At<'_>) -> Vec<String> {
    let mut suffixes = Vec::new();
    for item in check.one_or_many(at) {
        let Some(suffix) = check.text(&item, "the end of a file name, such as `.jsonl`") else { continue };
        if suffix.is_empty() || suffix.contains(['*', '?', '/']) {
            let message = format!(
                "expected the end of a file name, such as `.jsonl`, without wildcards: found {}",
                item.node.describe()
            );
            check.problem(codes::WRONG_VALUE, &item, message);
            continue;
        }
        suffixes.push(suffix.to_owned());
    }
    suffixes
}

fn read_generator(check: &mut Check, at: &At<'_>) -> Option<GeneratorSpec> {
    let mut keys = check.keys(at)?;
    let shapes = [
        ("orders", GeneratorShape::Orders),
        ("clicks", GeneratorShape::Clicks),
        ("words", GeneratorShape::Words),
        ("raw", GeneratorShape::Raw),
    ];
    let records = keys.take(check, "records").and_then(|at| check.integer(&at, 0..=u64::MAX));
    let rate = keys.take(check, "rate").and_then(|at| check.float(&at, 0.001, 1e9));
    let seed = keys.take(check, "seed").and_then(|at| check.integer(&at, 0..=u64::MAX));
    let shape = keys.take(check, "shape").and_then(|at| check.choice(&at, &shapes));
    let duplicates = keys.take(check, "duplicates").and_then(|at| check.float(&at, 0.0, 0.999));
    let (mut keys_count, mut keys_zipf) = (DEFAULT_KEYS, 0.0);
    if let Some(at) = keys.take(check, "keys")
        && let Some(mut distribution) = check.keys(&at)
    {
        let count = distribution.take(check, "count").and_then(|at| check.integer(&at, 1..=1_000_000_000_000));
        keys_count = count.unwrap_or(keys_count);
        let zipf = distribution.take(check, "zipf").and_then(|at| check.float(&at, 0.0, 5.0));
        keys_zipf = zipf.unwrap_or(keys_zipf);
        distribution.finish(check);
    }
    let payload = keys.take(check, "payload_bytes").and_then(|at| check.size_bytes(&at, 0..=1024 * 1024));
    keys.finish(check);
    Some(GeneratorSpec {
        records,
        rate_per_second: rate,
        seed: seed.unwrap_or(1),
        shape: shape.unwrap_or(GeneratorShape::Orders),
        duplicates_share: duplicates.unwrap_or(0.0),
        keys_count,
        keys_zipf,
        payload_bytes: payload.unwrap_or(0),
    })
}

/// Enough that a table of them leaves the cache, and few enough that each is seen often.
const DEFAULT_KEYS: u64 = 100_000;

fn read_event_time(check: &mut Check, at: &At<'_>, format: &FormatSpec) -> Option<EventTimeSpec> {
    let mut keys = check.keys(at)?;
    let field_at = keys.require(check, "field", "the path of the field that holds the time, such as `/ts`");
    let field = field_at.as_ref().and_then(|at| read_pointer(check, at));
    let units = [
        ("s", TimeUnit::S),
        ("ms", TimeUnit::Ms),
        ("us", TimeUnit::Us),
        ("ns", TimeUnit::Ns),
        ("rfc3339", TimeUnit::Rfc3339),
    ];
    let unit = keys.require(check, "unit", "one of `s`, `ms`, `us`, `ns`, `rfc3339`");
    let unit = unit.and_then(|at| check.choice(&at, &units));
    keys.finish(check);
    if let (FormatSpec::Raw, Some(at)) = (format, &field_at) {
        check.problem(codes::BAD_PATH, at, "records of the format `raw` have no fields: expected `json` or `csv`");
    }
    Some(EventTimeSpec { field: field?, unit: unit? })
}

/// An event time that is an hour ahead of everybody's clock is more often a mistake than news.
const DEFAULT_MAX_AHEAD: Duration = Duration::from_secs(3600);

/// How far records are out of order is never guessed: a guess too low purges what a late record would have seen.
fn read_watermark(check: &mut Check, keys: &mut Keys<'_>, has_event_time: bool) -> Option<WatermarkSpec> {
    const YEAR: Duration = Duration::from_secs(366 * 24 * 3600);
    let at = keys.take(check, "watermark")?;
    if !has_event_time {
        let help = Some("say where the time stands: `event_time: { field: /ts, unit: ms }`".to_owned());
        let message = "a watermark is made of event times, and the source has no `event_time`".to_owned();
        check.problem_with_help(codes::MISSING, &at, message, help);
    }
    let mut keys = check.keys(&at)?;
    let out_of_order = keys.require(check, "max_out_of_orderness", "a duration such as `10s`");
    let out_of_order = out_of_order.and_then(|at| check.duration(&at, Duration::ZERO..=YEAR));
    let ahead = keys.take(check, "max_ahead");
    let ahead = ahead.and_then(|at| check.duration(&at, Duration::ZERO..=100 * YEAR));
    keys.not_available(check, "idle_after", None);
    keys.finish(check);
    Some(WatermarkSpec { max_out_of_orderness: out_of_order?, max_ahead: ahead.unwrap_or(DEFAULT_MAX_AHEAD) })
}

/// A path, by the one rule for paths.
pub(super) fn read_pointer(check: &mut Check, at: &At<'_>) -> Option<String> {
    let text = check.text(at, "a JSON pointer such as `/customer/id`")?;
    let Err(why) = pointer_steps(text) else { return Some(text.to_owned()) };
    let message = format!("`{}` is not a JSON pointer: expected `/name` or `/outer/inner`, {why}", shorten(text));
    let as_pointer = format!("/{}", text.trim_start_matches(['$', '.', '/']).replace('.', "/"));
    let help =
        (pointer_steps(&as_pointer).is_ok() && text.len() <= 128).then(|| format!("did you mean `{as_pointer}`?"));
    check.problem_with_help(codes::BAD_PATH, at, message, help);
    None
}

/// Who uses a format: a source reads header lines unless told otherwise, a sink writes none unless told so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Source,
    Sink {
        /// Whether it can.
        writes_header: bool,
    },
}

/// `json`, `raw`, `csv`, or `csv: { … }`.
pub(super) fn read_format(check: &mut Check, at: &At<'_>, end: End) -> FormatSpec {
    if !matches!(at.node.value, Value::Map(_)) {
        let words = [("json", 0), ("csv", 1), ("raw", 2)];
        return match check.choice(at, &words) {
            Some(1) => FormatSpec::Csv(CsvSpec { delimiter: b',', columns: Vec::new(), header: end == End::Source }),
            Some(2) => FormatSpec::Raw,
            _ => FormatSpec::Json,
        };
    }
    let Some(mut keys) = check.keys(at) else { return FormatSpec::Json };
    let csv = keys.require(check, "csv", "`format: json`, `format: raw` or `format: { csv: … }`");
    let format = csv.and_then(|at| read_csv(check, &at, end));
    keys.finish(check);
    format.map_or(FormatSpec::Json, FormatSpec::Csv)
}

fn read_csv(check: &mut Check, at: &At<'_>, end: End) -> Option<CsvSpec> {
    let mut keys = check.keys(at)?;
    let delimiter = keys.take(check, "delimiter").and_then(|at| read_delimiter(check, &at));
    let columns_at = keys.take(check, "columns");
    let columns = columns_at.map(|at| read_columns(check, &at)).unwrap_or_default();
    let header_at = keys.take(check, "header");
    let header = header_at.as_ref().and_then(|at| check.boolean(at)).unwrap_or(end == End::Source);
    if let (End::Sink { writes_header }, true, Some(at)) = (end, header, &header_at) {
        if !writes_header {
            let help = Some("remove `header`, or let the job have `checkpoint` and write files".to_owned());
            let message = "`header: true` is not available yet but for exactly-once file sinks".to_owned();
            check.problem_with_help(codes::NOT_AVAILABLE, at, message, help);
        } else if columns.is_empty() {
            check.problem(codes::MISSING, at, "for a header line the `columns` are needed, in order");
        }
    }
    if end == End::Source && !header && columns.is_empty() {
        let message = "without a header line the `columns` are needed, in order";
        check.problem(codes::MISSING, at, message);
    }
    keys.finish(check);
    Some(CsvSpec { delimiter: delimiter.unwrap_or(b','), columns, header })
}

fn read_delimiter(check: &mut Check, at: &At<'_>) -> Option<u8> {
    let expected = "one ASCII character such as `,`, `;`, `|` or `\"\\t\"`, not a quote and not a part of a number";
    let text = check.text(at, expected)?;
    match text.as_bytes() {
        [byte] if is_csv_delimiter(*byte) => Some(*byte),
        _ => {
            check.problem(codes::WRONG_VALUE, at, format!("expected {expected}: found {}", at.node.describe()));
            None
        }
    }
}

fn read_columns(check: &mut Check, at: &At<'_>) -> Vec<String> {
    let mut columns: Vec<String> = Vec::new();
    for item in check.one_or_many(at) {
        let Some(name) = check.text(&item, "the name of a column") else { continue };
        if columns.iter().any(|column| column == name) {
            check.problem(codes::NAME_TWICE, &item, format!("column `{}` stands twice", shorten(name)));
            continue;
        }
        columns.push(name.to_owned());
    }
    columns
}
