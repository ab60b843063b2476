//! Manifests of a host: what they list, and how they come into the log.

use std::collections::BTreeMap;

use contract::{CheckpointStore, Nonce};
use model::{Delivery, Epoch, EventTime, HostTime, ObjectNumber, Position};
use protocol::assignment_of_parts::{add_delta, gather, replace_by_image};
use protocol::coordinator::{Fact, SubtaskNumber};
use protocol::key_group::ALGORITHM;
use protocol::manifest::{
    self, CheckpointKind, LogRecord, Manifest, OperatorState, Part, PendingEpoch, SinkState, SourceState, SplitState,
};
use protocol::ownership::{Outcome, OwnerStep};

use super::{Creating, Host};
use crate::bugs::Bug;
use crate::restore::{KEY_GROUPS, job, states, uid};
use crate::world::Surroundings;

impl Host {
    /// Makes the manifest of `epoch`, once: another command for it means the same object again.
    pub(super) fn prepare(&mut self, around: &mut Surroundings, epoch: Epoch, kind: CheckpointKind, owed_from: Epoch) {
        if let Some(creating) = self.creating.as_mut().filter(|creating| creating.epoch == epoch) {
            creating.is_wanted = true;
            return;
        }
        let owed_from = if around.bug == Some(Bug::ForgetOwed) { epoch } else { owed_from };
        let parts: Vec<Vec<Part>> = (0..self.counters.len()).map(|at| self.parts_of(at, owed_from, epoch)).collect();
        let staged = self.handed.range(..).filter(|((_, of), _)| owed_from <= *of && *of <= epoch);
        let mut staged: Vec<_> =
            staged.filter_map(|((subtask, of), it)| Some((*of, *subtask, it.output.clone()?))).collect();
        staged.sort_by_key(|(of, subtask, _)| (*of, *subtask));
        let mut pending = self.pending.clone();
        pending.push(PendingEpoch { epoch, staged: staged.into_iter().map(|(_, _, output)| output).collect() });
        let manifest = Manifest {
            job: job(),
            lineage: self.ownership.lineage(),
            generation: self.ownership.generation(),
            epoch,
            parent: self.parent,
            kind,
            rewound: None,
            key_groups: KEY_GROUPS,
            key_hash: ALGORITHM.to_owned(),
            host_clock: HostTime(0),
            watermark: EventTime::UNKNOWN,
            sources: BTreeMap::from([(uid("source"), self.positions(around, epoch))]),
            operators: BTreeMap::from([(
                uid("count"),
                OperatorState { module: None, key: None, states: states(), parts: gather(parts.clone()) },
            )]),
            sinks: BTreeMap::from([(
                uid("sink"),
                SinkState { delivery: Delivery::ExactlyOnce, published: self.published, pending: pending.clone() },
            )]),
        };
        let body = manifest::encode(&LogRecord::Complete(Box::new(manifest.clone())));
        let nonce = Nonce(u128::from(around.rng.draw()) << 64 | u128::from(around.rng.draw()));
        if around.bug == Some(Bug::PublishBeforeManifest) {
            self.pending = pending;
            self.publishes.push_back(epoch);
        }
        self.creating = Some(Creating { epoch, nonce, body, manifest, parts, is_wanted: true });
    }

    /// The parts of a counter with what it handed over for `owed_from` to `epoch`.
    fn parts_of(&self, at: usize, owed_from: Epoch, epoch: Epoch) -> Vec<Part> {
        let Some(counter) = self.counters.get(at) else { return Vec::new() };
        let subtask = self.subtask_of(at);
        let mut parts = counter.parts.clone();
        for (&(_, of), handed) in self.handed.range((subtask, owed_from)..=(subtask, epoch)) {
            match &handed.image {
                Some(image) => replace_by_image(&mut parts, &counter.range, of, vec![image.clone()]),
                None => add_delta(&mut parts, &counter.range, of, handed.delta.iter().cloned().collect()),
            }
        }
        parts
    }

    fn positions(&self, around: &Surroundings, epoch: Epoch) -> SourceState {
        let of_split = |split: usize| {
            let subtask = SubtaskNumber(u32::try_from(split).unwrap_or(u32::MAX));
            let noted = self.handed.get(&(subtask, epoch)).and_then(|handed| handed.position);
            let now = self.readers.get(split).map(|reader| Position(reader.position as u64));
            let position = if around.bug == Some(Bug::NotePositionsLate) { now } else { noted };
            SplitState {
                name: split.to_string(),
                position: position.expect("a reader hands its position over before it acknowledges"),
                identity: Vec::new(),
                greatest_event_time: EventTime::UNKNOWN,
                ended: false,
            }
        };
        SourceState { splits: (0..self.readers.len()).map(of_split).collect() }
    }

    /// One attempt to create the manifest.
    pub(super) fn create(&mut self, around: &mut Surroundings) {
        let Some(creating) = self.creating.as_mut().filter(|creating| creating.is_wanted) else { return };
        creating.is_wanted = false;
        let epoch = creating.epoch;
        let created = around.log.create(self.next_number, creating.nonce, &creating.body);
        around.look_at(self.next_number);
        let outcome = created.map_or(Outcome::Unknown, Outcome::from);
        if outcome == Outcome::Taken && around.bug == Some(Bug::IgnoreFence) {
            self.next_number = ObjectNumber(self.next_number.0 + 1);
            creating.is_wanted = true;
            return;
        }
        let fact = match self.ownership.after_create(outcome) {
            OwnerStep::Listed => {
                self.next_number = ObjectNumber(self.next_number.0 + 1);
                Fact::ManifestCreated { epoch }
            }
            OwnerStep::CreateAgain => Fact::ManifestUnknown { epoch },
            OwnerStep::Fenced => Fact::ManifestTaken { epoch },
        };
        self.tell(around, fact);
    }

    /// The manifest is there: what it lists is what the next one begins with.
    pub(super) fn completed(&mut self, epoch: Epoch) {
        let Some(creating) = self.creating.take_if(|creating| creating.epoch == epoch) else { return };
        for (counter, parts) in self.counters.iter_mut().zip(creating.parts) {
            counter.parts = parts;
        }
        let listed = creating.manifest.sinks.get(&uid("sink")).map(|sink| sink.pending.clone()).unwrap_or_default();
        self.pending = listed.into_iter().filter(|pending| Some(pending.epoch) > self.published).collect();
        self.parent = Some(epoch);
        self.handed.retain(|(_, of), _| *of > epoch);
    }
}
