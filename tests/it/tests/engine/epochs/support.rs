//! Jobs with checkpoints, over storage in memory that outlives them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use contract::doubles::{ClosureFactory, ManualClock, MapBackend, MemoryCheckpoints, MemorySink, MemorySnapshots};
use contract::{
    Emit, Error, OutputRecords, Polled, ProcessError, Randomness, Source, SourceReader, Split, SplitAssignment,
    StateBackend, StateWrites,
};
use model::{
    Column, Descriptor, EventTime, HostTime, OptionalColumn, Origins, OutputId, Parallelism, Position, RecordBatch,
    SlotIndex, SourceId, SplitIndex, StateDescriptor, StateId, StateKind, Values,
};
use protocol::coordinator::Options;
use runtime::{Durability, FunctionNode, JobHandle, SinkNode};

use crate::support::{Job, descriptor};

/// Longer than anything here takes.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Numbers that follow from a seed.
pub(crate) struct Draws(AtomicU64);

impl Draws {
    pub(crate) fn from(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }
}

impl Randomness for Draws {
    fn draw(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// What outlives a process, and a clock that stands still.
pub(crate) struct World {
    pub(crate) log: Arc<MemoryCheckpoints>,
    pub(crate) objects: MemorySnapshots,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) options: Options,
    pub(crate) backlog_bytes: u64,
    pub(crate) parting: Duration,
    pub(crate) drop_state: Vec<String>,
    pub(crate) allow_emptied_target: bool,
    draws: Arc<Draws>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            log: Arc::new(MemoryCheckpoints::new()),
            objects: MemorySnapshots::new(),
            clock: Arc::new(ManualClock::new(HostTime(1_000))),
            options: Options { interval: None, min_pause: Duration::ZERO, ..Options::default() },
            backlog_bytes: Durability::BACKLOG_BYTES,
            parting: LONG,
            drop_state: Vec::new(),
            allow_emptied_target: false,
            draws: Arc::new(Draws::from(1)),
        }
    }

    pub(crate) fn durability(&self) -> Durability {
        let log = Arc::clone(&self.log);
        let draws = Arc::clone(&self.draws);
        let mut durability = Durability::new(log, Arc::new(self.objects.clone()), draws);
        durability.options = self.options.clone();
        durability.backlog_bytes = self.backlog_bytes;
        durability.parting = self.parting;
        durability.drop_state = self.drop_state.clone();
        durability.ledger_behind = self.allow_emptied_target;
        durability
    }

    pub(crate) fn try_start(&self, job: &Job) -> Result<JobHandle, Error> {
        let clock = Arc::clone(&self.clock);
        runtime::start_durable(&job.0, clock, &self.durability())
    }

    pub(crate) fn start(&self, job: &Job) -> JobHandle {
        self.try_start(job).unwrap_or_else(|error| panic!("the job does not start: {error}"))
    }

    /// Runs a job to its end.
    pub(crate) fn finish(&self, job: &Job) -> runtime::Summary {
        self.start(job).wait().unwrap_or_else(|failure| panic!("the job failed: {failure}"))
    }
}

/// A record of a tap.
#[derive(Clone, Debug)]
pub(crate) struct Drop {
    pub(crate) text: String,
    pub(crate) time: EventTime,
}

pub(crate) fn drop_of(text: impl Into<String>) -> Drop {
    Drop { text: text.into(), time: EventTime::UNKNOWN }
}

type Drops = Arc<dyn Fn(u32, u64) -> Drop + Send + Sync>;

/// A source whose flow a test controls: of every split the records below `open` come, and the split ends at `end`.
#[derive(Clone)]
pub(crate) struct Tap {
    pub(crate) splits: u32,
    pub(crate) open: Arc<AtomicU64>,
    pub(crate) end: u64,
    pub(crate) max_rows: usize,
    drops: Drops,
}

impl Tap {
    pub(crate) fn new(splits: u32, end: u64, drops: impl Fn(u32, u64) -> Drop + Send + Sync + 'static) -> Self {
        let open = Arc::new(AtomicU64::new(u64::MAX));
        Self { splits, open, end, max_rows: 64, drops: Arc::new(drops) }
    }

    /// Lets the records below `count` of each split through, now and after a restart.
    pub(crate) fn opened_to(self, count: u64) -> Self {
        self.open.store(count, Ordering::SeqCst);
        self
    }

    pub(crate) fn open_to(&self, count: u64) {
        self.open.store(count, Ordering::SeqCst);
    }

    /// Everything, split by split.
    pub(crate) fn drops(&self) -> Vec<Drop> {
        let places = (0..self.splits).flat_map(|split| (0..self.end).map(move |at| (split, at)));
        places.map(|(split, at)| (self.drops)(split, at)).collect()
    }
}

impl Source for Tap {
    fn splits(&self) -> Result<Vec<Split>, Error> {
        Ok((0..self.splits).map(|at| Split { index: SplitIndex(at), name: format!("tap-{at}") }).collect())
    }

    fn open(&self, id: SourceId, splits: Vec<SplitAssignment>) -> Result<Box<dyn SourceReader>, Error> {
        let cursors = splits.iter().map(|it| (it.split.index, it.position.map_or(0, |position| position.0)));
        Ok(Box::new(TapReader { tap: self.clone(), id, cursors: cursors.collect(), turn: 0 }))
    }
}

struct TapReader {
    tap: Tap,
    id: SourceId,
    cursors: Vec<(SplitIndex, u64)>,
    turn: usize,
}

impl SourceReader for TapReader {
    fn poll(&mut self, max_rows: usize, _max_bytes: usize) -> Result<Polled, Error> {
        let open = self.tap.open.load(Ordering::SeqCst);
        for _ in 0..self.cursors.len() {
            let at = self.turn % self.cursors.len();
            self.turn = at + 1;
            let (split, next) = self.cursors[at];
            let end = self.tap.end.min(open).min(next + max_rows.min(self.tap.max_rows) as u64);
            if next >= end {
                continue;
            }
            let mut values = Column::default();
            let mut batch = RecordBatch::default();
            let mut origins = Origins::default();
            for position in next..end {
                let drop = (self.tap.drops)(split.0, position);
                values.push(drop.text.as_bytes());
                batch.timestamps.push(drop.time);
                origins.push(self.id, split, Position(position));
            }
            self.cursors[at].1 = end;
            batch.values = Values::from(values);
            batch.origins = origins;
            return Ok(Polled::Batch(batch));
        }
        let is_over = self.cursors.iter().all(|(_, next)| *next >= self.tap.end);
        Ok(if is_over { Polled::End } else { Polled::Idle(Duration::from_millis(1)) })
    }

    fn positions(&self) -> Vec<(SplitIndex, Position)> {
        self.cursors.iter().map(|(split, next)| (*split, Position(*next))).collect()
    }
}

pub(crate) fn count_state() -> StateDescriptor {
    StateDescriptor {
        id: StateId(0),
        name: "count".to_owned(),
        kind: StateKind::Value,
        schema: "{}".to_owned(),
        version: 1,
        ttl: None,
    }
}

/// Counts the records of each key: `key 1`, `key 2` … A record lost or doubled shows in every later one.
pub(crate) fn count() -> ClosureFactory {
    count_with(count_state())
}

pub(crate) fn count_with(state: StateDescriptor) -> ClosureFactory {
    let id = state.id;
    let descriptor = Descriptor { keyed: true, states: vec![state], ..descriptor(&["out"]) };
    ClosureFactory::new(descriptor, move |turn| {
        let keys = Arc::clone(&turn.batch.keys);
        let mut known = OptionalColumn::default();
        let state = turn.state.as_mut().unwrap();
        state.load(id, &keys, &mut known).map_err(ProcessError::Host)?;
        let number = |value: Option<&[u8]>| value.map_or(0, |bytes| String::from_utf8_lossy(bytes).parse().unwrap());
        let mut counts: Vec<u64> = known.iter().map(number).collect();
        let mut records = OutputRecords::default();
        let mut values = Column::default();
        for (row, &slot) in (0u32..).zip(&turn.batch.slots) {
            counts[slot as usize] += 1;
            let key = String::from_utf8_lossy(keys.keys.get(slot as usize)).into_owned();
            values.push(format!("{key} {}", counts[slot as usize]).as_bytes());
            records.rows.push(row);
        }
        records.values = Values::from(values);
        // Every row writes: the write time is the latest of them, as it is where none is given.
        let mut writes = StateWrites { state: id, ..StateWrites::default() };
        for (slot, count) in (0u32..).zip(&counts) {
            writes.slots.push(SlotIndex(slot));
            writes.values.push(Some(count.to_string().as_bytes()));
        }
        turn.staged.writes.push(writes);
        turn.staged.emits.push(Emit::Push { output: OutputId(0), records });
        Ok(())
    })
}

/// How wide a job is.
#[derive(Clone, Copy)]
pub(crate) struct Width {
    pub(crate) sources: u32,
    pub(crate) counts: u32,
    pub(crate) sinks: u32,
}

/// `tap → count → out`.
pub(crate) fn counting(tap: &Tap, sink: &MemorySink, width: Width) -> Job {
    counting_in(Arc::new(MapBackend), tap, sink, width)
}

/// The same over another state backend.
pub(crate) fn counting_in(backend: Arc<dyn StateBackend>, tap: &Tap, sink: &MemorySink, width: Width) -> Job {
    Job::new()
        .source_node("tap", tap.clone(), |node| node.parallelism = Parallelism(width.sources))
        .function("count", &["tap"], count(), |node: &mut FunctionNode| {
            node.parallelism = Parallelism(width.counts);
            node.state = Some(backend);
        })
        .sink_node("out", &["count"], sink.clone(), |node: &mut SinkNode| node.parallelism = Parallelism(width.sinks))
}

/// Panics unless `texts` are what [`count`] makes of the records of `tap`, each once, for each key in order.
pub(crate) fn assert_counted(tap: &Tap, texts: &[String]) {
    let mut expected: BTreeMap<String, u64> = BTreeMap::new();
    for drop in tap.drops() {
        *expected.entry(drop.text).or_default() += 1;
    }
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    for text in texts {
        let (key, number) = text.split_once(' ').unwrap();
        let last = seen.entry(key.to_owned()).or_default();
        assert_eq!(number.parse::<u64>().unwrap(), *last + 1, "after {last} of `{key}`");
        *last += 1;
    }
    assert_eq!(seen, expected);
}

/// Records of few keys, so that each comes often.
pub(crate) fn few_keys(splits: u32, end: u64) -> Tap {
    Tap::new(splits, end, |split, at| drop_of(format!("k{}", (at * 7 + u64::from(split)) % 53)))
}
