//! A coordinator amid subtasks, uploads, a log and sinks that do what they like.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use proptest::prelude::*;

use model::Epoch;

use crate::coordinator::{
    AskerId, Command, Coordinator, Fact, FailReason, Options, SinkNumber, Start, StorePhase, SubtaskFigures,
    SubtaskNumber,
};
use crate::manifest::CheckpointKind;

const SUBTASKS: u32 = 3;
const SINKS: u32 = 2;
const FIRST_EPOCH: Epoch = Epoch(4);

/// The manifest that is being created, as the log's side sees it.
#[derive(Debug)]
struct Attempt {
    epoch: Epoch,
    owed_from: Epoch,
    /// Whether the object is there.
    is_there: bool,
}

#[derive(Debug)]
struct World {
    coordinator: Coordinator,
    now: Duration,
    /// By subtask, the barriers on their way to it.
    barriers: Vec<VecDeque<Epoch>>,
    aborted: BTreeSet<Epoch>,
    triggered: Option<Epoch>,
    in_progress: Option<Epoch>,
    uploading: Vec<(SubtaskNumber, Epoch)>,
    durable: BTreeSet<(SubtaskNumber, Epoch)>,
    handed_over: BTreeSet<(SubtaskNumber, Epoch)>,
    attempt: Option<Attempt>,
    /// What manifests list.
    listed: BTreeSet<(SubtaskNumber, Epoch)>,
    manifests: Vec<Epoch>,
    final_manifest: Option<Epoch>,
    to_publish: Vec<VecDeque<Epoch>>,
    published: BTreeMap<SinkNumber, Vec<Epoch>>,
    asked: BTreeMap<AskerId, Option<Epoch>>,
    answered: BTreeMap<AskerId, bool>,
    sources_ended: bool,
    failed: Option<FailReason>,
    finished: bool,
}

impl World {
    fn new(tolerable_failures: u32) -> Self {
        let options = Options { tolerable_failures, max_unpublished: 3, ..Options::default() };
        let start = Start { subtasks: SUBTASKS, sinks: vec![vec![]; SINKS as usize], first_epoch: FIRST_EPOCH };
        Self {
            coordinator: Coordinator::new(options, start),
            now: Duration::ZERO,
            barriers: vec![VecDeque::new(); SUBTASKS as usize],
            aborted: BTreeSet::new(),
            triggered: None,
            in_progress: None,
            uploading: Vec::new(),
            durable: BTreeSet::new(),
            handed_over: BTreeSet::new(),
            attempt: None,
            listed: BTreeSet::new(),
            manifests: Vec::new(),
            final_manifest: None,
            to_publish: vec![VecDeque::new(); SINKS as usize],
            published: BTreeMap::new(),
            asked: BTreeMap::new(),
            answered: BTreeMap::new(),
            sources_ended: false,
            failed: None,
            finished: false,
        }
    }

    fn tell(&mut self, fact: Fact) {
        for command in self.coordinator.step(self.now, fact) {
            assert!(!self.finished && self.failed.is_none(), "{command:?} after the end");
            self.act(command);
        }
    }

    fn act(&mut self, command: Command) {
        match command {
            Command::Trigger { epoch, .. } => {
                assert!(self.in_progress.is_none(), "{epoch} while {:?} is in progress", self.in_progress);
                assert!(self.triggered < Some(epoch), "{epoch} after {:?}", self.triggered);
                assert!(self.coordinator.unpublished() <= 3, "the backlog is bounded");
                self.triggered = Some(epoch);
                self.in_progress = Some(epoch);
                self.barriers.iter_mut().for_each(|barriers| barriers.push_back(epoch));
            }
            Command::Abort { epoch, .. } => {
                assert_eq!(self.in_progress.take(), Some(epoch));
                assert!(self.attempt.as_ref().is_none_or(|attempt| !attempt.is_there), "{epoch} has a manifest");
                self.attempt = None;
                self.aborted.insert(epoch);
            }
            Command::CreateManifest { epoch, owed_from, kind } => {
                assert_eq!(self.in_progress, Some(epoch));
                for subtask in (0..SUBTASKS).map(SubtaskNumber) {
                    assert!(self.durable.contains(&(subtask, epoch)), "{subtask} has not acknowledged {epoch}");
                }
                match &self.attempt {
                    Some(attempt) => assert_eq!((attempt.epoch, attempt.owed_from), (epoch, owed_from)),
                    None => self.attempt = Some(Attempt { epoch, owed_from, is_there: false }),
                }
                if kind == CheckpointKind::Final {
                    self.final_manifest = Some(epoch);
                }
            }
            Command::Complete { epoch, .. } => {
                assert_eq!(self.in_progress.take(), Some(epoch));
                assert_eq!(self.manifests.last(), Some(&epoch), "complete without a manifest");
                assert!(!self.aborted.contains(&epoch));
            }
            Command::Publish { sink, epoch } => {
                assert!(self.manifests.contains(&epoch), "{epoch} is published before its manifest");
                self.to_publish[sink.0 as usize].push_back(epoch);
            }
            Command::Retain { newest } => assert_eq!(self.manifests.last(), Some(&newest)),
            Command::Answer { asker, outcome } => {
                let asked_after = self.asked[&asker];
                if let Ok(epoch) = outcome {
                    let is_last = self.final_manifest == Some(epoch);
                    assert!(self.manifests.contains(&epoch), "{asker:?} {epoch}");
                    assert!(Some(epoch) > asked_after || is_last, "{asker:?} asked after {asked_after:?}: {epoch}");
                }
                assert_eq!(self.answered.insert(asker, outcome.is_ok()), None, "{asker:?} is answered twice");
            }
            Command::EndSources => {
                assert_eq!(self.final_manifest, self.manifests.last().copied());
                self.sources_ended = true;
            }
            Command::Finish => {
                assert!(self.sources_ended);
                for sink in (0..SINKS).map(SinkNumber) {
                    assert_eq!(self.published.get(&sink), Some(&self.manifests), "{sink} has not published all");
                }
                self.finished = true;
            }
            Command::Fail(reason) => self.failed = Some(reason),
        }
    }

    /// A subtask meets the next barrier; it may not know yet that the epoch was aborted.
    fn barrier(&mut self, subtask: u32, knows: bool) {
        let Some(epoch) = self.barriers[subtask as usize].pop_front() else { return };
        if self.aborted.contains(&epoch) && knows {
            return;
        }
        let subtask = SubtaskNumber(subtask);
        self.handed_over.insert((subtask, epoch));
        self.uploading.push((subtask, epoch));
        self.tell(Fact::HandedOver { subtask, epoch });
    }

    fn acknowledge(&mut self, (subtask, epoch): (SubtaskNumber, Epoch)) {
        self.durable.insert((subtask, epoch));
        self.tell(Fact::Acknowledged { subtask, epoch, figures: SubtaskFigures::default() });
    }

    fn upload(&mut self, which: usize) {
        if !self.uploading.is_empty() {
            let done = self.uploading.swap_remove(which % self.uploading.len());
            self.acknowledge(done);
        }
    }

    fn log(&mut self, outcome: u8) {
        let Some(attempt) = &mut self.attempt else { return };
        let epoch = attempt.epoch;
        if matches!(outcome, 0 | 1) && !attempt.is_there {
            // The object is created, whether or not the answer arrives.
            attempt.is_there = true;
            let listed: Vec<_> =
                self.handed_over.iter().filter(|(_, of)| *of >= attempt.owed_from && *of <= epoch).collect();
            for entry in listed {
                assert!(self.durable.contains(entry), "{entry:?} is listed and not durable");
                assert!(self.listed.insert(*entry), "{entry:?} is listed twice");
            }
            assert!(self.manifests.last() < Some(&epoch), "manifests rise");
            self.manifests.push(epoch);
        }
        let is_there = attempt.is_there;
        match outcome {
            0 => {
                self.attempt = None;
                self.tell(Fact::ManifestCreated { epoch });
            }
            3 if !is_there => self.tell(Fact::ManifestRefused { epoch, why: "no".to_owned() }),
            4 if !is_there => self.tell(Fact::ManifestTaken { epoch }),
            _ => self.tell(Fact::ManifestUnknown { epoch }),
        }
    }

    fn publish(&mut self, sink: u32) {
        if let Some(epoch) = self.to_publish[sink as usize].pop_front() {
            let published = self.published.entry(SinkNumber(sink)).or_default();
            assert!(published.last() < Some(&epoch), "published epochs rise");
            published.push(epoch);
            self.tell(Fact::Published { sink: SinkNumber(sink), epoch });
        }
    }

    fn happen(&mut self, event: &Event) {
        match *event {
            Event::Time(millis) => {
                self.now += Duration::from_millis(millis);
                self.tell(Fact::Tick);
            }
            Event::Wake => {
                self.now = self.coordinator.next_wake().map_or(self.now, |at| at.max(self.now));
                self.tell(Fact::Tick);
            }
            Event::Barrier(subtask, knows) => self.barrier(subtask, knows),
            Event::Upload(which) => self.upload(which),
            Event::Repeat(which) => {
                if let Some(done) = self.durable.iter().nth(which % self.durable.len().max(1)).copied() {
                    self.acknowledge(done);
                }
            }
            Event::Log(outcome) => self.log(outcome),
            Event::Publish(sink) => self.publish(sink),
            Event::SinkWaits(subtask, is_so) => {
                self.tell(Fact::SinkWaits { subtask: SubtaskNumber(subtask), is_so });
            }
            Event::Ask => {
                let asker = AskerId(self.asked.len() as u64);
                if !self.finished && self.failed.is_none() {
                    self.asked.insert(asker, self.triggered);
                    self.tell(Fact::Asked { asker });
                }
            }
            Event::Store(phase) => self.tell(Fact::Store(phase)),
            Event::Stop => self.tell(Fact::SourcesEnded),
        }
    }

    /// From here on everything works.
    fn come_to_an_end(&mut self) {
        self.happen(&Event::Store(StorePhase::Ready));
        (0..SUBTASKS).for_each(|subtask| self.happen(&Event::SinkWaits(subtask, false)));
        self.happen(&Event::Stop);
        for _ in 0..1000 {
            if self.finished || self.failed.is_some() {
                break;
            }
            for subtask in 0..SUBTASKS {
                self.barrier(subtask, true);
            }
            self.upload(0);
            self.log(0);
            (0..SINKS).for_each(|sink| self.publish(sink));
            self.happen(&Event::Time(100));
        }
    }
}

#[derive(Clone, Debug)]
enum Event {
    Time(u64),
    Wake,
    Barrier(u32, bool),
    Upload(usize),
    Repeat(usize),
    Log(u8),
    Publish(u32),
    SinkWaits(u32, bool),
    Ask,
    Store(StorePhase),
    Stop,
}

fn event() -> impl Strategy<Value = Event> {
    let store = prop_oneof![1 => Just(StorePhase::Away), 1 => Just(StorePhase::Full), 3 => Just(StorePhase::Ready)];
    prop_oneof![
        4 => (0u64..3000).prop_map(Event::Time),
        4 => Just(Event::Wake),
        12 => (0..SUBTASKS, any::<bool>()).prop_map(|(subtask, knows)| Event::Barrier(subtask, knows)),
        12 => any::<usize>().prop_map(Event::Upload),
        2 => any::<usize>().prop_map(Event::Repeat),
        6 => prop_oneof![8 => Just(0u8), 2 => Just(1), 2 => Just(2), 1 => Just(3)].prop_map(Event::Log),
        6 => (0..SINKS).prop_map(Event::Publish),
        2 => (0..SUBTASKS, any::<bool>()).prop_map(|(subtask, is_so)| Event::SinkWaits(subtask, is_so)),
        1 => Just(Event::Ask),
        1 => store.prop_map(Event::Store),
    ]
}

proptest! {
    #[test]
    fn nothing_owed_is_forgotten_and_everything_ends_published(
        events in prop::collection::vec(event(), 0..300),
        stop_at in any::<prop::sample::Index>(),
    ) {
        let mut world = World::new(u32::MAX);
        world.tell(Fact::Started);
        let stop_at = stop_at.index(events.len() + 1);
        for (at, event) in events.iter().enumerate() {
            if at == stop_at {
                world.happen(&Event::Stop);
            }
            world.happen(event);
        }
        world.come_to_an_end();
        if let Some(reason) = &world.failed {
            prop_assert!(matches!(reason, FailReason::InDoubt { .. }), "{reason}");
        } else {
            prop_assert!(world.finished, "{:?}", world.coordinator);
            prop_assert_eq!(&world.listed, &world.handed_over);
        }
        prop_assert_eq!(world.answered.len(), world.asked.len(), "everybody is answered");
    }

    #[test]
    fn whatever_ends_an_incarnation_it_commands_nothing_afterwards(
        events in prop::collection::vec(event(), 0..300),
        taken_at in any::<prop::sample::Index>(),
        tolerable_failures in 0u32..3,
    ) {
        let mut world = World::new(tolerable_failures);
        let taken_at = taken_at.index(events.len() + 1);
        for (at, event) in events.iter().enumerate() {
            if at >= taken_at {
                world.log(4);
            }
            world.happen(event);
            if world.failed.is_some() || world.finished {
                prop_assert_eq!(world.coordinator.next_wake(), None);
            }
        }
        if world.failed.is_some() {
            prop_assert_eq!(world.answered.len(), world.asked.len(), "everybody is answered");
        }
    }

    #[test]
    fn a_wake_leads_on(events in prop::collection::vec(event(), 0..200)) {
        let mut world = World::new(3);
        for event in &events {
            world.happen(event);
            if let Some(at) = world.coordinator.next_wake() {
                let mut ahead = world.coordinator.clone();
                let commands = ahead.step(at.max(world.now), Fact::Tick);
                prop_assert!(!commands.is_empty(), "woken for nothing at {at:?}: {:?}", world.coordinator);
            }
        }
    }
}
