//! One host: the coordinator of `protocol`, driven step by step.
//!
//! A step is one thing that some thread of a real host would do next: read a record, handle an element, upload a
//! piece, create a manifest, publish an epoch, or look at the clock. Which one is drawn.

mod manifests;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use contract::{Nonce, SnapshotStore};
use model::{Epoch, ObjectHandle, ObjectNumber, Position, StagedOutput};
use protocol::coordinator::{Command, Coordinator, Fact, FailReason, SinkNumber, SubtaskFigures, SubtaskNumber};
use protocol::key_group;
use protocol::manifest::{CheckpointKind, Manifest, Part, PendingEpoch};
use protocol::ownership::Ownership;

use crate::bugs::Bug;
use crate::oracle::Violation;
use crate::restore::KEY_GROUPS;
use crate::target::{self, Answer};
use crate::tasks::{CHANNEL, Counter, Element, Reader};
use crate::world::Surroundings;

/// The one sink of the job.
const SINK: SinkNumber = SinkNumber(0);

/// How a host ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    Finished,
    Fenced,
    Failed,
}

/// What a piece that is uploaded is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Delta,
    Image,
    Output { records: u64 },
}

/// A piece on its way to the store.
#[derive(Debug)]
pub(crate) struct Upload {
    subtask: SubtaskNumber,
    epoch: Epoch,
    piece: Piece,
    name: String,
    pieces: Vec<Arc<Vec<u8>>>,
}

/// What a subtask handed over for an epoch.
#[derive(Debug, Default)]
pub(crate) struct HandedOver {
    position: Option<Position>,
    delta: Option<ObjectHandle>,
    image: Option<ObjectHandle>,
    output: Option<StagedOutput>,
    waiting: usize,
}

/// A manifest that is being created.
#[derive(Debug)]
pub(crate) struct Creating {
    epoch: Epoch,
    nonce: Nonce,
    body: Vec<u8>,
    manifest: Manifest,
    /// What the counters' parts are once it is there.
    parts: Vec<Vec<Part>>,
    /// Whether an attempt is to be made.
    is_wanted: bool,
}

/// See the module.
pub(crate) struct Host {
    pub(crate) number: u32,
    pub(crate) ownership: Ownership,
    pub(crate) next_number: ObjectNumber,
    pub(crate) coordinator: Coordinator,
    pub(crate) started: Duration,
    pub(crate) published: Option<Epoch>,
    pub(crate) parent: Option<Epoch>,
    pub(crate) pending: Vec<PendingEpoch>,
    pub(crate) readers: Vec<Reader>,
    pub(crate) counters: Vec<Counter>,
    pub(crate) uploads: Vec<Upload>,
    pub(crate) handed: BTreeMap<(SubtaskNumber, Epoch), HandedOver>,
    pub(crate) creating: Option<Creating>,
    pub(crate) publishes: VecDeque<Epoch>,
    pub(crate) said_ended: bool,
    pub(crate) is_over: Option<Over>,
}

impl Host {
    /// One step of one thread.
    pub(crate) fn step(&mut self, around: &mut Surroundings) -> Result<(), Violation> {
        let (readers, counters) = (self.readers.len(), self.counters.len());
        // Uploads, the manifest, publishing and the clock have a thread each.
        let thread = around.rng.below(readers + counters + 4);
        around.note(thread as u64);
        if thread < readers {
            self.read(thread, around);
        } else if thread < readers + counters {
            self.count(thread - readers, around);
        } else {
            match thread - readers - counters {
                0 => self.upload(around),
                1 => self.create(around),
                2 => self.publish(around)?,
                _ => self.tell(around, Fact::Tick),
            }
        }
        Ok(())
    }

    /// Tells the coordinator, and does what it commands.
    pub(crate) fn tell(&mut self, around: &mut Surroundings, fact: Fact) {
        let now = around.now.saturating_sub(self.started);
        for command in self.coordinator.step(now, fact) {
            self.obey(around, command);
        }
    }

    fn obey(&mut self, around: &mut Surroundings, command: Command) {
        match command {
            Command::Trigger { epoch, kind } => {
                for reader in &mut self.readers {
                    reader.barrier = Some(epoch);
                    reader.is_stopped = kind == CheckpointKind::Final;
                }
            }
            Command::Abort { epoch, .. } => {
                around.report.aborts += 1;
                for counter in &mut self.counters {
                    counter.alignment.abort(epoch);
                }
                for reader in &mut self.readers {
                    reader.is_stopped = false;
                    reader.barrier = reader.barrier.filter(|barrier| *barrier > epoch);
                }
            }
            Command::CreateManifest { epoch, kind, owed_from } => self.prepare(around, epoch, kind, owed_from),
            Command::Complete { epoch, .. } => self.completed(epoch),
            Command::Publish { epoch, .. } => self.publishes.push_back(epoch),
            Command::EndSources => self.readers.iter_mut().for_each(|reader| reader.ends = true),
            Command::Finish => self.is_over = Some(Over::Finished),
            Command::Fail(FailReason::Fenced { .. }) => self.is_over = Some(Over::Fenced),
            Command::Fail(_) => self.is_over = Some(Over::Failed),
            Command::Retain { .. } | Command::Answer { .. } => {}
        }
    }

    /// The number of a counter among all subtasks.
    fn subtask_of(&self, counter: usize) -> SubtaskNumber {
        SubtaskNumber(u32::try_from(self.readers.len() + counter).unwrap_or(u32::MAX))
    }

    fn read(&mut self, split: usize, around: &mut Surroundings) {
        let is_full = |counter: &Counter| counter.channels.get(split).is_some_and(|waiting| waiting.len() >= CHANNEL);
        if self.counters.iter().any(is_full) {
            return;
        }
        let Some(reader) = self.readers.get_mut(split) else { return };
        let records = around.input.splits.get(split).map_or(&[][..], Vec::as_slice);
        if let Some(epoch) = reader.barrier.take() {
            let position = Position(reader.position as u64);
            let barrier = model::Barrier { epoch, watermark: model::EventTime::UNKNOWN };
            self.send_to_all(split, &Element::Barrier(barrier));
            let subtask = SubtaskNumber(u32::try_from(split).unwrap_or(u32::MAX));
            self.hand_over(around, subtask, epoch, HandedOver { position: Some(position), ..HandedOver::default() });
        } else if reader.ends && !reader.has_ended {
            reader.has_ended = true;
            self.send_to_all(split, &Element::End);
        } else if !reader.is_stopped
            && !reader.ends
            && let Some(record) = records.get(reader.position)
        {
            reader.position += 1;
            let group = key_group::group_of(key_group::hash(record.key.as_bytes()), KEY_GROUPS);
            let owner = self.counters.iter_mut().find(|counter| counter.range.contains(group));
            if let Some(waiting) = owner.and_then(|counter| counter.channels.get_mut(split)) {
                waiting.push_back(Element::Record(record.clone()));
            }
        }
        let is_at_end = |(split, reader): (usize, &Reader)| {
            around.input.splits.get(split).is_none_or(|records| reader.position >= records.len())
        };
        if !self.said_ended && self.readers.iter().enumerate().all(is_at_end) {
            self.said_ended = true;
            self.tell(around, Fact::SourcesEnded);
        }
    }

    fn send_to_all(&mut self, split: usize, element: &Element) {
        for waiting in self.counters.iter_mut().filter_map(|counter| counter.channels.get_mut(split)) {
            waiting.push_back(element.clone());
        }
    }

    fn count(&mut self, at: usize, around: &mut Surroundings) {
        let subtask = self.subtask_of(at);
        let Some(counter) = self.counters.get_mut(at) else { return };
        let ready = counter.ready();
        let Some(&channel) = ready.get(around.rng.below(ready.len())) else { return };
        let Some(element) = counter.channels.get_mut(channel).and_then(VecDeque::pop_front) else { return };
        let aligned = match element {
            Element::Record(record) => {
                counter.count(&record, around.bug);
                None
            }
            Element::Barrier(barrier) => counter.barrier(channel, barrier.epoch, around.bug),
            Element::End => counter.alignment.end(channel).expect("an end comes once").aligned.map(|it| it.epoch),
        };
        if let Some(epoch) = aligned {
            self.snapshot(around, at, subtask, epoch);
        }
    }

    fn snapshot(&mut self, around: &mut Surroundings, at: usize, subtask: SubtaskNumber, epoch: Epoch) {
        let generation = self.ownership.generation();
        let Some(counter) = self.counters.get_mut(at) else { return };
        counter.last_snapshot = epoch;
        let mut pieces = Vec::new();
        let delta = counter.state.snapshot().expect("the double takes snapshots");
        if !delta.segments.is_empty() {
            pieces.push((Piece::Delta, "delta", delta.segments));
        }
        if around.rng.once_in(4) {
            let image = counter.state.image().expect("the double makes images");
            let segments = image.collect::<Result<Vec<_>, _>>().expect("the double makes images");
            pieces.push((Piece::Image, "image", segments));
        }
        if !counter.output.is_empty() {
            let lines = std::mem::take(&mut counter.output);
            let records = lines.len() as u64;
            pieces.push((Piece::Output { records }, "output", vec![Arc::new(target::bytes(&lines))]));
        }
        let waiting = pieces.len();
        for (piece, what, pieces) in pieces {
            let name = format!("{what}/{generation}-{epoch}-{subtask}");
            self.uploads.push(Upload { subtask, epoch, piece, name, pieces });
        }
        self.hand_over(around, subtask, epoch, HandedOver { waiting, ..HandedOver::default() });
    }

    fn hand_over(&mut self, around: &mut Surroundings, subtask: SubtaskNumber, epoch: Epoch, handed: HandedOver) {
        let is_durable = handed.waiting == 0;
        self.handed.insert((subtask, epoch), handed);
        self.tell(around, Fact::HandedOver { subtask, epoch });
        if around.bug == Some(Bug::AcknowledgeEarly) {
            self.promise(around, subtask, epoch);
        }
        if is_durable || around.bug == Some(Bug::AcknowledgeEarly) {
            self.acknowledge(around, subtask, epoch);
        }
    }

    fn acknowledge(&mut self, around: &mut Surroundings, subtask: SubtaskNumber, epoch: Epoch) {
        self.tell(around, Fact::Acknowledged { subtask, epoch, figures: SubtaskFigures::default() });
    }

    /// The planted bug: handles of objects that are not there yet.
    fn promise(&mut self, around: &mut Surroundings, subtask: SubtaskNumber, epoch: Epoch) {
        let of_the_epoch = |upload: &Upload| upload.subtask == subtask && upload.epoch == epoch;
        let promised: Vec<_> = self.uploads.iter().filter(|upload| of_the_epoch(upload)).collect();
        let mut handles = Vec::new();
        for upload in promised {
            if let Ok(handle) = around.objects.put(&upload.name, &upload.pieces) {
                around.objects.lose(&upload.name);
                handles.push((upload.piece, handle));
            }
        }
        for (piece, handle) in handles {
            self.note_durable(subtask, epoch, piece, handle);
        }
    }

    fn upload(&mut self, around: &mut Surroundings) {
        if self.uploads.is_empty() {
            return;
        }
        let at = around.rng.below(self.uploads.len());
        let Some(upload) = self.uploads.get(at) else { return };
        // No answer: it is tried again, under the same name.
        let Ok(handle) = around.objects.put(&upload.name, &upload.pieces) else { return };
        let (subtask, epoch, piece) = (upload.subtask, upload.epoch, upload.piece);
        self.uploads.remove(at);
        if self.note_durable(subtask, epoch, piece, handle) {
            self.acknowledge(around, subtask, epoch);
        }
    }

    /// Notes a handle; true when it was the last that the hand-over waited for.
    fn note_durable(&mut self, subtask: SubtaskNumber, epoch: Epoch, piece: Piece, handle: ObjectHandle) -> bool {
        let Some(handed) = self.handed.get_mut(&(subtask, epoch)) else { return false };
        let bytes = handle.length_bytes;
        match piece {
            Piece::Delta => handed.delta = Some(handle),
            Piece::Image => handed.image = Some(handle),
            Piece::Output { records } => {
                let body = target::body(&handle);
                handed.output = Some(StagedOutput { slot: subtask.0, records, bytes, body });
            }
        }
        handed.waiting = handed.waiting.saturating_sub(1);
        handed.waiting == 0
    }

    fn publish(&mut self, around: &mut Surroundings) -> Result<(), Violation> {
        let Some(&epoch) = self.publishes.front() else { return Ok(()) };
        let Some(pending) = self.pending.iter().find(|pending| pending.epoch == epoch) else {
            self.publishes.pop_front();
            return Ok(());
        };
        if around.newest_manifest < Some(epoch) {
            return Err(Violation::VisibleBeforeManifest { epoch, newest: around.newest_manifest });
        }
        let lineage = self.ownership.lineage();
        let Surroundings { target, objects, rng, bug, .. } = around;
        match target.publish(lineage, epoch, &pending.staged, objects, rng, *bug)? {
            Answer::Done => {
                self.publishes.pop_front();
                self.pending.retain(|pending| pending.epoch > epoch);
                self.published = self.published.max(Some(epoch));
                self.tell(around, Fact::Published { sink: SINK, epoch });
            }
            // It is tried again.
            Answer::NoAnswer => {}
        }
        Ok(())
    }
}
