mod hostile;
mod properties;
mod reading;
mod resuming;
mod writing;

use std::io::Write;
use std::path::Path;

use contract::{Polled, Rejected, Source, SourceReader, SplitAssignment};
use model::job::{CsvSpec, FormatSpec, SourceCompression};
use model::{Position, SourceId, SplitIndex};

use super::{FileSource, FileSourceOptions};

/// What reading a source to its end, or to its first error, brings.
#[derive(Debug, Default)]
struct Seen {
    records: Vec<(SplitIndex, Position, Vec<u8>)>,
    rejected: Vec<Rejected>,
    error: Option<contract::Error>,
    positions: Vec<(SplitIndex, Position)>,
    counters: Vec<(&'static str, u64)>,
}

impl Seen {
    fn texts(&self) -> Vec<String> {
        self.records.iter().map(|(_, _, value)| String::from_utf8_lossy(value).into_owned()).collect()
    }

    fn at(&self) -> Vec<u64> {
        self.records.iter().map(|(_, position, _)| position.0).collect()
    }

    fn counter(&self, name: &str) -> u64 {
        self.counters.iter().find(|(counter, _)| *counter == name).expect("the counter exists").1
    }
}

fn options(path: &Path, format: FormatSpec) -> FileSourceOptions {
    FileSourceOptions {
        path: path.to_owned(),
        include: Vec::new(),
        compression: SourceCompression::Auto,
        max_record_bytes: 1024 * 1024,
        format,
    }
}

fn csv() -> FormatSpec {
    FormatSpec::Csv(CsvSpec { delimiter: b',', columns: Vec::new(), header: true })
}

fn headless(columns: &[&str]) -> FormatSpec {
    let columns = columns.iter().map(|&column| column.to_owned()).collect();
    FormatSpec::Csv(CsvSpec { delimiter: b',', columns, header: false })
}

fn open(source: &FileSource, position: Option<Position>) -> Result<Box<dyn SourceReader>, contract::Error> {
    let splits =
        source.splits()?.into_iter().map(|split| SplitAssignment { split, position, identity: Vec::new() }).collect();
    source.open(SourceId(0), splits)
}

/// Polls `reader` to its end, at most `polls` times.
fn drain(reader: &mut dyn SourceReader, max_rows: usize, max_bytes: usize, polls: usize) -> Seen {
    let mut seen = Seen::default();
    for _ in 0..polls {
        match reader.poll(max_rows, max_bytes) {
            Ok(Polled::Batch(batch)) => {
                assert!(batch.is_consistent(), "columns are as long as values");
                assert!((1..=max_rows).contains(&batch.len()), "{} rows", batch.len());
                assert!(batch.len() == 1 || batch.values.total_bytes() <= max_bytes, "a batch keeps to the bytes");
                for row in 0..batch.len() {
                    let (_, split, position) = batch.origins.get(row).expect("every row has an origin");
                    let value = batch.values.get(row).expect("a line is no tombstone").to_vec();
                    seen.records.push((split, position, value));
                }
            }
            Ok(Polled::Rejected(rejected)) => seen.rejected.push(rejected),
            Ok(Polled::Idle(_)) => panic!("a file is never idle"),
            Ok(Polled::End) => break,
            Err(error) => {
                seen.error = Some(error);
                break;
            }
        }
    }
    seen.positions = reader.positions();
    seen.counters = reader.counters();
    seen
}

fn read(options: FileSourceOptions) -> Seen {
    let source = FileSource::new(options).expect("the files are found");
    let mut reader = open(&source, None).expect("the files open");
    drain(reader.as_mut(), 4096, 256 * 1024, usize::MAX)
}

/// Reads `bytes` as a file called `name`.
fn read_bytes(name: &str, bytes: &[u8], format: FormatSpec) -> Seen {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join(name);
    std::fs::write(&path, bytes).expect("a file");
    read(options(&path, format))
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::GzBuilder::new()
        .filename("a name")
        .comment("a comment")
        .extra(vec![1, 2, 3])
        .write(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("packed");
    encoder.finish().expect("packed")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ::zstd::encode_all(bytes, 3).expect("packed")
}

/// `count` JSON lines, told apart by a number.
fn json_lines(count: usize) -> Vec<u8> {
    (0..count).flat_map(|n| format!("{{\"id\":{n},\"text\":\"{}\"}}\n", "x".repeat(n % 97)).into_bytes()).collect()
}
