//! The life of checkpoints: when one is triggered, when it is complete, when it is given up.
//!
//! One coordinator leads one incarnation of a job. It is told facts with the time they became known, and
//! answers with commands. Whoever drives it, the runtime's coordinator thread or a simulation, acts on the
//! commands in order and reports what came of them. It is woken at [`Coordinator::next_wake`] by [`Fact::Tick`].
//!
//! # Words
//! - *trigger, complete, abort*: the verbs of a checkpoint
//! - *handed over*: a subtask passed the barrier and gave away its snapshot; *acknowledged*: that is durable
//! - *owed*: handed over and listed by no manifest yet
//! - *backlog*: complete epochs that some sink has not published
//! - *hold*: why no checkpoint is triggered though one is due
//! - *asker*: somebody who wants to hear of a checkpoint that begins after they asked
//!
//! # Invariants
//! 1. At most one epoch is in progress; epoch numbers rise and none is used twice, also not after an abort.
//! 2. A manifest is created when every subtask has acknowledged its epoch and nothing owed up to it lacks
//!    its acknowledgement. It lists everything owed, so what an aborted epoch handed over is in the next manifest.
//! 3. Once a manifest is being created its epoch is not aborted: it is created again, as the same object,
//!    until the outcome is known.
//! 4. The number of aborts in a row that a job survives is an option; aborts of the final checkpoint, and aborts
//!    while the store is away or full or sinks wait for their targets, do not count.
//! 5. A checkpoint that takes longer than the interval delays the next one; none are made up for.
//! 6. A sink is told to publish epochs in rising order, each once, after its manifest.
//! 7. Sources are told to end after the final checkpoint is complete; the job finishes when every sink has
//!    published it.
//! 8. An epoch that every subtask has handed over is not aborted, however long its uploads take.
//! 9. After [`Command::Fail`] or [`Command::Finish`] nothing is commanded any more.
//!
//! # Absent on purpose
//! What a manifest says, how a sink publishes, how often an upload is tried: the coordinator knows numbers only.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use model::Epoch;

use crate::manifest::CheckpointKind;

mod facts;
mod figures;
mod owed;
mod publishing;
#[cfg(test)]
mod tests;

pub use facts::{
    AbortReason, AskerId, Command, Fact, FailReason, Hold, Options, SinkNumber, Start, StorePhase, SubtaskNumber,
    Waiting, WaitsFor,
};
pub use figures::{CheckpointFigures, SubtaskFigures};

use figures::History;
use owed::{HandOver, Owed};
use publishing::Publishing;

/// Most askers that wait for a checkpoint; further ones are turned away. Far above what people and tools ask
/// at one time.
pub const MAX_ASKERS: usize = 64;

/// What the coordinator is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing is in progress.
    Idle,
    /// Barriers are on their way, snapshots are taken and uploaded.
    Collecting(InProgress),
    /// The manifest is being created.
    Creating {
        checkpoint: InProgress,
        /// When it is created again; `None` while an attempt runs.
        again_at: Option<Duration>,
        /// Whether an attempt ended without an answer.
        in_doubt: bool,
    },
    /// The final checkpoint is complete; sinks publish.
    Ending,
    /// Finished or failed.
    Over,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct InProgress {
    epoch: Epoch,
    kind: CheckpointKind,
    triggered_at: Duration,
    /// Whether it goes on though its timeout is over.
    is_late: bool,
    askers: Vec<AskerId>,
}

/// Leads the checkpoints of one incarnation of a job.
#[derive(Clone, Debug)]
pub struct Coordinator {
    options: Options,
    phase: Phase,
    /// The number of the next trigger.
    next_epoch: Epoch,
    owed: Owed,
    publishing: Publishing,
    history: History,
    store: StorePhase,
    /// The subtasks of sinks that wait for their targets.
    waiting_sinks: BTreeSet<SubtaskNumber>,
    /// Who waits for a checkpoint that is not triggered yet.
    askers: VecDeque<AskerId>,
    /// Whether the next checkpoint is the final one.
    is_final_due: bool,
    /// Aborts that counted, since the last complete checkpoint.
    failures: u32,
    last_trigger: Duration,
    /// When the last checkpoint was complete or aborted.
    last_end: Option<Duration>,
    last_complete: Option<(Epoch, Duration)>,
    now: Duration,
}

impl Coordinator {
    /// A coordinator that has seen nothing yet. Times are since its start; the first trigger is due one interval in.
    #[must_use]
    pub fn new(options: Options, start: Start) -> Self {
        Self {
            phase: Phase::Idle,
            next_epoch: start.first_epoch,
            owed: Owed::new(start.subtasks, start.first_epoch),
            publishing: Publishing::new(start.sinks),
            history: History::new(options.history),
            store: StorePhase::Ready,
            waiting_sinks: BTreeSet::new(),
            askers: VecDeque::new(),
            is_final_due: false,
            failures: 0,
            last_trigger: Duration::ZERO,
            last_end: None,
            last_complete: None,
            now: Duration::ZERO,
            options,
        }
    }

    /// Takes a fact that became known at `now`, and returns what is to be done, in order.
    #[must_use]
    pub fn step(&mut self, now: Duration, fact: Fact) -> Vec<Command> {
        self.now = self.now.max(now);
        let mut commands = Vec::new();
        if self.phase != Phase::Over {
            self.take(fact, &mut commands);
            self.go_on(&mut commands);
        }
        commands
    }

    /// When to step with [`Fact::Tick`], if no fact comes before; `None`: only a fact leads on.
    #[must_use]
    pub fn next_wake(&self) -> Option<Duration> {
        match &self.phase {
            Phase::Idle => self.due().map(|(at, _)| at),
            Phase::Collecting(checkpoint) => {
                let somebody_waits = !checkpoint.askers.is_empty() && checkpoint.kind != CheckpointKind::Final;
                let leads_on = somebody_waits || self.owed.not_handed_over(checkpoint.epoch).0 > 0;
                leads_on.then(|| checkpoint.triggered_at + self.options.timeout)
            }
            Phase::Creating { again_at, .. } => *again_at,
            Phase::Ending | Phase::Over => None,
        }
    }

    /// Why no checkpoint is triggered, where one is not in progress.
    #[must_use]
    pub fn hold(&self) -> Option<Hold> {
        let backlog = self.publishing.backlog();
        match self.store {
            StorePhase::Away => Some(Hold::StoreAway),
            StorePhase::Full => Some(Hold::StoreFull),
            StorePhase::Ready if !self.waiting_sinks.is_empty() => {
                Some(Hold::SinksWait { subtasks: self.waiting_sinks.len() })
            }
            StorePhase::Ready if backlog >= self.options.max_unpublished && !self.is_final_due => {
                Some(Hold::Backlog { unpublished: backlog })
            }
            StorePhase::Ready => None,
        }
    }

    /// The epoch of the checkpoint in progress.
    #[must_use]
    pub fn in_progress(&self) -> Option<Epoch> {
        match &self.phase {
            Phase::Collecting(checkpoint) | Phase::Creating { checkpoint, .. } => Some(checkpoint.epoch),
            Phase::Idle | Phase::Ending | Phase::Over => None,
        }
    }

    /// Whom the checkpoint in progress waits for.
    #[must_use]
    pub fn waiting(&self) -> Option<Waiting> {
        let (checkpoint, is_collecting) = match &self.phase {
            Phase::Collecting(checkpoint) => (checkpoint, true),
            Phase::Creating { checkpoint, .. } => (checkpoint, false),
            Phase::Idle | Phase::Ending | Phase::Over => return None,
        };
        let epoch = checkpoint.epoch;
        let behind = self.owed.not_handed_over(epoch);
        let (wait, (missing, first)) = match (is_collecting, behind) {
            (false, _) => (WaitsFor::Manifest, (0, SubtaskNumber(0))),
            (true, (0, _)) => (WaitsFor::Durability, self.owed.missing(epoch)),
            (true, behind) => (WaitsFor::HandOver, behind),
        };
        let for_so_long = self.now.saturating_sub(checkpoint.triggered_at);
        Some(Waiting { epoch, for_so_long, wait, missing, first })
    }

    /// The last complete checkpoint of this incarnation, and when it became so.
    #[must_use]
    pub fn last_complete(&self) -> Option<(Epoch, Duration)> {
        self.last_complete
    }

    /// How many complete epochs some sink has not published yet.
    #[must_use]
    pub fn unpublished(&self) -> usize {
        self.publishing.backlog()
    }

    /// The last checkpoints, newest first.
    pub fn history(&self) -> impl Iterator<Item = &CheckpointFigures> {
        self.history.newest_first()
    }

    fn take(&mut self, fact: Fact, commands: &mut Vec<Command>) {
        match fact {
            Fact::Tick => {}
            Fact::Started => self.publishing.start(commands),
            Fact::HandedOver { subtask, epoch } => self.handed_over(subtask, epoch, commands),
            Fact::Acknowledged { subtask, epoch, figures } => {
                if self.owed.acknowledge(subtask, epoch) {
                    self.history.subtask(epoch, subtask, figures);
                }
            }
            Fact::Lost { subtask, epoch, why } => self.fail(FailReason::Lost { subtask, epoch, why }, commands),
            Fact::SinkWaits { subtask, is_so: true } => drop(self.waiting_sinks.insert(subtask)),
            Fact::SinkWaits { subtask, is_so: false } => drop(self.waiting_sinks.remove(&subtask)),
            Fact::ManifestCreated { epoch } => self.created(epoch, commands),
            Fact::ManifestTaken { epoch } => self.taken(epoch, commands),
            Fact::ManifestUnknown { epoch } => self.unknown(epoch),
            Fact::ManifestRefused { epoch, why } => self.refused(epoch, why, commands),
            Fact::Published { sink, epoch } => {
                for epoch in self.publishing.published(sink, epoch) {
                    self.history.published(epoch, self.now);
                }
            }
            Fact::PublishRefused { sink, epoch, why } => {
                self.fail(FailReason::PublishRefused { sink, epoch, why }, commands);
            }
            Fact::SourcesEnded => self.is_final_due = true,
            Fact::Asked { asker } => self.asked(asker, commands),
            Fact::Store(phase) => self.store = phase,
        }
    }

    /// What follows from what is known now.
    fn go_on(&mut self, commands: &mut Vec<Command>) {
        if let Phase::Collecting(checkpoint) = &self.phase {
            let (epoch, deadline) = (checkpoint.epoch, checkpoint.triggered_at + self.options.timeout);
            if self.owed.is_settled(epoch) {
                self.create(commands);
            } else if self.now >= deadline && !checkpoint.is_late {
                self.time_out(epoch, commands);
            }
        }
        if let Phase::Creating { checkpoint, again_at, .. } = &mut self.phase
            && again_at.is_some_and(|at| self.now >= at)
        {
            *again_at = None;
            commands.push(self.owed.create_command(checkpoint.epoch, checkpoint.kind));
        }
        if let Some((at, kind)) = self.due()
            && self.now >= at
        {
            self.trigger(kind, commands);
        }
        if self.phase == Phase::Ending && self.publishing.backlog() == 0 {
            self.phase = Phase::Over;
            commands.push(Command::Finish);
        }
    }

    /// When the next checkpoint is due, and which.
    fn due(&self) -> Option<(Duration, CheckpointKind)> {
        if self.phase != Phase::Idle || self.hold().is_some() {
            return None;
        }
        let rested = self.last_end.map_or(Duration::ZERO, |end| end + self.options.min_pause);
        if self.is_final_due {
            let was_aborted = self.last_end > self.last_complete.map(|(_, at)| at);
            return Some((if was_aborted { rested } else { Duration::ZERO }, CheckpointKind::Final));
        }
        if !self.askers.is_empty() {
            return Some((Duration::ZERO, CheckpointKind::OnDemand));
        }
        let interval = self.options.interval?;
        Some((rested.max(self.last_trigger + interval), CheckpointKind::Periodic))
    }

    fn trigger(&mut self, kind: CheckpointKind, commands: &mut Vec<Command>) {
        let epoch = self.next_epoch;
        self.next_epoch = Epoch(epoch.0 + 1);
        self.last_trigger = self.now;
        self.history.triggered(epoch, kind, self.now);
        let askers = self.askers.drain(..).collect();
        self.phase = Phase::Collecting(InProgress { epoch, kind, triggered_at: self.now, is_late: false, askers });
        commands.push(Command::Trigger { epoch, kind });
    }

    fn create(&mut self, commands: &mut Vec<Command>) {
        if let Phase::Collecting(checkpoint) = std::mem::replace(&mut self.phase, Phase::Idle) {
            commands.push(self.owed.create_command(checkpoint.epoch, checkpoint.kind));
            self.phase = Phase::Creating { checkpoint, again_at: None, in_doubt: false };
        }
    }

    fn handed_over(&mut self, subtask: SubtaskNumber, epoch: Epoch, commands: &mut Vec<Command>) {
        let is_triggered = epoch < self.next_epoch;
        match self.owed.hand_over(subtask, epoch) {
            HandOver::Owed if is_triggered => {}
            HandOver::Owed | HandOver::OutOfOrder => self.fail(FailReason::OutOfOrder { subtask, epoch }, commands),
        }
    }

    /// The epoch in progress has taken as long as it may.
    fn time_out(&mut self, epoch: Epoch, commands: &mut Vec<Command>) {
        let (missing, first) = self.owed.not_handed_over(epoch);
        if missing > 0 {
            return self.abort(AbortReason::TimedOut { missing, first }, commands);
        }
        let (missing, first) = self.owed.missing(epoch);
        if let Phase::Collecting(checkpoint) = &mut self.phase {
            checkpoint.is_late = true;
            if checkpoint.kind != CheckpointKind::Final {
                let outcome = Err(AbortReason::StillUploading { missing, first });
                let askers = checkpoint.askers.drain(..);
                commands.extend(askers.map(|asker| Command::Answer { asker, outcome: outcome.clone() }));
            }
        }
    }

    fn created(&mut self, epoch: Epoch, commands: &mut Vec<Command>) {
        let Some(checkpoint) = self.take_creating(epoch) else { return };
        let InProgress { kind, askers, .. } = checkpoint;
        self.owed.listed(epoch);
        self.failures = 0;
        self.last_end = Some(self.now);
        self.last_complete = Some((epoch, self.now));
        self.history.completed(epoch, self.now);
        commands.push(Command::Complete { epoch, kind });
        self.publishing.complete(epoch, commands);
        if self.publishing.has_no_sinks() {
            self.history.published(epoch, self.now);
        }
        commands.extend(askers.into_iter().map(|asker| Command::Answer { asker, outcome: Ok(epoch) }));
        commands.push(Command::Retain { newest: epoch });
        if kind == CheckpointKind::Final {
            self.phase = Phase::Ending;
            commands.push(Command::EndSources);
            let late = self.askers.drain(..).map(|asker| Command::Answer { asker, outcome: Ok(epoch) });
            commands.extend(late);
        }
    }

    fn taken(&mut self, epoch: Epoch, commands: &mut Vec<Command>) {
        if let Some(checkpoint) = self.take_creating(epoch) {
            self.askers.extend(checkpoint.askers);
            self.fail(FailReason::Fenced { epoch }, commands);
        }
    }

    fn unknown(&mut self, epoch: Epoch) {
        if let Phase::Creating { checkpoint, again_at, in_doubt } = &mut self.phase
            && checkpoint.epoch == epoch
        {
            *again_at = Some(self.now + self.options.create_again_after);
            *in_doubt = true;
        }
    }

    fn refused(&mut self, epoch: Epoch, why: String, commands: &mut Vec<Command>) {
        let was_in_doubt = matches!(self.phase, Phase::Creating { in_doubt: true, .. });
        let Some(checkpoint) = self.take_creating(epoch) else { return };
        if was_in_doubt {
            self.askers.extend(checkpoint.askers);
            self.fail(FailReason::InDoubt { epoch, why }, commands);
        } else {
            self.phase = Phase::Collecting(checkpoint);
            self.abort(AbortReason::ManifestRefused { why }, commands);
        }
    }

    /// The checkpoint whose manifest is being created, if it is that of `epoch`.
    fn take_creating(&mut self, epoch: Epoch) -> Option<InProgress> {
        match std::mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Creating { checkpoint, .. } if checkpoint.epoch == epoch => Some(checkpoint),
            other => {
                self.phase = other;
                None
            }
        }
    }

    fn asked(&mut self, asker: AskerId, commands: &mut Vec<Command>) {
        let reason = match self.phase {
            Phase::Ending => AbortReason::Ending,
            _ if self.askers.len() >= MAX_ASKERS => AbortReason::TooManyAskers,
            _ => return self.askers.push_back(asker),
        };
        commands.push(Command::Answer { asker, outcome: Err(reason) });
    }

    fn abort(&mut self, reason: AbortReason, commands: &mut Vec<Command>) {
        let Phase::Collecting(checkpoint) = std::mem::replace(&mut self.phase, Phase::Idle) else { return };
        let InProgress { epoch, kind, askers, .. } = checkpoint;
        self.last_end = Some(self.now);
        self.history.aborted(epoch, reason.clone());
        commands.push(Command::Abort { epoch, reason: reason.clone() });
        if kind == CheckpointKind::Final {
            // It is tried again, and whoever waits for it still gets it.
            self.askers.extend(askers);
            return;
        }
        let answers = askers.into_iter().map(|asker| Command::Answer { asker, outcome: Err(reason.clone()) });
        commands.extend(answers);
        if self.store == StorePhase::Ready && self.waiting_sinks.is_empty() {
            self.failures += 1;
        }
        if self.failures > self.options.tolerable_failures {
            self.fail(FailReason::TooManyAborts { aborts: self.failures, epoch, last: reason }, commands);
        }
    }

    fn fail(&mut self, reason: FailReason, commands: &mut Vec<Command>) {
        let waiting = match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Collecting(checkpoint) | Phase::Creating { checkpoint, .. } => checkpoint.askers,
            Phase::Idle | Phase::Ending | Phase::Over => Vec::new(),
        };
        let answers = waiting.into_iter().chain(self.askers.drain(..));
        commands.extend(answers.map(|asker| Command::Answer { asker, outcome: Err(AbortReason::JobFailed) }));
        commands.push(Command::Fail(reason));
    }
}
