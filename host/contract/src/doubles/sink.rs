//! A sink that keeps what it is given, and fails where a test says so.
//!
//! In its exactly-once form ([`MemorySink::exactly_once`]) what is written is staged, and a publisher
//! with a ledger of its own makes it visible. A clone is the same sink over the same target, as a process
//! that starts again finds it.

mod epochs;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::{Blame, Epoch, EventTime, LineageId, Position, RecordBatch, Retry, SourceId, SplitIndex, SubtaskIndex};

use self::epochs::{EpochPublisher, EpochWriter, Outside};
use crate::{Delivery, Error, Publisher, Sink, SinkWriter, WriterTask};

/// A record as a sink was given it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenRecord {
    /// The subtask that wrote it.
    pub subtask: SubtaskIndex,
    /// Its value; `None` for a tombstone.
    pub value: Option<Vec<u8>>,
    /// Its record key.
    pub key: Option<Vec<u8>>,
    /// Its event time.
    pub timestamp: EventTime,
    /// Where it came from.
    pub origin: (SourceId, SplitIndex, Position),
    /// Its headers.
    pub headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl WrittenRecord {
    /// Its value as text; empty for a tombstone.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(self.value.as_deref().unwrap_or_default()).into_owned()
    }
}

/// What all writers of a sink share.
#[derive(Default)]
struct Kept {
    records: Vec<WrittenRecord>,
    flushed: usize,
    open: usize,
    closed: usize,
    /// Whether the target has room for nothing.
    is_full: bool,
    outside: Outside,
}

type OnWrite = Arc<dyn Fn(&RecordBatch) + Send + Sync>;

/// A sink in memory.
#[derive(Clone, Default)]
pub struct MemorySink {
    kept: Arc<Mutex<Kept>>,
    is_exactly_once: bool,
    fails_to_open: Option<String>,
    fails_after: Option<(usize, String)>,
    fails_to_close: Option<String>,
    on_write: Option<OnWrite>,
}

impl MemorySink {
    /// Stages what is written; only a publisher makes it visible.
    #[must_use]
    pub fn exactly_once(self) -> Self {
        Self { is_exactly_once: true, ..self }
    }

    /// The slow half of staging of this epoch fails, each time it is tried.
    #[must_use]
    pub fn failing_to_stage(self, epoch: Epoch, message: &str) -> Self {
        self.kept().outside.fails_to_stage = Some((epoch, message.to_owned()));
        self
    }

    /// Staging fails no more.
    pub fn heal_staging(&self) {
        self.kept().outside.fails_to_stage = None;
    }

    /// From now on (`true`) nothing more fits: writers take nothing and stagings are put off, until there is room again.
    pub fn fill(&self, is_full: bool) {
        self.kept().is_full = is_full;
    }

    /// The next so many calls of `publish` fail, and nothing becomes visible.
    pub fn fail_to_publish(&self, times: usize, message: &str) {
        self.kept().outside.fails_to_publish = (times, message.to_owned());
    }

    /// The next so many calls of `publish` that make something visible take effect, and answer with an error.
    pub fn lose_answers(&self, times: usize) {
        self.kept().outside.loses_answers = times;
    }

    /// What was staged and is not visible, in the order of lineage, epoch, subtask and generation.
    #[must_use]
    pub fn staged(&self) -> Vec<WrittenRecord> {
        self.kept().outside.staged.values().flatten().cloned().collect()
    }

    /// The epochs that took effect, in order.
    #[must_use]
    pub fn published(&self) -> Vec<(LineageId, Epoch)> {
        self.kept().outside.published.clone()
    }

    /// How often `publish` was called.
    #[must_use]
    pub fn publish_calls(&self) -> usize {
        self.kept().outside.publish_calls
    }

    /// Refuses to be opened.
    #[must_use]
    pub fn failing_to_open(self, message: &str) -> Self {
        Self { fails_to_open: Some(message.to_owned()), ..self }
    }

    /// Refuses the batch that would bring it above so many records.
    #[must_use]
    pub fn failing_after(self, records: usize, message: &str) -> Self {
        Self { fails_after: Some((records, message.to_owned())), ..self }
    }

    /// Fails when it is closed.
    #[must_use]
    pub fn failing_to_close(self, message: &str) -> Self {
        Self { fails_to_close: Some(message.to_owned()), ..self }
    }

    /// Calls `look` before every write, on the writer's thread; `look` may block.
    #[must_use]
    pub fn on_write(self, look: impl Fn(&RecordBatch) + Send + Sync + 'static) -> Self {
        Self { on_write: Some(Arc::new(look)), ..self }
    }

    /// What was written, in the order of arrival; in the exactly-once form what is visible, in the order
    /// in which it became so.
    #[must_use]
    pub fn records(&self) -> Vec<WrittenRecord> {
        self.kept().records.clone()
    }

    /// The values as texts, in the order of arrival.
    #[must_use]
    pub fn texts(&self) -> Vec<String> {
        self.kept().records.iter().map(WrittenRecord::text).collect()
    }

    /// How many records had arrived when it was last flushed.
    #[must_use]
    pub fn flushed(&self) -> usize {
        self.kept().flushed
    }

    /// How many writers were opened, and how many of them closed.
    #[must_use]
    pub fn opened_and_closed(&self) -> (usize, usize) {
        let kept = self.kept();
        (kept.open, kept.closed)
    }

    fn check_room(&self) -> Result<(), Error> {
        if self.kept().is_full {
            return Err(Error::new(Blame::External, Retry::Backoff, "nothing more fits").out_of_room(true));
        }
        Ok(())
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for MemorySink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemorySink").field("records", &self.kept().records.len()).finish_non_exhaustive()
    }
}

impl Sink for MemorySink {
    fn delivery(&self) -> Delivery {
        if self.is_exactly_once { Delivery::ExactlyOnce } else { Delivery::AtLeastOnce }
    }

    fn publisher(&self, lineage: LineageId) -> Result<Option<Box<dyn Publisher>>, Error> {
        if !self.is_exactly_once {
            return Ok(None);
        }
        Ok(Some(Box::new(EpochPublisher::new(self.clone(), lineage)?)))
    }

    fn open(&self, task: &WriterTask) -> Result<Box<dyn SinkWriter>, Error> {
        if let Some(message) = &self.fails_to_open {
            return Err(Error::new(Blame::External, Retry::Backoff, message.clone()));
        }
        self.kept().open += 1;
        if self.is_exactly_once {
            return Ok(Box::new(EpochWriter::new(self.clone(), task)));
        }
        Ok(Box::new(MemoryWriter { sink: self.clone(), subtask: task.subtask, failure: None }))
    }
}

struct MemoryWriter {
    sink: MemorySink,
    subtask: SubtaskIndex,
    /// What every call gives from now on.
    failure: Option<Error>,
}

impl MemoryWriter {
    fn check(&self) -> Result<(), Error> {
        self.failure.as_ref().map_or(Ok(()), |first| Err(first.repeat()))
    }

    fn fail(&mut self, message: &str) -> Result<(), Error> {
        let failure = self.failure.insert(Error::new(Blame::External, Retry::RestoreFirst, message));
        Err(failure.repeat())
    }
}

impl SinkWriter for MemoryWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        self.check()?;
        if let Some(look) = &self.sink.on_write {
            look(batch);
        }
        self.sink.check_room()?;
        let mut kept = self.sink.kept();
        if let Some((most, message)) = &self.sink.fails_after
            && kept.records.len() + batch.len() > *most
        {
            let message = message.clone();
            drop(kept);
            return self.fail(&message);
        }
        kept.records.extend(records_of(batch, self.subtask));
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.check()?;
        self.sink.check_room()?;
        let mut kept = self.sink.kept();
        kept.flushed = kept.records.len();
        Ok(())
    }

    fn close(&mut self) -> Result<(), Error> {
        self.check()?;
        if let Some(message) = self.sink.fails_to_close.clone() {
            return self.fail(&message);
        }
        self.flush()?;
        self.sink.kept().closed += 1;
        Ok(())
    }
}

fn records_of(batch: &RecordBatch, subtask: SubtaskIndex) -> impl Iterator<Item = WrittenRecord> + '_ {
    batch.values.iter().enumerate().map(move |(row, value)| {
        let index = u32::try_from(row).unwrap_or(u32::MAX);
        let headers = batch.headers.iter().flat_map(|headers| headers.of_row(index));
        WrittenRecord {
            subtask,
            value: value.map(<[u8]>::to_vec),
            key: batch.record_keys.as_ref().and_then(|keys| keys.get(row)).map(<[u8]>::to_vec),
            timestamp: batch.timestamps.get(row).copied().unwrap_or(EventTime::UNKNOWN),
            origin: batch.origins.get(row).unwrap_or_default(),
            headers: headers.map(|(name, value)| (name.to_vec(), value.map(<[u8]>::to_vec))).collect(),
        }
    })
}
