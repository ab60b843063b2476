//! The threads that make things durable: uploads, stagings, the creation of manifests.
//!
//! # Invariants
//! 1. What was given is done or reported as lost; a store that does not answer is asked again, at growing
//!    distances, until it does or the job stops.
//! 2. A manifest is tried once per command: whether it is tried again is decided elsewhere.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use contract::{CheckpointStore, Creation, Error, Nonce, ObjectHandle, ObjectNumber, SnapshotStore, Staging};
use contract::{StagedOutput, StateDelta, StateImage, gather_objects};
use fail::fail_point;
use model::{Blame, Epoch, Retry};
use protocol::coordinator::SubtaskNumber;

use super::link::{EpochLink, Message};
use super::parting::{Hand, Parting};
use super::sweep::{KnownClaims, SweepRules, sweep};
use crate::backoff::Backoff;
use crate::control::Control;

/// What is to be done. As many wait as were handed over and are not durable: of epochs that were aborted, of the one in
/// progress, and a sweep.
pub(crate) enum Work {
    /// Make a part of keyed state durable, under names that begin so.
    Keep { from: Origin, prefix: String, delta: StateDelta, image: Option<StateImage> },
    /// Make staged output durable.
    Stage { from: Origin, staging: Staging },
    /// Create a manifest.
    Create { epoch: Epoch, number: ObjectNumber, nonce: Nonce, body: Arc<Vec<u8>> },
    /// Remove what no retained checkpoint needs.
    Sweep,
}

/// Who handed it over, and when that was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) subtask: SubtaskNumber,
    pub(crate) epoch: Epoch,
    pub(crate) at: Duration,
}

/// What was done.
pub(crate) enum Done {
    /// A part of keyed state is durable.
    Kept { from: Origin, is_image: bool, objects: Vec<ObjectHandle> },
    /// Staged output is durable.
    Staged { from: Origin, outputs: Vec<StagedOutput> },
    /// What was handed over can never become durable.
    Lost { from: Origin, error: Error },
    /// A manifest was tried.
    Created { epoch: Epoch, outcome: Result<Creation, Error> },
    /// What no checkpoint needs was removed, or the store did not let us.
    Swept { outcome: Result<(), Error> },
    /// The store did not do what it was asked, and is asked again.
    Trouble { error: Error },
    /// What a sink staged cannot become durable now, and is tried again.
    NotStaged { from: Origin, error: Error },
    /// The sink has published the epoch.
    Published { sink: usize, epoch: Epoch },
    /// It could not, and tries again.
    NotPublished { sink: usize, epoch: Epoch, error: Error },
    /// It never can.
    Unpublishable { sink: usize, epoch: Epoch, error: Error },
}

/// What the threads share.
#[derive(Clone)]
pub(crate) struct Medium {
    pub(crate) log: Arc<dyn CheckpointStore>,
    pub(crate) objects: Arc<dyn SnapshotStore>,
    pub(crate) link: Arc<EpochLink>,
    pub(crate) control: Arc<Control>,
    pub(crate) rules: SweepRules,
    pub(crate) claims: Arc<KnownClaims>,
    pub(crate) parting: Arc<Parting>,
}

/// The threads. They end when it is dropped or the job stops, after what they are at.
pub(crate) struct Pool {
    orders: Option<Sender<Work>>,
    threads: Vec<Hand>,
    parting: Arc<Parting>,
}

impl Pool {
    /// So many threads.
    pub(crate) fn new(threads: usize, medium: &Medium) -> Result<Self, std::io::Error> {
        let (orders, queue) = channel();
        let queue = Arc::new(Mutex::new(queue));
        let parting = Arc::clone(&medium.parting);
        let mut pool = Self { orders: Some(orders), threads: Vec::new(), parting };
        for number in 0..threads.max(1) {
            let (queue, medium) = (Arc::clone(&queue), medium.clone());
            pool.threads.push(Hand::start(format!("upload-{number}"), move || medium.work(&queue))?);
        }
        Ok(pool)
    }

    pub(crate) fn give(&self, work: Work) {
        if let Some(orders) = &self.orders {
            // A thread leaves before the pool only when the job stops: then nothing waits for it.
            orders.send(work).ok();
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.orders = None;
        for thread in self.threads.drain(..) {
            thread.part(&self.parting);
        }
    }
}

/// What is known of work that panicked.
#[derive(Clone, Copy, Debug)]
enum What {
    HandedOver(Origin),
    Manifest(Epoch),
    Sweep,
}

impl Work {
    fn what(&self) -> What {
        match self {
            Self::Keep { from, .. } | Self::Stage { from, .. } => What::HandedOver(*from),
            Self::Create { epoch, .. } => What::Manifest(*epoch),
            Self::Sweep => What::Sweep,
        }
    }
}

impl What {
    fn panicked(self) -> Done {
        let error = |what: &str| Error::new(Blame::Host, Retry::RestoreFirst, format!("{what} panicked"));
        match self {
            Self::HandedOver(from) => Done::Lost { from, error: error("making a snapshot durable").with_code("E0520") },
            Self::Sweep => Done::Swept { outcome: Err(error("removing old checkpoints").with_code("E0520")) },
            Self::Manifest(epoch) => {
                Done::Created { epoch, outcome: Err(error("creating a manifest").with_code("E0520")) }
            }
        }
    }
}

impl Medium {
    fn work(&self, queue: &Mutex<Receiver<Work>>) {
        self.control.register();
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(work) = next else { return };
            if self.control.is_stopped() {
                return;
            }
            let what = work.what();
            let done = catch_unwind(AssertUnwindSafe(|| self.carry_out(work)));
            if let Some(done) = done.unwrap_or_else(|_| Some(what.panicked())) {
                self.link.tell(Message::Done(Box::new(done)));
            }
        }
    }

    /// `None`: the job stopped meanwhile.
    fn carry_out(&self, work: Work) -> Option<Done> {
        match work {
            Work::Keep { from, prefix, delta, image } => {
                let is_image = image.is_some();
                let segments = image.unwrap_or_else(|| Box::new(delta.segments.into_iter().map(Ok)));
                let kept = self.keep(&prefix, segments);
                fail_point!("after-upload");
                Some(match kept.transpose()? {
                    Ok(objects) => Done::Kept { from, is_image, objects },
                    Err(error) => Done::Lost { from, error },
                })
            }
            Work::Stage { from, staging } => self.stage(from, staging),
            Work::Create { epoch, number, nonce, body } => {
                fail_point!("before-manifest");
                let outcome = self.log.create(number, nonce, &body);
                fail_point!("after-manifest");
                Some(Done::Created { epoch, outcome })
            }
            Work::Sweep => {
                let (log, objects, now) = (self.log.as_ref(), self.objects.as_ref(), self.control.clock().now());
                let swept = sweep(log, objects, self.rules, &self.claims, now);
                if let Ok((records, objects)) = &swept {
                    tracing::debug!(records, objects, "removed what no retained checkpoint needs");
                }
                Some(Done::Swept { outcome: swept.map(drop) })
            }
        }
    }

    /// Makes staged output durable, however often that takes.
    fn stage(&self, from: Origin, mut staging: Staging) -> Option<Done> {
        let mut backoff = Backoff::new();
        loop {
            match staging() {
                Ok(outputs) => return Some(Done::Staged { from, outputs }),
                Err(error) if error.retry() == Retry::Backoff => {
                    self.link.tell(Message::Done(Box::new(Done::NotStaged { from, error })));
                }
                Err(error) => return Some(Done::Lost { from, error }),
            }
            if !backoff.pause(&self.control) {
                return None;
            }
        }
    }

    /// Puts segments in objects of a bounded length. `None`: the job stopped.
    fn keep(&self, prefix: &str, segments: StateImage) -> Result<Option<Vec<ObjectHandle>>, Error> {
        let mut objects = Vec::new();
        for pieces in gather_objects(segments) {
            let name = format!("{prefix}-{}", objects.len());
            let Some(handle) = self.put(&name, &pieces?)? else { return Ok(None) };
            objects.push(handle);
            if self.control.is_stopped() {
                return Ok(None);
            }
        }
        Ok(Some(objects))
    }

    /// Puts an object, however often that takes. `None`: the job stopped.
    fn put(&self, name: &str, pieces: &[Arc<Vec<u8>>]) -> Result<Option<ObjectHandle>, Error> {
        let mut backoff = Backoff::new();
        loop {
            match self.objects.put(name, pieces) {
                Ok(handle) => return Ok(Some(handle)),
                Err(error) if error.retry() == Retry::Backoff => {
                    self.link.tell(Message::Done(Box::new(Done::Trouble { error })));
                }
                Err(error) => return Err(error),
            }
            if !backoff.pause(&self.control) {
                return Ok(None);
            }
        }
    }
}
