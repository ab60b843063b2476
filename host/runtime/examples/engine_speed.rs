//! What the engine itself costs per record: made-up JSON records in memory, a keyed native function
//! without state that forwards four of five, a sink that counts.
//!
//! `cargo run -p runtime --example engine_speed [CASE [RECORDS [EPOCHS]]]`: with `epochs` as the third argument a
//! checkpoint is taken every second, over storage in memory.

#![expect(clippy::print_stdout, reason = "it is a program that prints figures")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use contract::doubles::{ClosureFactory, MemoryCheckpoints, MemorySnapshots, port};
use contract::{
    Emit, Error, Polled, Randomness, Sink, SinkWriter, Source, SourceReader, Split, SplitAssignment, WriterTask,
};
use format::{Format, TimeUnit};
use model::job::{InputRef, KeySpec, OnError};
use model::{
    Descriptor, EventTime, FieldKind, FieldSpec, InputId, JobName, OperatorUid, Origins, OutputId, Parallelism,
    Position, RecordBatch, SourceId, Span, SplitIndex, Values,
};
use runtime::{
    CheckpointSummary, Durability, EventTimeCut, FunctionInput, FunctionNode, JobGraph, JobHandle, SinkNode,
    SourceNode, SystemClock, Watermarks,
};

/// Batches made before the clock starts, delivered again and again.
struct Made {
    batches: Arc<Vec<Values>>,
    records: u64,
}

struct Reader {
    batches: Arc<Vec<Values>>,
    id: SourceId,
    next: u64,
    end: u64,
    turn: usize,
}

impl Source for Made {
    fn splits(&self) -> Result<Vec<Split>, Error> {
        Ok(vec![Split { index: SplitIndex(0), name: "made".to_owned() }])
    }

    fn open(&self, id: SourceId, _splits: Vec<SplitAssignment>) -> Result<Box<dyn SourceReader>, Error> {
        Ok(Box::new(Reader { batches: Arc::clone(&self.batches), id, next: 0, end: self.records, turn: 0 }))
    }
}

impl SourceReader for Reader {
    fn poll(&mut self, _max_rows: usize, _max_bytes: usize) -> Result<Polled, Error> {
        if self.next >= self.end {
            return Ok(Polled::End);
        }
        let values = self.batches.get(self.turn % self.batches.len()).cloned().unwrap_or_default();
        self.turn += 1;
        let rows = values.len();
        let mut origins = Origins::default();
        for row in 0..rows as u64 {
            origins.push(self.id, SplitIndex(0), Position(self.next + row));
        }
        self.next += rows as u64;
        let timestamps = vec![EventTime::UNKNOWN; rows];
        Ok(Polled::Batch(RecordBatch { values, timestamps, origins, ..RecordBatch::default() }))
    }

    fn positions(&self) -> Vec<(SplitIndex, Position)> {
        vec![(SplitIndex(0), Position(self.next))]
    }
}

/// Throws everything away.
struct Nowhere;

impl Sink for Nowhere {
    fn open(&self, _task: &WriterTask) -> Result<Box<dyn SinkWriter>, Error> {
        Ok(Box::new(Self))
    }
}

impl SinkWriter for Nowhere {
    fn write(&mut self, _batch: &RecordBatch) -> Result<(), Error> {
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn close(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

/// Records of about 170 bytes, in batches of what a source would deliver.
fn make_batches(batches: u64, rows: u64) -> Vec<Values> {
    let mut number = 0u64;
    let mut batch = || {
        let mut arena = Vec::new();
        let mut spans = Vec::new();
        for _ in 0..rows {
            number += 1;
            let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let start = u32::try_from(arena.len()).expect("a batch is small");
            let record = format!(
                r#"{{"event_id":"{mixed:016x}-{number:08x}-4a5b-9c8d","customer":"c{}","ts":{},"amount":{}.25,"currency":"EUR","note":"nothing of note about this"}}"#,
                mixed % 10_000,
                1_700_000_000_000 + number,
                mixed % 1000,
            );
            arena.extend_from_slice(record.as_bytes());
            spans.push(Span { start, end: u32::try_from(arena.len()).expect("a batch is small") });
        }
        Values::new(Arc::new(arena), spans)
    };
    (0..batches).map(|_| batch()).collect()
}

fn four_of_five(fields: Vec<FieldSpec>, is_keyed: bool) -> ClosureFactory {
    let mut input = port(0, "in");
    input.fields = fields;
    let descriptor =
        Descriptor { inputs: vec![input], outputs: vec![port(0, "out")], keyed: is_keyed, ..Descriptor::default() };
    ClosureFactory::new(descriptor, |turn| {
        let rows = (0u32..).take(turn.batch.records.len()).filter(|row| row % 5 != 0).collect();
        turn.staged.emits.push(Emit::Forward { output: OutputId(0), rows });
        Ok(())
    })
}

fn uid(name: &str) -> OperatorUid {
    OperatorUid::new(name).expect("it is a name")
}

fn from(name: &str) -> InputRef {
    InputRef { from: uid(name), output: None }
}

/// Seconds of processor time of this process, over all threads.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit(')').next().unwrap_or_default();
    let ticks = |at: usize| after.split_whitespace().nth(at).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

/// Numbers that nobody else of this process draws.
struct Draws(AtomicU64);

impl Randomness for Draws {
    fn draw(&self) -> u64 {
        self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed)
    }
}

fn start(graph: &JobGraph, takes_checkpoints: bool) -> JobHandle {
    let clock = Arc::new(SystemClock::new());
    if !takes_checkpoints {
        return runtime::start(graph, clock).expect("the graph is sound");
    }
    let draws = Arc::new(Draws(AtomicU64::new(1)));
    let mut durability = Durability::new(Arc::new(MemoryCheckpoints::new()), Arc::new(MemorySnapshots::new()), draws);
    durability.options.interval = Some(Duration::from_secs(1));
    durability.options.min_pause = Duration::ZERO;
    runtime::start_durable(graph, clock, &durability).expect("the graph is sound, and storage is empty")
}

/// The longest of what checkpoints cost the subtasks.
fn print_checkpoints(checkpoints: &[CheckpointSummary]) {
    let subtasks = || checkpoints.iter().flat_map(|checkpoint| &checkpoint.subtasks);
    let most = |of: &dyn Fn(&runtime::SubtaskCheckpoint) -> Duration| subtasks().map(of).max().unwrap_or_default();
    println!(
        "    {} checkpoints: longest start delay {:?}, alignment {:?}, sync part {:?}, upload {:?}",
        checkpoints.len(),
        most(&|subtask| subtask.start_delay),
        most(&|subtask| subtask.alignment),
        most(&|subtask| subtask.sync),
        most(&|subtask| subtask.upload),
    );
}

fn run(case: &str, batches: &Arc<Vec<Values>>, records: u64, takes_checkpoints: bool) {
    let (is_keyed, has_fields, has_time, parallelism) = match case {
        "copy" => (false, false, false, 0),
        "forward" => (false, false, false, 1),
        "key" => (true, false, false, 1),
        "key-fields-time" => (true, true, true, 1),
        "exchange" => (true, false, false, 2),
        other => panic!("no case `{other}`"),
    };
    let field = |name: &str, kind| FieldSpec { name: name.to_owned(), path: format!("/{name}"), kind, required: true };
    let fields =
        if has_fields { vec![field("amount", FieldKind::Float), field("customer", FieldKind::Text)] } else { vec![] };
    let mut graph = JobGraph::new(JobName::new("speed").expect("it is a name"));
    graph.sources.push(SourceNode {
        uid: uid("made"),
        source: Arc::new(Made { batches: Arc::clone(batches), records }),
        format: Format::Json,
        event_time: has_time.then(|| EventTimeCut { path: "/ts".to_owned(), unit: TimeUnit::Ms }),
        watermark: Watermarks::default(),
        on_error: OnError::Fail,
        parallelism: Parallelism(1),
    });
    if parallelism > 0 {
        graph.functions.push(FunctionNode {
            uid: uid("function"),
            inputs: vec![FunctionInput { input: InputId(0), from: from("made") }],
            key: is_keyed.then(|| KeySpec::Field("/event_id".to_owned())),
            factory: Arc::new(four_of_five(fields, is_keyed)),
            config: "{}".to_owned(),
            on_error: OnError::Fail,
            parallelism: Parallelism(parallelism),
            state: None,
        });
    }
    graph.sinks.push(SinkNode {
        uid: uid("nowhere"),
        inputs: vec![from(if parallelism > 0 { "function" } else { "made" })],
        sink: Arc::new(Nowhere),
        format: Format::Json,
        parallelism: Parallelism(parallelism.max(1)),
    });
    let (wall, cpu) = (Instant::now(), processor_seconds());
    let handle = start(&graph, takes_checkpoints);
    let mut checkpoints = Vec::new();
    while takes_checkpoints && !handle.wait_for(Duration::from_millis(100)) {
        checkpoints = handle.checkpoints();
    }
    let summary = handle.wait().expect("nothing fails");
    let (wall, cpu) = (wall.elapsed(), processor_seconds() - cpu);
    #[expect(clippy::cast_precision_loss, reason = "it is a figure for people")]
    let read = summary.operators.first().map_or(1, |operator| operator.records_in) as f64;
    println!("{case:16} {:7.1} ns wall {:7.1} ns cpu per record", wall.as_secs_f64() * 1e9 / read, cpu * 1e9 / read);
    if takes_checkpoints {
        print_checkpoints(&checkpoints);
    }
    for operator in &summary.operators {
        println!(
            "    {:12} busy {:7.1} idle {:7.1} backpressured {:7.1}",
            operator.uid.as_str(),
            operator.busy.as_secs_f64() * 1e9 / read,
            operator.idle.as_secs_f64() * 1e9 / read,
            operator.backpressured.as_secs_f64() * 1e9 / read,
        );
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let case = arguments.next();
    let records = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(5_000_000);
    let takes_checkpoints = arguments.next().is_some_and(|text| text == "epochs");
    // 256 KiB of records a batch, 16 MB in all: more than the caches hold, as from a file.
    let batches = Arc::new(make_batches(64, 1500));
    match case.as_deref() {
        Some(case) if case != "all" => run(case, &batches, records, takes_checkpoints),
        _ => {
            for case in ["copy", "forward", "key", "key-fields-time", "exchange"] {
                run(case, &batches, records, takes_checkpoints);
            }
        }
    }
}
