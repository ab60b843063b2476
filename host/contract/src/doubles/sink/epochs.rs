//! The exactly-once form of the sink in memory: what is outside, and who stages and publishes.
//!
//! # Invariants
//! 1. Visible records and the ledger change in one step.
//! 2. A publisher of a lineage closes those that published before it: they are refused from then on.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::{Arc, OnceLock};

use model::{Blame, Epoch, Generation, LineageId, RecordBatch, Retry, SubtaskIndex};

use super::{MemorySink, WrittenRecord, records_of};
use crate::{Error, Publisher, SinkWriter, StagedOutput, Staging, WriterTask};

/// What the sink's target holds, and the faults to come.
#[derive(Default)]
pub(super) struct Outside {
    pub(super) staged: BTreeMap<StagedId, Vec<WrittenRecord>>,
    pub(super) published: Vec<(LineageId, Epoch)>,
    pub(super) publish_calls: usize,
    /// What a publisher was opened for last, and what it closed.
    lineage: Option<LineageId>,
    closed: BTreeSet<LineageId>,
    pub(super) fails_to_stage: Option<(Epoch, String)>,
    pub(super) fails_to_publish: (usize, String),
    pub(super) loses_answers: usize,
}

impl Outside {
    fn ledger(&self, lineage: LineageId) -> Option<Epoch> {
        self.published.iter().filter(|(of, _)| *of == lineage).map(|(_, epoch)| *epoch).max()
    }

    fn check_open(&self, lineage: LineageId) -> Result<(), Error> {
        if self.closed.contains(&lineage) {
            let message = format!("lineage {lineage} is closed: {:?} took its place", self.lineage);
            return Err(Error::new(Blame::Config, Retry::No, message));
        }
        Ok(())
    }
}

/// Names what a writer staged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StagedId {
    lineage: LineageId,
    epoch: Epoch,
    subtask: SubtaskIndex,
    generation: Generation,
}

impl StagedId {
    fn encode(self) -> Vec<u8> {
        format!("{} {} {} {}", self.lineage, self.epoch, self.subtask, self.generation).into_bytes()
    }

    fn decode(body: &[u8]) -> Result<Self, Error> {
        let text = String::from_utf8_lossy(body);
        let mut words = text.split(' ');
        let lineage = words.next().and_then(LineageId::parse);
        let mut number = || words.next().and_then(|word| word.parse::<u64>().ok());
        let (epoch, subtask, generation) = (number(), number(), number());
        let subtask = subtask.and_then(|subtask| u32::try_from(subtask).ok());
        match (lineage, epoch, subtask, generation) {
            (Some(lineage), Some(epoch), Some(subtask), Some(generation)) => Ok(Self {
                lineage,
                epoch: Epoch(epoch),
                subtask: SubtaskIndex(subtask),
                generation: Generation(generation),
            }),
            _ => Err(Error::new(Blame::Host, Retry::No, format!("`{text}` names nothing staged"))),
        }
    }
}

/// Gathers records until their epoch ends.
pub(super) struct EpochWriter {
    sink: MemorySink,
    task: WriterTask,
    gathered: Vec<WrittenRecord>,
    /// The first failure, of the writer or of a staging, which every later call gives again.
    failure: Arc<OnceLock<Error>>,
}

impl EpochWriter {
    pub(super) fn new(sink: MemorySink, task: &WriterTask) -> Self {
        Self { sink, task: *task, gathered: Vec::new(), failure: Arc::default() }
    }

    fn check(&self) -> Result<(), Error> {
        self.failure.get().map_or(Ok(()), |first| Err(first.repeat()))
    }

    fn fail(&self, message: &str) -> Error {
        self.failure.get_or_init(|| Error::new(Blame::External, Retry::RestoreFirst, message)).repeat()
    }
}

impl SinkWriter for EpochWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        self.check()?;
        if let Some(look) = &self.sink.on_write {
            look(batch);
        }
        self.sink.check_room()?;
        if let Some((most, message)) = &self.sink.fails_after
            && self.gathered.len() + batch.len() > *most
        {
            return Err(self.fail(message));
        }
        self.gathered.extend(records_of(batch, self.task.subtask));
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.check()
    }

    fn stage(&mut self, epoch: Epoch) -> Result<Staging, Error> {
        self.check()?;
        let mut gathered = mem::take(&mut self.gathered);
        let WriterTask { subtask, lineage, generation, .. } = self.task;
        let id = StagedId { lineage, epoch, subtask, generation };
        let (sink, failure) = (self.sink.clone(), Arc::clone(&self.failure));
        Ok(Box::new(move || {
            if gathered.is_empty() {
                return Ok(Vec::new());
            }
            sink.check_room()?;
            let outside = &mut sink.kept().outside;
            if let Some((_, message)) = outside.fails_to_stage.as_ref().filter(|(fails, _)| *fails == epoch) {
                let first = failure.get_or_init(|| Error::new(Blame::External, Retry::RestoreFirst, message.clone()));
                return Err(first.repeat());
            }
            let bytes = gathered.iter().map(|record| record.value.as_ref().map_or(0, Vec::len) as u64).sum();
            let records = gathered.len() as u64;
            outside.staged.insert(id, mem::take(&mut gathered));
            Ok(vec![StagedOutput { slot: subtask.0, records, bytes, body: id.encode() }])
        }))
    }

    fn close(&mut self) -> Result<(), Error> {
        self.check()?;
        if let Some(message) = &self.sink.fails_to_close {
            return Err(self.fail(message));
        }
        self.gathered.clear();
        self.sink.kept().closed += 1;
        Ok(())
    }
}

/// Makes staged records visible.
pub(super) struct EpochPublisher {
    sink: MemorySink,
    lineage: LineageId,
}

impl EpochPublisher {
    pub(super) fn new(sink: MemorySink, lineage: LineageId) -> Result<Self, Error> {
        let outside = &mut sink.kept().outside;
        outside.check_open(lineage)?;
        if let Some(before) = outside.lineage.replace(lineage).filter(|before| *before != lineage) {
            outside.closed.insert(before);
        }
        Ok(Self { sink: sink.clone(), lineage })
    }
}

impl Publisher for EpochPublisher {
    fn publish(&mut self, epoch: Epoch, staged: &[StagedOutput]) -> Result<(), Error> {
        let mut kept = self.sink.kept();
        let super::Kept { outside, records, .. } = &mut *kept;
        outside.publish_calls += 1;
        outside.check_open(self.lineage)?;
        if outside.fails_to_publish.0 > 0 {
            outside.fails_to_publish.0 -= 1;
            let message = outside.fails_to_publish.1.clone();
            return Err(Error::new(Blame::External, Retry::Backoff, message));
        }
        if outside.ledger(self.lineage).is_some_and(|last| epoch <= last) {
            return Ok(());
        }
        let ids = staged.iter().map(|output| StagedId::decode(&output.body)).collect::<Result<Vec<_>, _>>()?;
        if let Some(gone) = ids.iter().find(|id| !outside.staged.contains_key(id)) {
            let message = format!("publish epoch {epoch}: what was staged as {gone:?} is gone");
            return Err(Error::new(Blame::External, Retry::No, message));
        }
        for id in &ids {
            records.extend(outside.staged.remove(id).into_iter().flatten());
        }
        if ids.is_empty() {
            return Ok(());
        }
        outside.published.push((self.lineage, epoch));
        if outside.loses_answers > 0 {
            outside.loses_answers -= 1;
            let message = format!("publish epoch {epoch}: the answer was lost");
            return Err(Error::new(Blame::External, Retry::Backoff, message));
        }
        Ok(())
    }

    fn last_published(&mut self) -> Result<Option<Epoch>, Error> {
        let kept = self.sink.kept();
        kept.outside.check_open(self.lineage)?;
        Ok(kept.outside.ledger(self.lineage))
    }

    fn discard_orphans(&mut self, listed: &[StagedOutput], generation: Generation) -> Result<u64, Error> {
        let listed = listed.iter().map(|output| StagedId::decode(&output.body)).collect::<Result<Vec<_>, _>>()?;
        let staged = &mut self.sink.kept().outside.staged;
        let before = staged.len();
        staged.retain(|id, _| id.lineage != self.lineage || id.generation >= generation || listed.contains(id));
        Ok((before - staged.len()) as u64)
    }
}
