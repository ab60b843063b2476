//! What chains and the coordinator share: a few atomics one way, messages the other.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;

use contract::Error;
use model::{Epoch, HostTime, OperatorUid, SubtaskIndex};

use super::handed::Handed;

/// What the coordinator is told.
pub(crate) enum Message {
    /// A subtask hands over what it has at a barrier.
    Handed(Box<Handed>),
    /// A subtask of a source has read its last record: it came to the end, or was told to stop.
    SourceStopped,
    /// What a thread that works for the coordinator has done.
    Done(Box<super::work::Done>),
    /// The target of a sink takes nothing, and its subtask waits: why. Or (`None`) it goes on.
    SinkWaits(Box<SinkWaits>),
    /// Somebody asks for a checkpoint.
    Asked(super::driver::Asker),
}

/// See [`Message::SinkWaits`].
pub(crate) struct SinkWaits {
    pub(crate) operator: OperatorUid,
    pub(crate) subtask: SubtaskIndex,
    pub(crate) error: Option<Error>,
}

/// See the module.
pub(crate) struct EpochLink {
    /// The last epoch that was triggered; 0: none.
    triggered: AtomicU64,
    /// Epochs up to this one are aborted where they have not aligned.
    aborted: AtomicU64,
    /// The last epoch whose checkpoint is complete.
    completed: AtomicU64,
    /// Set when sources that have stopped may send their end of input.
    may_end: AtomicBool,
    /// See [`super`].
    backlog_bytes: AtomicU64,
    backlog_limit_bytes: u64,
    /// Processing time is never before it.
    pub(crate) least_now: HostTime,
    coordinator: SyncSender<Message>,
}

impl EpochLink {
    pub(crate) fn new(
        restored: Epoch,
        least_now: HostTime,
        backlog_limit_bytes: u64,
        coordinator: SyncSender<Message>,
    ) -> Self {
        Self {
            triggered: AtomicU64::new(restored.0),
            aborted: AtomicU64::new(restored.0),
            completed: AtomicU64::new(restored.0),
            may_end: AtomicBool::new(false),
            backlog_bytes: AtomicU64::new(0),
            backlog_limit_bytes,
            least_now,
            coordinator,
        }
    }

    /// The barrier that a source is to send, which has sent all up to `sent`.
    #[inline]
    pub(crate) fn due(&self, sent: Epoch) -> Option<Epoch> {
        let triggered = self.triggered.load(Ordering::Relaxed);
        (triggered > sent.0).then_some(Epoch(triggered))
    }

    /// The epoch that records of now belong to.
    pub(crate) fn in_progress(&self) -> Epoch {
        Epoch(self.triggered.load(Ordering::SeqCst) + 1)
    }

    /// Sources send the barrier of `epoch` from now on; who wakes them is the caller.
    pub(crate) fn trigger(&self, epoch: Epoch) {
        self.triggered.fetch_max(epoch.0, Ordering::SeqCst);
    }

    /// The epoch up to which what has not aligned is aborted.
    pub(crate) fn aborted(&self) -> Epoch {
        Epoch(self.aborted.load(Ordering::SeqCst))
    }

    pub(crate) fn abort(&self, epoch: Epoch) {
        self.aborted.fetch_max(epoch.0, Ordering::SeqCst);
    }

    #[inline]
    pub(crate) fn completed(&self) -> Epoch {
        Epoch(self.completed.load(Ordering::Relaxed))
    }

    pub(crate) fn complete(&self, epoch: Epoch) {
        self.completed.fetch_max(epoch.0, Ordering::SeqCst);
    }

    /// Whether sources that have stopped may say that nothing follows.
    pub(crate) fn may_end(&self) -> bool {
        self.may_end.load(Ordering::SeqCst)
    }

    pub(crate) fn let_end(&self) {
        self.may_end.store(true, Ordering::SeqCst);
    }

    /// Whether so much waits to become durable or visible that sources must not read on.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.backlog_bytes.load(Ordering::Relaxed) > self.backlog_limit_bytes
    }

    pub(crate) fn backlog_limit_bytes(&self) -> u64 {
        self.backlog_limit_bytes
    }

    pub(crate) fn backlog_bytes(&self) -> u64 {
        self.backlog_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn add_to_backlog(&self, bytes: u64) {
        self.backlog_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn take_from_backlog(&self, bytes: u64) {
        let less = |now: u64| Some(now.saturating_sub(bytes));
        let changed = self.backlog_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        debug_assert!(changed.is_ok(), "the closure always gives a value");
    }

    /// Tells the coordinator. One that has left has stopped the job, and does not miss it.
    pub(crate) fn tell(&self, message: Message) {
        self.coordinator.send(message).ok();
    }
}

impl fmt::Debug for EpochLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EpochLink")
            .field("triggered", &self.triggered)
            .field("aborted", &self.aborted)
            .field("completed", &self.completed)
            .field("backlog_bytes", &self.backlog_bytes)
            .finish_non_exhaustive()
    }
}
