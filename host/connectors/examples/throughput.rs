//! How fast records are made and read: `throughput make RECORDS FILE`, `throughput read FILE`,
//! `throughput generate RECORDS`. Nanoseconds are of processor time, so that other work on the machine
//! counts little.
#![expect(clippy::print_stdout, reason = "it talks to a person")]

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use connectors::file::{FileSink, FileSinkOptions, FileSource, FileSourceOptions};
use connectors::generator::{GeneratorOptions, GeneratorSource};
use contract::{Clock, Polled, Sink, SinkWriter, Source, SplitAssignment, WriterTask};
use model::job::{FormatSpec, GeneratorShape, GeneratorSpec, SinkCompression, SourceCompression};
use model::{HostTime, Parallelism, SourceId, SubtaskIndex};

/// A clock that nobody asks, because no rate is given.
struct NoClock;

impl Clock for NoClock {
    fn now(&self) -> HostTime {
        HostTime(0)
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["make", records, file] => {
            let options = FileSinkOptions {
                path: file.into(),
                compression: SinkCompression::None,
                overwrite: true,
                format: FormatSpec::Json,
            };
            let mut writer = FileSink::new(options).open(&WriterTask::plain(SubtaskIndex(0), Parallelism(1)))?;
            run("make and write", &generator(records)?, Some(writer.as_mut()))?;
            Ok(writer.close()?)
        }
        ["generate", records] => run("generate", &generator(records)?, None),
        ["read", file] => {
            let options = FileSourceOptions {
                path: file.into(),
                include: Vec::new(),
                compression: SourceCompression::Auto,
                max_record_bytes: 1 << 20,
                format: FormatSpec::Json,
            };
            let source = FileSource::new(options)?;
            (0..5).try_for_each(|_| run("read", &source, None))
        }
        _ => bail!("usage: throughput make RECORDS FILE | read FILE | generate RECORDS"),
    }
}

fn generator(records: &str) -> Result<GeneratorSource> {
    let spec = GeneratorSpec {
        records: Some(records.parse().context("read the number of records")?),
        rate_per_second: None,
        seed: 1,
        shape: GeneratorShape::Orders,
        duplicates_share: 0.2,
        keys_count: 1_000_000,
        keys_zipf: 0.0,
        payload_bytes: 0,
    };
    Ok(GeneratorSource::new(GeneratorOptions { spec, parallelism: Parallelism(1) }, Arc::new(NoClock)))
}

fn run(what: &str, source: &dyn Source, mut writer: Option<&mut dyn SinkWriter>) -> Result<()> {
    let splits = source
        .splits()?
        .into_iter()
        .map(|split| SplitAssignment { split, position: None, identity: Vec::new() })
        .collect();
    let mut reader = source.open(SourceId(0), splits)?;
    let (mut records, mut bytes) = (0u64, 0u64);
    let started = processor_nanos()?;
    loop {
        match reader.poll(4096, 256 * 1024)? {
            Polled::Batch(batch) => {
                records += batch.len() as u64;
                bytes += batch.values.total_bytes() as u64;
                if let Some(writer) = writer.as_deref_mut() {
                    writer.write(&batch)?;
                }
            }
            Polled::Rejected(rejected) => bail!("{}", rejected.message),
            Polled::Idle(_) => {}
            Polled::End => break,
        }
    }
    let nanos = processor_nanos()? - started;
    println!("{what}: {records} records, {bytes} bytes, {} ns per record", nanos / records.max(1));
    Ok(())
}

/// Processor time of this thread so far.
fn processor_nanos() -> Result<u64> {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").context("read the scheduler's figures")?;
    schedstat.split(' ').next().unwrap_or_default().parse().context("parse the scheduler's figures")
}
