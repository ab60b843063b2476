//! What is durable, and what the next manifest says.
//!
//! # Invariants
//! 1. A manifest lists everything handed over since the manifest before it, epoch by epoch, once.
//! 2. Staged output is listed until a manifest that is made after its publication is known.
//! 3. The host's clock never falls from manifest to manifest.

use std::collections::BTreeMap;

use contract::StagedOutput;
use model::{Epoch, EventTime, Generation, HostTime, KeyGroupRange, ObjectHandle, OperatorUid};
use protocol::assignment_of_parts::{add_delta, gather, replace_by_image};
use protocol::coordinator::SubtaskNumber;
use protocol::key_group;
use protocol::manifest::{CheckpointKind, Manifest, Part, PendingEpoch, SinkState, SourceState, SplitState};

use super::handed::SplitNow;
use super::shape::Shape;
use crate::registry::Registry;

/// What one subtask handed over for one epoch, once it is durable.
#[derive(Clone, Debug)]
pub(crate) enum Durable {
    /// Where a source stands, and its watermark.
    Source(Vec<SplitNow>, EventTime),
    /// The processing time of a function, and what changed in its state.
    State(HostTime, Option<KeptState>),
    /// What a sink staged, and how many bytes of the backlog that is.
    Sink(Vec<StagedOutput>, u64),
}

/// Keyed state that is durable.
#[derive(Clone, Debug)]
pub(crate) struct KeptState {
    pub(crate) key_groups: KeyGroupRange,
    pub(crate) is_image: bool,
    pub(crate) objects: Vec<ObjectHandle>,
}

/// A manifest that is to be created, and what is known beside it.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    pub(crate) manifest: Manifest,
    /// The parts of every subtask.
    parts: BTreeMap<SubtaskNumber, Vec<Part>>,
}

/// See the module.
pub(crate) struct Stock {
    pub(crate) shape: Shape,
    generation: Generation,
    /// What the last manifest said; before the first, one that says nothing, of epoch 0.
    last: Manifest,
    /// The parts of every subtask as the last manifest lists them.
    parts: BTreeMap<SubtaskNumber, Vec<Part>>,
    durable: BTreeMap<Epoch, BTreeMap<SubtaskNumber, Durable>>,
    /// Bytes of the backlog, by sink and epoch of publication.
    backlog: BTreeMap<(OperatorUid, Epoch), u64>,
}

impl Stock {
    /// `parts` are what the subtasks of functions were restored from.
    pub(crate) fn new(
        shape: Shape,
        generation: Generation,
        last: Manifest,
        parts: BTreeMap<SubtaskNumber, Vec<Part>>,
    ) -> Self {
        Self { shape, generation, last, parts, durable: BTreeMap::new(), backlog: BTreeMap::new() }
    }

    pub(crate) fn add(&mut self, epoch: Epoch, subtask: SubtaskNumber, durable: Durable) {
        self.durable.entry(epoch).or_default().insert(subtask, durable);
    }

    /// The manifest of `epoch`: all that was handed over from `owed_from` on.
    pub(crate) fn draw(
        &self,
        epoch: Epoch,
        kind: CheckpointKind,
        owed_from: Epoch,
        now: HostTime,
        registry: &Registry,
    ) -> Drawn {
        let mut manifest = self.last.clone();
        manifest.generation = self.generation;
        manifest.parent = (self.last.epoch.0 > 0).then_some(self.last.epoch);
        manifest.epoch = epoch;
        manifest.kind = kind;
        manifest.key_hash = key_group::ALGORITHM.to_owned();
        manifest.host_clock = self.last.host_clock.max(now);
        manifest.watermark = EventTime::END;
        self.begin_operators(&mut manifest);
        let mut parts = self.parts.clone();
        for (&of, subtasks) in self.durable.range(owed_from..=epoch) {
            for (&subtask, durable) in subtasks {
                let Some(member) = self.shape.member(subtask) else { continue };
                match durable {
                    Durable::Source(splits, watermark) if of == epoch => {
                        manifest.watermark = manifest.watermark.min(*watermark);
                        note_splits(&mut manifest, &member.operator, splits, registry);
                    }
                    // Where a source stood at an aborted barrier is of no account.
                    Durable::Source(..) => {}
                    Durable::State(now, part) => {
                        manifest.host_clock = manifest.host_clock.max(*now);
                        if let Some(kept) = part {
                            let parts = parts.entry(subtask).or_default();
                            let KeptState { key_groups, is_image, objects } = kept.clone();
                            let add = if is_image { replace_by_image } else { add_delta };
                            add(parts, &key_groups, of, objects);
                        }
                    }
                    Durable::Sink(staged, _) => note_staged(&mut manifest, &member.operator, epoch, staged),
                }
            }
        }
        if manifest.watermark == EventTime::END {
            manifest.watermark = EventTime::UNKNOWN;
        }
        self.gather_parts(&mut manifest, &parts);
        Drawn { manifest, parts }
    }

    /// Puts the parts of the subtasks together to those of their operators.
    fn gather_parts(&self, manifest: &mut Manifest, parts: &BTreeMap<SubtaskNumber, Vec<Part>>) {
        for (uid, operator) in &mut manifest.operators {
            let is_of = |number: SubtaskNumber| self.shape.member(number).is_some_and(|member| member.operator == *uid);
            let of_subtasks = parts.iter().filter(|(number, _)| is_of(**number)).map(|(_, parts)| parts.clone());
            operator.parts = gather(of_subtasks);
        }
    }

    /// Says of functions and sinks what they are now.
    fn begin_operators(&self, manifest: &mut Manifest) {
        for function in &self.shape.functions {
            let operator = manifest.operators.entry(function.uid.clone()).or_default();
            operator.module = function.module;
            operator.states.clone_from(&function.states);
            operator.key.clone_from(&function.key);
        }
        for sink in &self.shape.sinks {
            let begun = SinkState { delivery: sink.delivery, published: None, pending: Vec::new() };
            manifest.sinks.entry(sink.uid.clone()).or_insert(begun).delivery = sink.delivery;
        }
    }

    /// The manifest is in the log.
    pub(crate) fn install(&mut self, drawn: Drawn) {
        let Drawn { manifest, parts } = drawn;
        self.parts = parts;
        let later = self.durable.split_off(&Epoch(manifest.epoch.0 + 1));
        for (subtask, durable) in std::mem::replace(&mut self.durable, later).into_values().flatten() {
            if let (Durable::Sink(_, bytes), Some(member)) = (durable, self.shape.member(subtask)) {
                *self.backlog.entry((member.operator.clone(), manifest.epoch)).or_default() += bytes;
            }
        }
        let known: Vec<(OperatorUid, Option<Epoch>)> =
            self.last.sinks.iter().map(|(uid, sink)| (uid.clone(), sink.published)).collect();
        self.last = manifest;
        for (uid, published) in known {
            if let Some(epoch) = published {
                self.forget(&uid, epoch);
            }
        }
    }

    /// What a sink publishes as `epoch`; nothing where nothing was staged.
    pub(crate) fn staged(&self, sink: &OperatorUid, epoch: Epoch) -> Vec<StagedOutput> {
        let pending = self.last.sinks.get(sink).into_iter().flat_map(|sink| &sink.pending);
        pending.filter(|pending| pending.epoch == epoch).flat_map(|pending| pending.staged.iter().cloned()).collect()
    }

    /// Bytes of the backlog that a manifest lists, and some sink has not published.
    pub(crate) fn unpublished_bytes(&self) -> u64 {
        self.backlog.values().sum()
    }

    /// The sink has published `epoch` and everything before. Returns the bytes of the backlog that were.
    pub(crate) fn published(&mut self, sink: &OperatorUid, epoch: Epoch) -> u64 {
        self.forget(sink, epoch);
        let mut bytes = 0;
        self.backlog.retain(|(uid, of), of_epoch| {
            let is_done = uid == sink && *of <= epoch;
            bytes += if is_done { *of_epoch } else { 0 };
            !is_done
        });
        bytes
    }

    fn forget(&mut self, sink: &OperatorUid, epoch: Epoch) {
        if let Some(state) = self.last.sinks.get_mut(sink) {
            // What an epoch without output is called, the target never learns.
            let done = state.pending.iter().map(|pending| pending.epoch).filter(|of| *of <= epoch).max();
            state.published = state.published.max(done);
            state.pending.retain(|pending| pending.epoch > epoch);
        }
    }
}

fn note_splits(manifest: &mut Manifest, source: &OperatorUid, splits: &[SplitNow], registry: &Registry) {
    let SourceState { splits: known } = manifest.sources.entry(source.clone()).or_default();
    for split in splits {
        let Some(name) = registry.split_name(source, split.split) else { continue };
        let state = SplitState {
            name: name.to_owned(),
            position: split.position,
            identity: split.identity.clone(),
            greatest_event_time: split.greatest_event_time,
            ended: split.ended,
        };
        match known.binary_search_by(|known| known.name.as_str().cmp(name)) {
            Ok(at) => {
                if let Some(there) = known.get_mut(at) {
                    *there = state;
                }
            }
            Err(at) => known.insert(at, state),
        }
    }
}

fn note_staged(manifest: &mut Manifest, sink: &OperatorUid, epoch: Epoch, staged: &[StagedOutput]) {
    let Some(state) = manifest.sinks.get_mut(sink).filter(|_| !staged.is_empty()) else { return };
    match state.pending.last_mut() {
        Some(last) if last.epoch == epoch => last.staged.extend(staged.iter().cloned()),
        _ => state.pending.push(PendingEpoch { epoch, staged: staged.to_vec() }),
    }
}
