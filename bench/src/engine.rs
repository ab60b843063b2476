//! The cases as jobs of the engine.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use connectors::file::{FileSink, FileSinkOptions, FileSource, FileSourceOptions};
use contract::{Error, FunctionFactory, Sink, SinkWriter, WriterTask};
use format::{Format, TimeUnit};
use guest::{Compiler, GuestFactory, Limits, Sandbox, SandboxOptions};
use model::job::{FormatSpec, InputRef, KeySpec, OnError, SinkCompression, SourceCompression};
use model::{InputId, JobName, OperatorUid, Parallelism, RecordBatch};
use runtime::{EventTimeCut, FunctionInput, FunctionNode, JobGraph, SinkNode, SourceNode, SystemClock, Watermarks};
use state::MemoryBackend;

use crate::cases::{SinkKind, Variant, Work};
use crate::epochs::{self, EpochFigures, Epochs};
use crate::guests;
use crate::native::{NativeFactory, NativeFunction};
use crate::one_run::RunSpec;
use crate::tally::Tally;

/// A job that is ready to run: code is compiled, nothing was read.
pub(crate) struct Job {
    graph: JobGraph,
    counts: Arc<Counts>,
    writes_file: bool,
    epochs: Option<Epochs>,
}

/// What a job left behind.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    /// What came out.
    pub(crate) tally: Tally,
    /// Fuel of all functions.
    pub(crate) fuel: u64,
    /// Live bytes of all keyed state.
    pub(crate) live_bytes: u64,
    /// Bytes that the tables of keyed state take, indexes and dead entries included.
    pub(crate) table_bytes: u64,
    /// The checkpoints that were taken.
    pub(crate) checkpoints: Vec<EpochFigures>,
}

/// A step of a case: a function and what it is keyed by.
struct Step {
    name: &'static str,
    native: NativeFunction,
    key: Option<KeySpec>,
}

fn steps(work: Work) -> Vec<Step> {
    let unkeyed = |name, native| vec![Step { name, native, key: None }];
    match work {
        Work::Pass => unkeyed("pass", NativeFunction::Pass),
        Work::MapBinary => unkeyed("map-binary", NativeFunction::MapBinary),
        Work::FilterBinary => unkeyed("filter-binary", NativeFunction::FilterBinary),
        Work::FilterJson => unkeyed("filter-json", NativeFunction::FilterJson),
        Work::MapJson => unkeyed("map-json", NativeFunction::MapJson),
        Work::Dedup => {
            let key = Some(KeySpec::Field("/event_id".to_owned()));
            vec![Step { name: "dedup", native: NativeFunction::Dedup, key }]
        }
        Work::Words => vec![
            Step { name: "split", native: NativeFunction::Split, key: None },
            Step { name: "count", native: NativeFunction::Count, key: Some(KeySpec::WholeValue) },
        ],
    }
}

impl Job {
    /// Makes the job of a run.
    ///
    /// # Errors
    /// When a component or the input cannot be read, or the engine refuses the graph.
    pub(crate) fn prepare(spec: &RunSpec, output: &Path) -> anyhow::Result<Self> {
        let is_json = matches!(spec.work, Work::FilterJson | Work::MapJson | Work::Dedup);
        let (format, format_spec) =
            if is_json { (Format::Json, FormatSpec::Json) } else { (Format::Raw, FormatSpec::Raw) };
        let mut graph = JobGraph::new(JobName::new("bench")?);
        if let Variant::Batch(rows) = spec.variant {
            graph.settings.batch.max_rows = rows as usize;
        }
        let source = FileSource::new(FileSourceOptions {
            path: spec.input.clone(),
            include: Vec::new(),
            compression: SourceCompression::None,
            max_record_bytes: 1 << 20,
            format: format_spec.clone(),
        })?;
        graph.sources.push(SourceNode {
            uid: OperatorUid::new("source")?,
            source: Arc::new(source),
            format,
            event_time: (spec.work == Work::Dedup).then(|| EventTimeCut { path: "/ts".to_owned(), unit: TimeUnit::Ms }),
            watermark: Watermarks::default(),
            on_error: OnError::Fail,
            parallelism: Parallelism(1),
        });
        let mut from = OperatorUid::new("source")?;
        for step in steps(spec.work) {
            let factory = factory(&step, spec)?;
            let uid = OperatorUid::new(step.name)?;
            graph.functions.push(function_node(uid.clone(), from, step.key, factory));
            from = uid;
        }
        let counts = Arc::new(Counts::default());
        let interval = spec.variant.epoch_millis().map(|millis| Duration::from_millis(millis.into()));
        let epochs = interval.map(|interval| Epochs::prepare(&spec.directory, interval)).transpose()?;
        let writes_file = spec.sink == SinkKind::File || epochs.is_some();
        let target: Arc<dyn Sink> = match &epochs {
            Some(epochs) => Arc::new(epochs.sink(format_spec)),
            None if writes_file => Arc::new(file_sink(output, format_spec)),
            None => Arc::new(TallySink { sums: spec.sink == SinkKind::Checksum, counts: Arc::clone(&counts) }),
        };
        graph.sinks.push(SinkNode {
            uid: OperatorUid::new("sink")?,
            inputs: vec![InputRef { from, output: None }],
            sink: target,
            format: Format::Json,
            parallelism: Parallelism(1),
        });
        graph.check()?;
        Ok(Self { graph, counts, writes_file, epochs })
    }

    /// Runs the job to the end of its input.
    ///
    /// # Errors
    /// When it fails.
    pub(crate) fn run(&self) -> anyhow::Result<Ended> {
        let handle = match &self.epochs {
            Some(epochs) => epochs.start(&self.graph)?,
            None => runtime::start(&self.graph, Arc::new(SystemClock::new()))?,
        };
        let (summary, checkpoints) = epochs::wait(handle)?;
        let fuel = summary.operators.iter().map(|operator| operator.fuel_used).sum();
        let live_bytes = summary.operators.iter().map(|operator| operator.state.live_bytes).sum();
        let table_bytes = summary.operators.iter().map(|operator| operator.state.memory_bytes).sum();
        let mut tally = self.counts.tally();
        if self.writes_file {
            tally.records = summary.operator("sink").map_or(0, |sink| sink.records_out);
        }
        Ok(Ended { tally, fuel, live_bytes, table_bytes, checkpoints })
    }

    /// What came out of a run that ended with `tally`, with its checksum where that has to be read from files.
    ///
    /// # Errors
    /// When they are not as they should be.
    pub(crate) fn sum_up(&self, tally: Tally) -> anyhow::Result<Tally> {
        self.epochs.as_ref().map_or(Ok(tally), Epochs::committed)
    }
}

/// A function of a job, with its state in memory.
pub(crate) fn function_node(
    uid: OperatorUid,
    from: OperatorUid,
    key: Option<KeySpec>,
    factory: Arc<dyn FunctionFactory>,
) -> FunctionNode {
    FunctionNode {
        uid,
        inputs: vec![FunctionInput { input: InputId(0), from: InputRef { from, output: None } }],
        key,
        factory,
        config: "{}".to_owned(),
        on_error: OnError::Fail,
        parallelism: Parallelism(1),
        state: Some(Arc::new(MemoryBackend::default())),
    }
}

fn file_sink(output: &Path, format: FormatSpec) -> FileSink {
    let options =
        FileSinkOptions { path: output.to_path_buf(), compression: SinkCompression::None, overwrite: true, format };
    FileSink::new(options)
}

fn factory(step: &Step, spec: &RunSpec) -> anyhow::Result<Arc<dyn FunctionFactory>> {
    if spec.variant.is_native() {
        return Ok(Arc::new(NativeFactory::new(step.native)));
    }
    let fuel = spec.variant != Variant::FuelOff;
    guest_factory(&guests::component_path(&spec.directory, step.name), fuel, &spec.directory.join("compiled"))
}

/// A factory of the function in the component at `path`; compiled code is kept in `cache`.
pub(crate) fn guest_factory(path: &Path, fuel: bool, cache: &PathBuf) -> anyhow::Result<Arc<dyn FunctionFactory>> {
    let compiler = Compiler::in_process().with_cache(cache)?;
    let sandbox = Sandbox::new(&SandboxOptions { fuel, ..SandboxOptions::default() }, compiler)?;
    let module = sandbox.load(&std::fs::read(path)?)?;
    let limits = Limits::default();
    let fuel_per_record = limits.fuel_per_record.filter(|_| fuel);
    Ok(Arc::new(GuestFactory::new(module, Limits { fuel_per_record, ..limits })?))
}

/// What reached a sink.
#[derive(Debug, Default)]
struct Counts {
    records: AtomicU64,
    checksum: AtomicU64,
}

impl Counts {
    fn tally(&self) -> Tally {
        Tally { records: self.records.load(Ordering::Relaxed), checksum: self.checksum.load(Ordering::Relaxed) }
    }
}

/// Counts what reaches it, and sums it up if asked to.
struct TallySink {
    sums: bool,
    counts: Arc<Counts>,
}

/// A writer of a sink; what it found is added at the end.
struct TallyWriter {
    sums: bool,
    counts: Arc<Counts>,
    found: Tally,
}

impl Sink for TallySink {
    fn open(&self, _task: &WriterTask) -> Result<Box<dyn SinkWriter>, Error> {
        Ok(Box::new(TallyWriter { sums: self.sums, counts: Arc::clone(&self.counts), found: Tally::default() }))
    }
}

impl SinkWriter for TallyWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        if self.sums {
            batch.values.iter().flatten().for_each(|value| self.found.sum(value));
        } else {
            self.found.records += batch.len() as u64;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn close(&mut self) -> Result<(), Error> {
        self.counts.records.fetch_add(self.found.records, Ordering::Relaxed);
        self.counts.checksum.fetch_add(self.found.checksum, Ordering::Relaxed);
        Ok(())
    }
}
