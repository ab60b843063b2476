//! Made-up records: the same ones for the same options, on every machine, for ever.
//!
//! # How a record is made
//! Records are numbered from 0 over the whole source; split `i` of `p` holds the numbers `i`, `i + p`,
//! `i + 2p` …, so the records do not depend on the parallelism. Everything about record `n` follows from
//! `seed` and `n` by `draw`, which is the finalizer of splitmix64: no state is
//! carried from record to record, and a position is a record number.
//!
//! With a share of duplicates, a draw decides whether `n` repeats an earlier record, and another which
//! (any earlier number, each as likely; if that is itself a repeat, what it repeats). A repeat is byte for
//! byte what it repeats.
//!
//! Keys are drawn from `keys_count` many; with an exponent the key of rank `r` comes with a likelihood
//! of about `r^-exponent` (the whole part of a continuous power law, computed with additions,
//! multiplications and divisions alone, because library logarithms differ in their last bits).
//!
//! # Absent on purpose
//! No random number generator of a crate: their streams may change with a version.

mod draws;
mod shapes;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use contract::{Clock, Polled, Source, SourceReader, Split, SplitAssignment};
use model::job::{GeneratorShape, GeneratorSpec};
use model::{Blame, EventTime, Origins, Parallelism, Position, RecordBatch, Retry, SourceId, Span, SplitIndex, Values};

use self::draws::{Draws, PowerLaw};
use self::shapes::Writer;
use crate::arena::ArenaPool;

/// As much as a file source reads at once, so that both feed the engine alike.
const ARENA_BYTES: usize = 256 * 1024;
/// The shortest wait: below it the engine would do nothing but ask.
const SHORTEST_WAIT: Duration = Duration::from_micros(500);

/// Why records cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A split that the generator does not have.
    #[error("split `{split}` is not one of the {splits} splits of the generator")]
    UnknownSplit {
        /// The split.
        split: String,
        /// How many there are.
        splits: u32,
    },
    /// What was noted is of records that other options make.
    #[error("split `{split}` makes other records than those that were read: expected `{expected}`, found `{found}`")]
    OtherRecords {
        /// The split.
        split: String,
        /// The options that were noted.
        expected: String,
        /// The options of now.
        found: String,
    },
    /// A position that belongs to another split, because the parallelism was another when it was taken.
    #[error("record {position} does not belong to split {split} of {splits}")]
    PositionGone {
        /// The position.
        position: u64,
        /// The split.
        split: u32,
        /// How many there are.
        splits: u32,
    },
}

impl From<Error> for contract::Error {
    fn from(error: Error) -> Self {
        Self::new(Blame::Config, Retry::No, error.to_string()).with_code("E0340").with_source(error)
    }
}

/// Options of a generator.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratorOptions {
    /// What to make.
    pub spec: GeneratorSpec,
    /// How many splits.
    pub parallelism: Parallelism,
}

/// A source of made-up records.
pub struct GeneratorSource {
    options: GeneratorOptions,
    clock: Arc<dyn Clock>,
}

impl GeneratorSource {
    /// A generator; `clock` paces it where a rate is given.
    #[must_use]
    pub fn new(options: GeneratorOptions, clock: Arc<dyn Clock>) -> Self {
        Self { options, clock }
    }
}

impl GeneratorSource {
    /// Everything that decides what the records of a split are; how many and how fast they come does not.
    /// Noted with positions: never changed, only added to under another first word.
    fn identity(&self) -> String {
        let GeneratorSpec { seed, shape, duplicates_share, keys_count, keys_zipf, payload_bytes, .. } =
            &self.options.spec;
        let shape = match shape {
            GeneratorShape::Orders => "orders",
            GeneratorShape::Clicks => "clicks",
            GeneratorShape::Words => "words",
            GeneratorShape::Raw => "raw",
        };
        let splits = self.options.parallelism.0.max(1);
        format!(
            "v1 shape={shape} seed={seed} duplicates={duplicates_share} keys={keys_count} zipf={keys_zipf} payload={payload_bytes} splits={splits}"
        )
    }
}

impl Source for GeneratorSource {
    fn splits(&self) -> Result<Vec<Split>, contract::Error> {
        let splits = 0..self.options.parallelism.0.max(1);
        Ok(splits.map(|index| Split { index: SplitIndex(index), name: format!("generator-{index}") }).collect())
    }

    fn open(&self, id: SourceId, splits: Vec<SplitAssignment>) -> Result<Box<dyn SourceReader>, contract::Error> {
        let spec = &self.options.spec;
        let step = self.options.parallelism.0.max(1);
        let identity = self.identity();
        let mut streams = Vec::new();
        for assigned in splits {
            let index = assigned.split.index;
            if index.0 >= step {
                return Err(Error::UnknownSplit { split: assigned.split.name, splits: step }.into());
            }
            if !assigned.identity.is_empty() && assigned.identity != identity.as_bytes() {
                let expected = String::from_utf8_lossy(&assigned.identity).into_owned();
                return Err(Error::OtherRecords { split: assigned.split.name, expected, found: identity }.into());
            }
            let next = assigned.position.map_or(u64::from(index.0), |position| position.0);
            if next % u64::from(step) != u64::from(index.0) {
                return Err(Error::PositionGone { position: next, split: index.0, splits: step }.into());
            }
            streams.push(Stream { index, next, made: 0 });
        }
        Ok(Box::new(GeneratorReader {
            id,
            identity,
            step: u64::from(step),
            end: spec.records.unwrap_or(u64::MAX),
            draws: Draws::new(spec.seed, spec.duplicates_share),
            writer: Writer::new(spec.shape, PowerLaw::new(spec.keys_count, spec.keys_zipf), spec.payload_bytes),
            pace: spec.rate_per_second.map(|rate| Pace {
                clock: Arc::clone(&self.clock),
                opened: self.clock.elapsed(),
                rate_per_second: rate / f64::from(step),
            }),
            streams,
            turn: 0,
            pool: ArenaPool::new(ARENA_BYTES),
        }))
    }
}

/// One split.
struct Stream {
    index: SplitIndex,
    /// The number of its next record.
    next: u64,
    /// How many were made since it was opened.
    made: u64,
}

/// When records of a split are due.
struct Pace {
    clock: Arc<dyn Clock>,
    opened: Duration,
    rate_per_second: f64,
}

impl Pace {
    /// How many records are due since the start.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a product of non-negative numbers; beyond 2^64 it saturates"
    )]
    fn due(&self) -> u64 {
        let elapsed = self.clock.elapsed().saturating_sub(self.opened);
        (elapsed.as_secs_f64() * self.rate_per_second) as u64 + 1
    }

    /// How long until record `made` (from 0) is due.
    #[expect(clippy::cast_precision_loss, reason = "a wait needs no exact count")]
    fn wait(&self, made: u64) -> Duration {
        let elapsed = self.clock.elapsed().saturating_sub(self.opened);
        let due = Duration::try_from_secs_f64(made as f64 / self.rate_per_second).unwrap_or(Duration::MAX);
        due.saturating_sub(elapsed).max(SHORTEST_WAIT)
    }
}

struct GeneratorReader {
    id: SourceId,
    identity: String,
    /// From one record of a split to its next.
    step: u64,
    /// One past the last record.
    end: u64,
    draws: Draws,
    writer: Writer,
    pace: Option<Pace>,
    streams: Vec<Stream>,
    /// Whose turn it is.
    turn: usize,
    pool: ArenaPool,
}

impl GeneratorReader {
    /// At least one record of a split, as far as rows, bytes and `end` allow.
    fn make(&mut self, stream: usize, rows: usize, max_bytes: usize) -> Option<RecordBatch> {
        let stream = self.streams.get_mut(stream)?;
        let mut arena = self.pool.take_empty();
        let (mut spans, mut origins) = (Vec::new(), Origins::default());
        while spans.len() < rows && stream.next < self.end {
            let start = arena.len();
            self.writer.write(&self.draws, self.draws.original(stream.next), &mut arena);
            if arena.len() > max_bytes && !spans.is_empty() {
                arena.truncate(start);
                break;
            }
            let to_u32 = |at: usize| u32::try_from(at).expect("an arena is far below 4 GiB");
            spans.push(Span { start: to_u32(start), end: to_u32(arena.len()) });
            origins.push(self.id, stream.index, Position(stream.next));
            stream.next = stream.next.saturating_add(self.step);
            stream.made += 1;
        }
        Some(RecordBatch {
            timestamps: vec![EventTime::UNKNOWN; spans.len()],
            values: Values::new(self.pool.lend(arena), spans),
            origins,
            ..RecordBatch::default()
        })
    }
}

impl SourceReader for GeneratorReader {
    fn poll(&mut self, max_rows: usize, max_bytes: usize) -> Result<Polled, contract::Error> {
        let due = self.pace.as_ref().map_or(u64::MAX, Pace::due);
        let mut wait = None;
        for _ in 0..self.streams.len() {
            let turn = self.turn;
            self.turn = (turn + 1) % self.streams.len();
            let Some(stream) = self.streams.get(turn).filter(|stream| stream.next < self.end) else { continue };
            let made = stream.made;
            let rows = usize::try_from(due.saturating_sub(made)).unwrap_or(usize::MAX).min(max_rows.max(1));
            if rows > 0
                && let Some(batch) = self.make(turn, rows, max_bytes)
            {
                return Ok(Polled::Batch(batch));
            }
            let until = self.pace.as_ref().map_or(SHORTEST_WAIT, |pace| pace.wait(made));
            wait = Some(wait.map_or(until, |wait: Duration| wait.min(until)));
        }
        Ok(wait.map_or(Polled::End, Polled::Idle))
    }

    fn positions(&self) -> Vec<(SplitIndex, Position)> {
        self.streams.iter().map(|stream| (stream.index, Position(stream.next))).collect()
    }

    fn identity(&self, _split: SplitIndex) -> Result<Vec<u8>, contract::Error> {
        Ok(self.identity.clone().into_bytes())
    }

    fn has_ended(&self, split: SplitIndex) -> bool {
        self.streams.iter().any(|stream| stream.index == split && stream.next >= self.end)
    }
}
