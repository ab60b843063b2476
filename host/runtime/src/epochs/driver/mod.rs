//! The coordinator's thread: tells [`protocol::coordinator`] what happened, and does what it commands.
//!
//! # Invariants
//! 1. It never waits for a store, an upload or a publisher: others do, and tell it.
//! 2. A manifest that is created again is the same object: number, nonce and body.

mod commands;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use contract::{Creation, Error, Nonce, ObjectNumber, Randomness};
use model::{Epoch, HostTime, KeyGroupRange, Retry};
use protocol::coordinator::{AskerId, Coordinator, Fact, SinkNumber, StorePhase, SubtaskFigures, SubtaskNumber};
use protocol::host_clock::HostClock;
use protocol::ownership::{Outcome, OwnerStep, Ownership};

use super::handed::{Handed, HandedPart, HandedTimes};
use super::link::{Message, SinkWaits};
use super::publish::PublishingSink;
use super::status::{About, CheckpointCounts, ConditionKind, Status};
use super::stock::{Drawn, Durable, KeptState, Stock};
use super::sweep::STATE;
use super::work::{Done, Medium, Origin, Pool, Work};
use crate::JobFailure;
use crate::registry::Registry;

/// The longest time between two looks at the clock and at whether the job has stopped.
const LOOK: Duration = Duration::from_millis(20);

/// So many messages are handled before others hear of it: some for every subtask of a wide job.
const MOST_AT_ONCE: usize = 1024;

/// A checkpoint that has not completed after this share of its timeout, or this long, is said to be slow.
const SLOW_SHARE: u32 = 4;
const SLOW_AFTER: Duration = Duration::from_secs(10);

/// A checkpoint is taken to make room only if it can make this share of the limit.
const WORTH_A_CHECKPOINT: u64 = 8;

/// Who asked for a checkpoint, and is answered here.
pub(crate) type Asker = Sender<Result<Epoch, String>>;

/// See the module.
pub(crate) struct Driver {
    pub(crate) coordinator: Coordinator,
    pub(crate) messages: Receiver<Message>,
    pub(crate) medium: Medium,
    pub(crate) stock: Stock,
    pub(crate) pool: Pool,
    pub(crate) sinks: Vec<PublishingSink>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) randomness: Arc<dyn Randomness>,
    pub(crate) status: Arc<Status>,
    pub(crate) ownership: Ownership,
    /// The job's clock, which never falls.
    pub(crate) clock: HostClock,
    /// From when on a checkpoint in progress is said to be slow.
    pub(crate) slow_after: Duration,
    pub(crate) state: DriverState,
}

/// What the driver keeps from step to step.
#[derive(Default)]
pub(crate) struct DriverState {
    /// The manifest that is being created.
    creating: Option<Creating>,
    /// When epochs were triggered that no manifest lists.
    triggered: BTreeMap<Epoch, Duration>,
    /// What was handed over and is not durable.
    in_flight: BTreeMap<(Epoch, SubtaskNumber), InFlight>,
    askers: BTreeMap<AskerId, Asker>,
    next_asker: u64,
    stopped_sources: usize,
    began: Duration,
    is_over: bool,
    /// Whether old checkpoints are being removed.
    is_sweeping: bool,
    /// Whether a checkpoint became complete since that began.
    sweeps_again: bool,
    counts: CheckpointCounts,
    /// Whether something happened since it was last told.
    is_news: bool,
    /// Answers to give once what they say can be looked up.
    answers: Vec<(Asker, Result<Epoch, String>)>,
    store: Option<StorePhase>,
    trouble: String,
    /// What was handed over by sinks, cannot become durable now, and is tried again.
    not_staged: BTreeMap<SubtaskNumber, Epoch>,
    /// How many checkpoints were aborted since the last complete one, and why the last was.
    aborted: Option<(u64, String)>,
}

struct Creating {
    drawn: Drawn,
    number: ObjectNumber,
    nonce: Nonce,
    body: Arc<Vec<u8>>,
}

struct InFlight {
    times: HandedTimes,
    what: InFlightPart,
}

enum InFlightPart {
    State { now: HostTime, key_groups: KeyGroupRange, delta_bytes: u64 },
    Sink { bytes: u64 },
}

impl Driver {
    /// Leads until the job has published its last epoch, or stops.
    pub(crate) fn run(&mut self) {
        let control = Arc::clone(&self.medium.control);
        control.register();
        self.state.began = control.clock().elapsed();
        if !control.wait_open() {
            return;
        }
        self.step(Fact::Started);
        if self.stock.shape.source_subtasks == 0 {
            self.step(Fact::SourcesEnded);
        }
        while !self.state.is_over && !control.is_stopped() {
            let wake = self.coordinator.next_wake().map_or(LOOK, |at| at.saturating_sub(self.now()));
            match self.messages.recv_timeout(wake.min(LOOK)) {
                Ok(message) => {
                    self.take(message);
                    // What came meanwhile is told of together.
                    for message in self.messages.try_iter().take(MOST_AT_ONCE).collect::<Vec<_>>() {
                        self.take(message);
                    }
                }
                Err(RecvTimeoutError::Timeout) => self.step(Fact::Tick),
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.make_room();
            self.say();
        }
        self.say();
    }

    /// Sources wait for room that only a checkpoint makes: it is not left to the interval.
    fn make_room(&mut self) {
        let coordinator = &self.coordinator;
        let is_idle = coordinator.in_progress().is_none() && coordinator.hold().is_none();
        let link = &self.medium.link;
        // What is listed and not published a checkpoint does not help: one sink that is away keeps none from others.
        let unlisted = link.backlog_bytes().saturating_sub(self.stock.unpublished_bytes());
        if is_idle && link.is_full() && unlisted > link.backlog_limit_bytes() / WORTH_A_CHECKPOINT {
            let asker = AskerId(self.state.next_asker);
            self.state.next_asker += 1;
            self.step(Fact::Asked { asker });
        }
    }

    fn now(&self) -> Duration {
        self.medium.control.clock().elapsed().saturating_sub(self.state.began)
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Handed(handed) => self.handed(*handed),
            Message::Done(done) => self.done(*done),
            Message::SinkWaits(waits) => {
                let SinkWaits { operator, subtask, error } = *waits;
                let Some(number) = self.stock.shape.number_of(&operator, subtask) else { return };
                let is_so = error.is_some();
                let message = error.map(|error| format!("subtask {subtask} waits for its target: {error}"));
                self.status.condition(
                    ConditionKind::SinkWaits,
                    About::Subtask(&operator, subtask),
                    message,
                    self.uptime(),
                );
                self.step(Fact::SinkWaits { subtask: number, is_so });
            }
            Message::SourceStopped => {
                self.state.stopped_sources += 1;
                if self.state.stopped_sources == self.stock.shape.source_subtasks {
                    self.step(Fact::SourcesEnded);
                }
            }
            Message::Asked(asker) => {
                let id = AskerId(self.state.next_asker);
                self.state.next_asker += 1;
                self.state.askers.insert(id, asker);
                self.step(Fact::Asked { asker: id });
            }
        }
    }

    fn handed(&mut self, handed: Handed) {
        let Handed { operator, subtask, epoch, watermark, times, what } = handed;
        let Some(number) = self.stock.shape.number_of(&operator, subtask) else { return };
        self.step(Fact::HandedOver { subtask: number, epoch });
        let from = Origin { subtask: number, epoch, at: self.now() };
        match what {
            HandedPart::Source(splits) => {
                self.stock.add(epoch, number, Durable::Source(splits, watermark));
                self.acknowledge(from, times, 0);
            }
            HandedPart::State(state) => match state.kept {
                Some(kept) if kept.image.is_some() || !kept.delta.segments.is_empty() => {
                    let delta_bytes = kept.delta_bytes();
                    let what = InFlightPart::State { now: state.now, key_groups: kept.key_groups, delta_bytes };
                    self.state.in_flight.insert((epoch, number), InFlight { times, what });
                    let prefix = format!("{STATE}/{}-{epoch}-{operator}-{subtask}", self.ownership.generation());
                    self.pool.give(Work::Keep { from, prefix, delta: kept.delta, image: kept.image });
                }
                _ => {
                    self.stock.add(epoch, number, Durable::State(state.now, None));
                    self.acknowledge(from, times, 0);
                }
            },
            HandedPart::Sink { staging, bytes } => {
                let what = InFlightPart::Sink { bytes };
                self.state.in_flight.insert((epoch, number), InFlight { times, what });
                self.pool.give(Work::Stage { from, staging });
            }
        }
    }

    fn done(&mut self, done: Done) {
        match done {
            Done::Kept { from, is_image, objects } => {
                let Some(InFlight { times, what: InFlightPart::State { now, key_groups, delta_bytes } }) =
                    self.state.in_flight.remove(&(from.epoch, from.subtask))
                else {
                    return;
                };
                let bytes = objects.iter().map(|object| object.length_bytes).sum();
                self.relieve(delta_bytes);
                let kept = KeptState { key_groups, is_image, objects };
                self.stock.add(from.epoch, from.subtask, Durable::State(now, Some(kept)));
                self.store(StorePhase::Ready, None);
                self.acknowledge(from, times, bytes);
            }
            Done::Staged { from, outputs } => {
                let Some(InFlight { times, what: InFlightPart::Sink { bytes } }) =
                    self.state.in_flight.remove(&(from.epoch, from.subtask))
                else {
                    return;
                };
                if self.state.not_staged.remove(&from.subtask).is_some() {
                    self.not_staged(from, None);
                }
                let staged_bytes = outputs.iter().map(|output| output.bytes).sum();
                self.stock.add(from.epoch, from.subtask, Durable::Sink(outputs, bytes));
                self.acknowledge(from, times, staged_bytes);
            }
            Done::Lost { from, error } => {
                if let Some(member) = self.stock.shape.member(from.subtask) {
                    let failure = JobFailure::from_seam(&member.operator, member.subtask, &error);
                    self.medium.control.fail(failure);
                }
                let why = error.to_string();
                self.step(Fact::Lost { subtask: from.subtask, epoch: from.epoch, why });
            }
            Done::Created { epoch, outcome } => self.tried(epoch, outcome),
            Done::Swept { outcome } => {
                self.state.is_sweeping = std::mem::take(&mut self.state.sweeps_again);
                if self.state.is_sweeping {
                    self.pool.give(Work::Sweep);
                }
                let message = outcome.err().map(|error| format!("remove old checkpoints: {error}"));
                self.status.condition(ConditionKind::NotRemoved, About::Job, message, self.uptime());
            }
            Done::Trouble { error } => self.store(phase_of(&error), Some(&error)),
            Done::NotStaged { from, error } => {
                self.state.not_staged.insert(from.subtask, from.epoch);
                self.not_staged(from, Some(&error));
            }
            Done::Published { sink, epoch } => self.published(sink, epoch),
            Done::NotPublished { sink, epoch, error } => {
                let message = format!("publish epoch {epoch}: {error}");
                self.condition_of_sink(sink, Some(message));
            }
            Done::Unpublishable { sink, epoch, error } => {
                if let Some(sink) = self.sinks.get(sink) {
                    let failure = JobFailure::from_seam(&sink.uid, model::SubtaskIndex(0), &error);
                    self.medium.control.fail(failure);
                }
                let why = error.to_string();
                let sink = SinkNumber(u32::try_from(sink).unwrap_or(u32::MAX));
                self.step(Fact::PublishRefused { sink, epoch, why });
            }
        }
    }

    /// An attempt to create a manifest came to this.
    fn tried(&mut self, epoch: Epoch, outcome: Result<Creation, Error>) {
        // What follows from a lost answer and from a refusal the coordinator decides.
        if let Ok(creation) = outcome {
            let step = self.ownership.after_create(Outcome::from(creation));
            debug_assert!(step != OwnerStep::CreateAgain, "the outcome is known");
        }
        match outcome {
            Ok(Creation::Created) => {
                self.store(StorePhase::Ready, None);
                if let Some(creating) = self.state.creating.take() {
                    self.state.triggered = self.state.triggered.split_off(&epoch);
                    self.stock.install(creating.drawn);
                }
                self.step(Fact::ManifestCreated { epoch });
            }
            Ok(Creation::Taken) => self.step(Fact::ManifestTaken { epoch }),
            Err(error) if error.retry() == Retry::Backoff => {
                self.store(phase_of(&error), Some(&error));
                self.step(Fact::ManifestUnknown { epoch });
            }
            Err(error) => {
                // Only a refusal says that nothing was created; what else is not tried again may be in the log.
                if error.retry() != Retry::No {
                    self.step(Fact::ManifestUnknown { epoch });
                }
                self.step(Fact::ManifestRefused { epoch, why: error.to_string() });
                self.state.creating = None;
            }
        }
    }

    fn published(&mut self, sink: usize, epoch: Epoch) {
        if let Some(uid) = self.sinks.get(sink).map(|sink| sink.uid.clone()) {
            let bytes = self.stock.published(&uid, epoch);
            self.relieve(bytes);
        }
        self.condition_of_sink(sink, None);
        let sink = SinkNumber(u32::try_from(sink).unwrap_or(u32::MAX));
        self.step(Fact::Published { sink, epoch });
    }

    fn acknowledge(&mut self, from: Origin, times: HandedTimes, bytes: u64) {
        let triggered = self.state.triggered.get(&from.epoch).copied().unwrap_or(times.arrived);
        let figures = SubtaskFigures {
            start_delay: times.arrived.saturating_sub(triggered),
            alignment: times.alignment,
            sync_part: times.sync,
            upload: self.now().saturating_sub(from.at),
            bytes,
        };
        self.step(Fact::Acknowledged { subtask: from.subtask, epoch: from.epoch, figures });
    }

    /// What a sink handed over cannot become durable, and why; or (`None`) it is.
    fn not_staged(&self, from: Origin, error: Option<&Error>) {
        let Some(member) = self.stock.shape.member(from.subtask) else { return };
        let message = error.map(|error| format!("stage epoch {}: {error}", from.epoch));
        let who = About::Subtask(&member.operator, member.subtask);
        self.status.condition(ConditionKind::NotStaged, who, message, self.uptime());
    }

    fn uptime(&self) -> Duration {
        self.medium.control.elapsed()
    }

    /// What the store is like now; `error` is what it said.
    fn store(&mut self, phase: StorePhase, error: Option<&Error>) {
        if let Some(error) = error {
            self.state.trouble = error.to_string();
        }
        if self.state.store != Some(phase) {
            self.state.store = Some(phase);
            self.step(Fact::Store(phase));
        }
    }

    /// So much of the backlog is done with; sources that waited for that are woken.
    fn relieve(&mut self, bytes: u64) {
        let link = &self.medium.link;
        let was_full = link.is_full();
        link.take_from_backlog(bytes);
        if was_full && !link.is_full() {
            self.medium.control.wake_all();
        }
    }

    /// Tells the coordinator a fact and does what it commands.
    fn step(&mut self, fact: Fact) {
        self.state.is_news |= fact != Fact::Tick;
        let now = self.now();
        for command in self.coordinator.step(now, fact) {
            self.act(command);
        }
    }
}

/// A number that nobody else draws.
pub(crate) fn draw_nonce(randomness: &dyn Randomness) -> Nonce {
    Nonce((u128::from(randomness.draw()) << 64) | u128::from(randomness.draw()))
}

/// What an error says of the store.
fn phase_of(error: &Error) -> StorePhase {
    if error.is_out_of_room() { StorePhase::Full } else { StorePhase::Away }
}

/// When a checkpoint with such a timeout is said to be slow.
pub(crate) fn slow_after(timeout: Duration) -> Duration {
    SLOW_AFTER.min(timeout / SLOW_SHARE)
}
