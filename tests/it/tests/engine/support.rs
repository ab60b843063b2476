//! Small jobs and the functions they are made of.

use std::sync::Arc;

use contract::doubles::{
    ClosureFactory, ManualClock, MapBackend, MemoryItem, MemoryRecord, MemorySink, MemorySource, port,
};
use contract::{
    Emit, Failure, FailureKind, FunctionFactory, InputBatch, OutputRecords, ProcessError, Sink, Source, StateWrites,
};
use format::Format;
use model::job::{InputRef, KeySpec, OnError};
use model::{
    Cells, Column, Descriptor, FieldColumn, FieldKind, FieldSpec, HostTime, InputId, JobName, MetricDescriptor,
    MetricId, MetricKind, OperatorUid, OptionalColumn, OutputId, Parallelism, PortDescriptor, SlotIndex,
    StateDescriptor, StateId, StateKind, Values,
};
use runtime::{
    FunctionInput, FunctionNode, JobFailure, JobGraph, JobHandle, SinkNode, SourceNode, Summary, Watermarks,
};

pub(crate) fn uid(name: &str) -> OperatorUid {
    OperatorUid::new(name).unwrap()
}

/// `dedup` or `dedup.late`.
pub(crate) fn from(reference: &str) -> InputRef {
    match reference.split_once('.') {
        Some((node, output)) => InputRef { from: uid(node), output: Some(output.to_owned()) },
        None => InputRef { from: uid(reference), output: None },
    }
}

/// A job in the making.
pub(crate) struct Job(pub(crate) JobGraph);

impl Job {
    pub(crate) fn new() -> Self {
        Self(JobGraph::new(JobName::new("job").unwrap()))
    }

    pub(crate) fn source(self, name: &str, source: impl Source + 'static) -> Self {
        self.source_node(name, source, |_| ())
    }

    pub(crate) fn source_node(
        mut self,
        name: &str,
        source: impl Source + 'static,
        change: impl FnOnce(&mut SourceNode),
    ) -> Self {
        let mut node = SourceNode {
            uid: uid(name),
            source: Arc::new(source),
            format: Format::Raw,
            event_time: None,
            watermark: Watermarks::default(),
            on_error: OnError::Fail,
            parallelism: Parallelism(1),
        };
        change(&mut node);
        self.0.sources.push(node);
        self
    }

    /// A function that reads the outputs `reads` on its first input.
    pub(crate) fn function(
        mut self,
        name: &str,
        reads: &[&str],
        factory: ClosureFactory,
        change: impl FnOnce(&mut FunctionNode),
    ) -> Self {
        let is_keyed = factory.descriptor().keyed && !factory.descriptor().assigns;
        let mut node = FunctionNode {
            uid: uid(name),
            inputs: reads.iter().map(|read| FunctionInput { input: InputId(0), from: from(read) }).collect(),
            key: is_keyed.then_some(KeySpec::WholeValue),
            factory: Arc::new(factory),
            config: "{}".to_owned(),
            on_error: OnError::Fail,
            parallelism: Parallelism(1),
            state: Some(Arc::new(MapBackend)),
        };
        change(&mut node);
        self.0.functions.push(node);
        self
    }

    pub(crate) fn sink(self, name: &str, reads: &[&str], sink: impl Sink + 'static) -> Self {
        self.sink_node(name, reads, sink, |_| ())
    }

    pub(crate) fn sink_node(
        mut self,
        name: &str,
        reads: &[&str],
        sink: impl Sink + 'static,
        change: impl FnOnce(&mut SinkNode),
    ) -> Self {
        let mut node = SinkNode {
            uid: uid(name),
            inputs: reads.iter().map(|read| from(read)).collect(),
            sink: Arc::new(sink),
            format: Format::Json,
            parallelism: Parallelism(1),
        };
        change(&mut node);
        self.0.sinks.push(node);
        self
    }

    pub(crate) fn dead_letters(mut self, sink: &MemorySink) -> Self {
        self.0.dead_letters = Some(Arc::new(sink.clone()));
        self
    }

    pub(crate) fn batch_rows(mut self, rows: usize) -> Self {
        self.0.settings.batch.max_rows = rows;
        self
    }

    pub(crate) fn start(&self) -> JobHandle {
        runtime::start(&self.0, Arc::new(ManualClock::new(HostTime(1_000)))).unwrap()
    }

    pub(crate) fn run(&self) -> Result<Summary, Box<JobFailure>> {
        self.start().wait()
    }

    /// Runs a job that is expected to come to its end.
    pub(crate) fn finish(&self) -> Summary {
        self.run().unwrap_or_else(|failure| panic!("the job failed: {failure}"))
    }
}

/// The texts `prefix-0`, `prefix-1` ….
pub(crate) fn numbered(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{prefix}-{number}")).collect()
}

pub(crate) fn record(value: &str) -> MemoryItem {
    MemoryItem::Record(MemoryRecord::new(value))
}

/// A source of values that end.
pub(crate) fn values<V: Into<Vec<u8>>>(values: impl IntoIterator<Item = V>) -> MemorySource {
    MemorySource::of_values(values)
}

pub(crate) fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.sort();
    texts
}

/// One record as a function of the tests sees it.
pub(crate) struct Record<'a> {
    pub(crate) row: u32,
    pub(crate) text: &'a str,
    pub(crate) batch: &'a InputBatch,
}

impl Record<'_> {
    pub(crate) fn fail(&self, kind: FailureKind, message: &str) -> Result<Vec<Out>, Failure> {
        Err(Failure { kind, row: None, message: message.to_owned() })
    }
}

/// What a function of the tests does with a record.
pub(crate) enum Out {
    /// Sends it on.
    Forward(u16),
    /// Sends a value made of it.
    Push(u16, String),
    /// Adds one to the counter.
    Count,
}

/// An unkeyed function with the outputs named, one input, and a counter `seen`.
pub(crate) fn descriptor(outputs: &[&str]) -> Descriptor {
    Descriptor {
        inputs: vec![port(0, "in")],
        outputs: (0u16..).zip(outputs).map(|(id, name)| port(id, name)).collect(),
        wants_values: true,
        metrics: vec![MetricDescriptor { name: "seen".to_owned(), kind: MetricKind::Counter }],
        ..Descriptor::default()
    }
}

/// A function that handles records one by one, emitting as it goes.
pub(crate) fn per_record(
    descriptor: Descriptor,
    handle: impl Fn(&Record<'_>) -> Result<Vec<Out>, Failure> + Send + Sync + 'static,
) -> ClosureFactory {
    ClosureFactory::new(descriptor, move |turn| {
        for (row, value) in (0u32..).zip(turn.batch.records.values.iter()) {
            let text = str::from_utf8(value.unwrap_or_default()).unwrap();
            let outs = handle(&Record { row, text, batch: &turn.batch }).map_err(ProcessError::Function)?;
            for out in outs {
                match out {
                    Out::Forward(output) => {
                        turn.staged.emits.push(Emit::Forward { output: OutputId(output), rows: vec![row] });
                    }
                    Out::Push(output, value) => {
                        let values = Values::from([value].iter().collect::<Column>());
                        let records = OutputRecords { rows: vec![row], values, ..OutputRecords::default() };
                        turn.staged.emits.push(Emit::Push { output: OutputId(output), records });
                    }
                    Out::Count => turn.staged.metrics.push((MetricId(0), 1.0)),
                }
            }
        }
        Ok(())
    })
}

/// Forwards everything.
pub(crate) fn pass() -> ClosureFactory {
    per_record(descriptor(&["out"]), |_| Ok(vec![Out::Forward(0)]))
}

/// Forwards the first record of each key, counts the others.
pub(crate) fn dedup() -> ClosureFactory {
    let seen = StateDescriptor {
        id: StateId(0),
        name: "seen".to_owned(),
        kind: StateKind::Value,
        schema: "{}".to_owned(),
        version: 1,
        ttl: None,
    };
    let descriptor = Descriptor { keyed: true, states: vec![seen], wants_values: false, ..descriptor(&["out"]) };
    ClosureFactory::new(descriptor, |turn| {
        let mut known = OptionalColumn::default();
        let keys = Arc::clone(&turn.batch.keys);
        let state = turn.state.as_mut().unwrap();
        state.load(StateId(0), &keys, &mut known).map_err(ProcessError::Host)?;
        let mut is_known: Vec<bool> = known.iter().map(|value| value.is_some()).collect();
        let mut writes = StateWrites { state: StateId(0), ..StateWrites::default() };
        let mut rows = Vec::new();
        for (row, &slot) in (0u32..).zip(&turn.batch.slots) {
            if std::mem::replace(&mut is_known[slot as usize], true) {
                turn.staged.metrics.push((MetricId(0), 1.0));
            } else {
                writes.slots.push(SlotIndex(slot));
                writes.values.push(Some(b"1"));
                rows.push(row);
            }
        }
        turn.staged.writes.push(writes);
        turn.staged.emits.push(Emit::Forward { output: OutputId(0), rows });
        Ok(())
    })
}

/// Refuses values that contain `poison`, each in the way it names; forwards the others.
pub(crate) fn picky() -> ClosureFactory {
    per_record(descriptor(&["out"]), |record| {
        let kind = match record.text {
            text if text.contains("poison-reject") => FailureKind::Rejected,
            text if text.contains("poison-trap") => FailureKind::Trap,
            text if text.contains("poison-fuel") => FailureKind::OutOfFuel,
            _ => return Ok(vec![Out::Forward(0), Out::Count]),
        };
        record.fail(kind, "it is poison")
    })
}

pub(crate) fn field(name: &str, path: &str, kind: FieldKind, required: bool) -> FieldSpec {
    FieldSpec { name: name.to_owned(), path: path.to_owned(), kind, required }
}

pub(crate) fn port_with(id: u16, name: &str, fields: Vec<FieldSpec>) -> PortDescriptor {
    PortDescriptor { fields, ..port(id, name) }
}

impl Record<'_> {
    /// The cells of a text field of the batch.
    pub(crate) fn texts_of(&self, field: usize) -> Vec<String> {
        match &self.batch.records.fields[field].cells {
            Cells::Texts(cells) => cells.iter().map(|cell| String::from_utf8(cell.to_vec()).unwrap()).collect(),
            other => panic!("not texts: {other:?}"),
        }
    }
}

/// Pushes for each record the fields `name`, its text, and `size`, its length.
pub(crate) fn push_fields(descriptor: Descriptor) -> ClosureFactory {
    ClosureFactory::new(descriptor, |turn| {
        let values: Vec<&[u8]> = turn.batch.records.values.iter().map(Option::unwrap_or_default).collect();
        let sizes = values.iter().map(|value| i64::try_from(value.len()).unwrap()).collect();
        let fields = vec![
            FieldColumn { present: Vec::new(), cells: Cells::Texts(values.iter().collect()) },
            FieldColumn { present: Vec::new(), cells: Cells::Integers(sizes) },
        ];
        let rows = (0..u32::try_from(values.len()).unwrap()).collect();
        let records = OutputRecords { rows, fields, ..OutputRecords::default() };
        turn.staged.emits.push(Emit::Push { output: OutputId(0), records });
        Ok(())
    })
}
