//! The job: numbers become records, a native function lets the first of each key through, a sink notes when.

use std::sync::Arc;

use contract::{Error, Polled, Sink, SinkWriter, Source, SourceReader, Split, SplitAssignment, WriterTask};
use format::Format;
use model::job::{InputRef, KeySpec, OnError};
use model::{
    EventTime, JobName, OperatorUid, Origins, Parallelism, Position, RecordBatch, SourceId, Span, SplitIndex, Values,
};
use runtime::{JobGraph, SinkNode, SourceNode, Watermarks};

use crate::engine::function_node;
use crate::entries::KEY_BYTES;
use crate::native::{NativeFactory, NativeFunction};
use crate::restarts::{Arrivals, Records};
use crate::stored;
use crate::tally::Tally;

/// The job over `records`.
///
/// # Errors
/// When the engine refuses it.
pub(crate) fn graph(records: Records, parallelism: Parallelism, arrivals: &Arc<Arrivals>) -> anyhow::Result<JobGraph> {
    let mut graph = JobGraph::new(JobName::new(stored::job_name().as_str())?);
    let (source, function) = (OperatorUid::new("numbers")?, OperatorUid::new("remember")?);
    graph.sources.push(SourceNode {
        uid: source.clone(),
        source: Arc::new(Numbers(records)),
        format: Format::Raw,
        event_time: None,
        watermark: Watermarks::default(),
        on_error: OnError::Fail,
        parallelism: Parallelism(1),
    });
    let mut node = function_node(
        function.clone(),
        source,
        Some(KeySpec::WholeValue),
        Arc::new(NativeFactory::new(NativeFunction::Remember)),
    );
    node.parallelism = parallelism;
    graph.functions.push(node);
    graph.sinks.push(SinkNode {
        uid: OperatorUid::new("sink")?,
        inputs: vec![InputRef { from: function, output: None }],
        sink: Arc::new(Noting(Arc::clone(arrivals))),
        format: Format::Raw,
        parallelism: Parallelism(1),
    });
    graph.check()?;
    Ok(graph)
}

/// Records whose values are keys, made as they are asked for.
struct Numbers(Records);

struct Reader {
    records: Records,
    id: SourceId,
    next: u64,
}

impl Source for Numbers {
    fn splits(&self) -> Result<Vec<Split>, Error> {
        Ok(vec![Split { index: SplitIndex(0), name: "numbers".to_owned() }])
    }

    fn open(&self, id: SourceId, splits: Vec<SplitAssignment>) -> Result<Box<dyn SourceReader>, Error> {
        let position = splits.first().and_then(|split| split.position);
        Ok(Box::new(Reader { records: self.0, id, next: position.map_or(0, |position| position.0) }))
    }
}

impl SourceReader for Reader {
    fn poll(&mut self, max_rows: usize, max_bytes: usize) -> Result<Polled, Error> {
        let rows = max_rows.min(max_bytes / KEY_BYTES).max(1);
        let end = self.records.to.min(self.next.saturating_add(rows as u64));
        if self.next >= end {
            return Ok(Polled::End);
        }
        let (mut arena, mut spans, mut origins) = (Vec::new(), Vec::new(), Origins::default());
        for number in self.next..end {
            let start = arena.len();
            arena.extend_from_slice(&self.records.key(number));
            let at = |byte| u32::try_from(byte).expect("a batch is small");
            spans.push(Span { start: at(start), end: at(arena.len()) });
            origins.push(self.id, SplitIndex(0), Position(number));
        }
        self.next = end;
        let timestamps = vec![EventTime::UNKNOWN; spans.len()];
        let values = Values::new(Arc::new(arena), spans);
        Ok(Polled::Batch(RecordBatch { values, timestamps, origins, ..RecordBatch::default() }))
    }

    fn positions(&self) -> Vec<(SplitIndex, Position)> {
        vec![(SplitIndex(0), Position(self.next))]
    }
}

/// Notes what comes, and when.
struct Noting(Arc<Arrivals>);

impl Sink for Noting {
    fn open(&self, _task: &WriterTask) -> Result<Box<dyn SinkWriter>, Error> {
        Ok(Box::new(Self(Arc::clone(&self.0))))
    }
}

impl SinkWriter for Noting {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        let mut came = Tally::default();
        batch.values.iter().flatten().for_each(|value| came.sum(value));
        self.0.note(came);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn close(&mut self) -> Result<(), Error> {
        Ok(())
    }
}
