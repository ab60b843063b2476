//! What the coordinator is told, and what it commands.

use std::fmt;
use std::time::Duration;

use model::Epoch;

use crate::coordinator::SubtaskFigures;
use crate::manifest::CheckpointKind;

/// A subtask of the job, numbered from 0 over all operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubtaskNumber(pub u32);

impl fmt::Display for SubtaskNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A sink that stages, numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SinkNumber(pub u32);

impl fmt::Display for SinkNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Who asked for a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AskerId(pub u64);

/// How checkpoints are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// From trigger to trigger; `None`: only on demand and at the end.
    pub interval: Option<Duration>,
    /// From the trigger until every subtask has handed over; then the epoch is aborted. Where all have, and uploads go
    /// on, it goes on with them: no later manifest could do without, so giving it up would gain nothing, and a store too
    /// slow for one timeout would be too slow for all.
    pub timeout: Duration,
    /// At least this long between the end of one checkpoint and the trigger of the next periodic one.
    pub min_pause: Duration,
    /// How many aborts in a row are survived.
    pub tolerable_failures: u32,
    /// How many complete epochs may wait to be published. At that many, checkpoints wait, which bounds the
    /// staged output of a job whose target is down; queues then fill and the job slows down to a stop.
    pub max_unpublished: usize,
    /// How long after an unknown outcome a manifest is created again.
    pub create_again_after: Duration,
    /// How many checkpoints the history keeps.
    pub history: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            interval: Some(Duration::from_secs(10)),
            timeout: Duration::from_secs(60),
            min_pause: Duration::from_secs(1),
            tolerable_failures: 3,
            // At the default interval: an outage of the target of ten minutes costs nothing but staged bytes.
            max_unpublished: 64,
            create_again_after: Duration::from_secs(1),
            history: 64,
        }
    }
}

/// Who takes part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// How many subtasks hand over snapshots: numbers 0 to this.
    pub subtasks: u32,
    /// For each sink that stages, the epochs that the manifest started from lists as pending, rising.
    pub sinks: Vec<Vec<Epoch>>,
    /// The first epoch of this incarnation: one above that of the manifest started from, or 1.
    pub first_epoch: Epoch,
}

/// Whether the store takes objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorePhase {
    /// As far as we know it does.
    Ready,
    /// It does not answer.
    Away,
    /// It has no room.
    Full,
}

/// What became known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// Nothing but that time passed.
    Tick,
    /// The job runs: sinks may publish what the manifest started from lists.
    Started,
    /// A subtask took its snapshot of `epoch` and gave it away to be uploaded. Of one subtask they come in
    /// rising order, each before the epoch's acknowledgement.
    HandedOver {
        /// The subtask.
        subtask: SubtaskNumber,
        /// The epoch.
        epoch: Epoch,
    },
    /// Everything the subtask handed over for `epoch` is durable. In any order; more than once does no harm.
    Acknowledged {
        /// The subtask.
        subtask: SubtaskNumber,
        /// The epoch.
        epoch: Epoch,
        /// What it cost.
        figures: SubtaskFigures,
    },
    /// What a subtask handed over can never become durable: only a restore helps.
    Lost {
        /// The subtask.
        subtask: SubtaskNumber,
        /// The epoch.
        epoch: Epoch,
        /// What happened, for a person.
        why: String,
    },
    /// The target of a sink takes nothing now, and the subtask waits for it; or it goes on.
    SinkWaits {
        /// The subtask.
        subtask: SubtaskNumber,
        /// Whether it waits.
        is_so: bool,
    },
    /// The manifest of `epoch` is in the log.
    ManifestCreated {
        /// The epoch.
        epoch: Epoch,
    },
    /// Its number belongs to somebody else's record.
    ManifestTaken {
        /// The epoch.
        epoch: Epoch,
    },
    /// The attempt to create it ended without an answer.
    ManifestUnknown {
        /// The epoch.
        epoch: Epoch,
    },
    /// The manifest was refused, and is not in the log.
    ManifestRefused {
        /// The epoch.
        epoch: Epoch,
        /// What happened, for a person.
        why: String,
    },
    /// A sink is known to have published `epoch`, and what it had to publish before.
    Published {
        /// The sink.
        sink: SinkNumber,
        /// The epoch.
        epoch: Epoch,
    },
    /// A sink cannot publish `epoch`, and no repetition can help.
    PublishRefused {
        /// The sink.
        sink: SinkNumber,
        /// The epoch.
        epoch: Epoch,
        /// What happened, for a person.
        why: String,
    },
    /// All sources have reached their ends, or were told to stop: what they read is to be made visible.
    SourcesEnded,
    /// Somebody wants a checkpoint that begins after this.
    Asked {
        /// Who is answered.
        asker: AskerId,
    },
    /// The store went away, is full, or is back.
    Store(StorePhase),
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Sources put the barrier of `epoch` in band. After the barrier of a final checkpoint they read no further
    /// unless it is aborted.
    Trigger {
        /// The epoch.
        epoch: Epoch,
        /// Why.
        kind: CheckpointKind,
    },
    /// Subtasks stop aligning for `epoch`. What they handed over stays owed: uploads go on.
    Abort {
        /// The epoch.
        epoch: Epoch,
        /// Why.
        reason: AbortReason,
    },
    /// Create the manifest of `epoch`: it lists, epoch by epoch, all that was handed over for `owed_from` to `epoch`.
    /// The same epoch again means the same object again, with the same number, nonce and body.
    CreateManifest {
        /// The epoch.
        epoch: Epoch,
        /// Why it was triggered.
        kind: CheckpointKind,
        /// The first epoch that no manifest lists yet.
        owed_from: Epoch,
    },
    /// The checkpoint is complete: tell the subtasks.
    Complete {
        /// The epoch.
        epoch: Epoch,
        /// Why it was triggered.
        kind: CheckpointKind,
    },
    /// The sink publishes `epoch`, after those before, and goes on trying until it is done.
    Publish {
        /// The sink.
        sink: SinkNumber,
        /// The epoch.
        epoch: Epoch,
    },
    /// Decide anew what is kept: a manifest was added.
    Retain {
        /// The epoch of the newest manifest.
        newest: Epoch,
    },
    /// Answer somebody who asked.
    Answer {
        /// Who asked.
        asker: AskerId,
        /// The complete checkpoint that began after they asked, or the final one, after which nothing is read; or
        /// why there is none.
        outcome: Result<Epoch, AbortReason>,
    },
    /// Sources send the end of input: nothing is read any more.
    EndSources,
    /// Everything is published: the job ends.
    Finish,
    /// The job stops and is restarted or not, as its restart strategy says.
    Fail(FailReason),
}

/// Why there was no checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AbortReason {
    /// It took too long.
    #[error("timed out: {missing} subtasks have not handed over, the first is {first}")]
    TimedOut {
        /// How many subtasks have not.
        missing: usize,
        /// The first of them.
        first: SubtaskNumber,
    },
    /// Who asked has waited for as long as a checkpoint may take. It is not given up.
    #[error(
        "the timeout is over and {missing} subtasks are not durable yet, the first is {first}: the checkpoint goes on"
    )]
    StillUploading {
        /// How many subtasks still owe something.
        missing: usize,
        /// The first of them.
        first: SubtaskNumber,
    },
    /// The log does not take the manifest.
    #[error("the manifest was refused: {why}")]
    ManifestRefused {
        /// What happened.
        why: String,
    },
    /// The final checkpoint is complete: none begins any more.
    #[error("the job is ending: its final checkpoint is complete")]
    Ending,
    /// Too many wait already.
    #[error("{} wait for a checkpoint already: expected fewer", super::MAX_ASKERS)]
    TooManyAskers,
    /// The job failed.
    #[error("the job failed before the checkpoint was complete")]
    JobFailed,
}

/// Why the job cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FailReason {
    /// More aborts in a row than are survived.
    #[error("{aborts} checkpoints in a row were aborted, the last was epoch {epoch}: {last}")]
    TooManyAborts {
        /// How many.
        aborts: u32,
        /// The last of them.
        epoch: Epoch,
        /// Why that one.
        last: AbortReason,
    },
    /// Somebody else owns the job.
    #[error("fenced: the manifest of epoch {epoch} met a newer claim")]
    Fenced {
        /// The epoch.
        epoch: Epoch,
    },
    /// A manifest may or may not be in the log, and trying again is of no use.
    #[error("whether the manifest of epoch {epoch} was created is unknown, and creating it again is refused: {why}")]
    InDoubt {
        /// The epoch.
        epoch: Epoch,
        /// What happened.
        why: String,
    },
    /// What a subtask handed over cannot become durable.
    #[error("what subtask {subtask} handed over for epoch {epoch} is lost: {why}")]
    Lost {
        /// The subtask.
        subtask: SubtaskNumber,
        /// The epoch.
        epoch: Epoch,
        /// What happened.
        why: String,
    },
    /// What was staged can never be published.
    #[error("publish epoch {epoch} of sink {sink}: {why}")]
    PublishRefused {
        /// The sink.
        sink: SinkNumber,
        /// The epoch.
        epoch: Epoch,
        /// What happened.
        why: String,
    },
    /// A subtask handed over an epoch at or below one it handed over before, or one that was not triggered:
    /// a manifest would miss it.
    #[error("subtask {subtask} handed over epoch {epoch} out of order")]
    OutOfOrder {
        /// The subtask.
        subtask: SubtaskNumber,
        /// The epoch.
        epoch: Epoch,
    },
}

/// A checkpoint in progress, and whom it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The epoch.
    pub epoch: Epoch,
    /// Since its trigger.
    pub for_so_long: Duration,
    /// What it waits for.
    pub wait: WaitsFor,
    /// How many subtasks it waits for.
    pub missing: usize,
    /// The first of them.
    pub first: SubtaskNumber,
}

/// What a checkpoint in progress waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// Subtasks that have not passed the barrier.
    HandOver,
    /// Uploads and stagings.
    Durability,
    /// The log, to take its manifest: no subtask.
    Manifest,
}

/// Why checkpoints wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// The store does not answer.
    StoreAway,
    /// The store has no room.
    StoreFull,
    /// Sinks wait for targets that take nothing: no barrier would get past them.
    SinksWait {
        /// How many subtasks.
        subtasks: usize,
    },
    /// Too many epochs are not published.
    Backlog {
        /// How many.
        unpublished: usize,
    },
}
