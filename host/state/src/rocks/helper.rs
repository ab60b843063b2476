//! The thread that does what the data thread must not wait for: it drains, purges, and begins images.
//!
//! # Invariants
//! 1. Jobs are done in the order in which they were given; what became of them is told in that order.
//! 2. After the first error no job is done any more, and no image is made of a base that misses something.

#[cfg(test)]
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, channel, sync_channel};

use super::base::{Base, Sst};
use super::error::Error;
use super::filter::{self, Filter, SharedFilter};
use super::image::Order;
use super::key;
use super::young::Piece;
use crate::entry::{self, EntryName, Head};

/// Jobs that may wait; who gives one more waits.
const MOST_JOBS: usize = 64;

/// Something to do.
#[derive(Debug)]
pub(super) enum Job {
    /// Write these segments to the base.
    Drain(Drain),
    /// Rewrite about so many bytes from this key on, so that what has expired goes.
    Purge { first: Vec<u8>, slice_bytes: u64 },
    /// Make the filter anew, without what the base no longer holds.
    Refilter,
    /// Begin an image.
    Image(Order),
}

/// Segments to be drained.
#[derive(Debug)]
pub(super) struct Drain {
    pub(super) numbers: Vec<usize>,
    pub(super) pieces: Vec<Piece>,
    pub(super) bytes: usize,
}

/// What became of a job.
#[derive(Debug)]
pub(super) enum Done {
    /// These segments are in the base.
    Drained { numbers: Vec<usize>, bytes: usize },
    /// What was asked for was rewritten; where to go on, `None` at the end.
    Purged { next: Option<Vec<u8>> },
    /// A filter that holds what the base holds.
    Refiltered(SharedFilter),
    /// An image was begun.
    Begun,
    /// Nothing: the base cannot go on.
    Failed(Error),
}

/// Does the jobs.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) base: Arc<Base>,
    pub(super) filter: SharedFilter,
    pub(super) key_group_count: u16,
    pub(super) failed: Option<Error>,
}

impl Worker {
    fn run(&mut self, job: Job) -> Done {
        if let Some(error) = self.failed.clone() {
            if let Job::Image(order) = job {
                order.refuse(&error);
            }
            return Done::Failed(error);
        }
        let done = match job {
            Job::Drain(drain) => self.drain(drain),
            Job::Purge { first, slice_bytes } => {
                self.base.compact(&first, slice_bytes).map(|next| Done::Purged { next })
            }
            Job::Refilter => self.refilter(),
            Job::Image(order) => order.begin(Arc::clone(&self.base)).map(|()| Done::Begun),
        };
        done.unwrap_or_else(|error| {
            self.failed = Some(error.clone());
            Done::Failed(error)
        })
    }

    fn drain(&self, drain: Drain) -> Result<Done, Error> {
        let Drain { numbers, pieces, bytes } = drain;
        let sorted = self.sorted(&pieces);
        let fill = |sst: &mut Sst<'_>| self.write(&pieces, &sorted, sst);
        self.base.ingest(fill)?;
        Ok(Done::Drained { numbers, bytes })
    }

    /// The entries of `pieces` in the order of their keys.
    fn sorted(&self, pieces: &[Piece]) -> Vec<Sorted> {
        let mut sorted = Vec::new();
        for (number, piece) in (0u32..).zip(pieces) {
            for (at, head) in piece.entries() {
                let name = head.name(&piece.bytes, at);
                let group = protocol::key_group::group_of(name.hash, self.key_group_count);
                let at = u32::try_from(at).expect("a segment is shorter than 4 GiB");
                sorted.push(Sorted { head: key::head(group, &name), piece: number, at });
            }
        }
        let order = |one: &Sorted, other: &Sorted| {
            let by_name = || key::order(&one.entry(pieces).0, &other.entry(pieces).0);
            one.head.cmp(&other.head).then_with(by_name)
        };
        sorted.sort_unstable_by(order);
        sorted
    }

    fn write(&self, pieces: &[Piece], sorted: &[Sorted], sst: &mut Sst<'_>) -> Result<(), Error> {
        let (mut stored_key, mut stored_value) = (Vec::new(), Vec::new());
        for entry in sorted {
            let (name, head, value) = entry.entry(pieces);
            let print = filter::print_of(&name);
            if value.is_none() && !self.filter.may_hold(print) {
                // Nothing is there to be deleted.
                continue;
            }
            let group = protocol::key_group::group_of(name.hash, self.key_group_count);
            stored_key.clear();
            key::push(&mut stored_key, group, &name);
            let Some(value) = value else {
                sst.add(&stored_key, None)?;
                continue;
            };
            self.filter.add(print);
            if name.entry_key.is_some() {
                self.filter.add(filter::print_of_key(&name));
            }
            stored_value.clear();
            key::push_value(&mut stored_value, &name, value, head.written);
            sst.add(&stored_key, Some(&stored_value))?;
        }
        Ok(())
    }

    fn refilter(&mut self) -> Result<Done, Error> {
        let filter = SharedFilter::new(Filter::default());
        let add = |stored: key::Stored<'_>| -> Result<bool, Error> {
            filter.add(filter::print_of(&stored.name));
            if stored.name.entry_key.is_some() {
                filter.add(filter::print_of_key(&stored.name));
            }
            Ok(true)
        };
        self.base.visit_all(|| (), add)?;
        self.filter = Arc::clone(&filter);
        Ok(Done::Refiltered(filter))
    }
}

/// Where an entry to be drained lies.
#[derive(Clone, Copy, Debug)]
struct Sorted {
    /// The first bytes of its key.
    head: u128,
    piece: u32,
    at: u32,
}

impl Sorted {
    fn entry<'p>(&self, pieces: &'p [Piece]) -> (EntryName<'p>, Head, Option<&'p [u8]>) {
        let piece = pieces.get(self.piece as usize).expect("pieces are numbered here");
        let at = self.at as usize;
        let head = Head::at(&piece.bytes, at);
        (head.name(&piece.bytes, at), head, entry::value(&piece.bytes, at))
    }
}

/// Who does the jobs.
#[derive(Debug)]
enum Place {
    /// A thread.
    Thread { jobs: SyncSender<Job>, done: Receiver<Done> },
    /// Whoever gives the job, at once or when it is told to.
    #[cfg(test)]
    Here { worker: Box<Worker>, jobs: VecDeque<Job>, done: VecDeque<Done>, is_at_once: bool },
}

/// Gives jobs, and hears of them.
#[derive(Debug)]
pub(super) struct Helper {
    place: Place,
    base: Arc<Base>,
    given: usize,
}

impl Helper {
    /// A thread of its own.
    ///
    /// # Errors
    /// [`Error::Storage`] when the system gives none.
    pub(super) fn thread(worker: Worker) -> Result<Self, Error> {
        let (jobs, to_do) = sync_channel(MOST_JOBS);
        // Bounded by the jobs.
        let (tell, done) = channel();
        let base = Arc::clone(&worker.base);
        let work = move || {
            let mut worker = worker;
            while let Ok(job) = to_do.recv() {
                if tell.send(worker.run(job)).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("state-drain".to_owned()).spawn(work);
        thread.map_err(|error| base.whose().stopped("start the thread that drains", error.to_string()))?;
        Ok(Self { place: Place::Thread { jobs, done }, base, given: 0 })
    }

    /// No thread: jobs are done when they are given, or by [`Self::step`].
    #[cfg(test)]
    pub(super) fn here(worker: Worker, is_at_once: bool) -> Self {
        let base = Arc::clone(&worker.base);
        let (jobs, done) = (VecDeque::new(), VecDeque::new());
        Self { place: Place::Here { worker: Box::new(worker), jobs, done, is_at_once }, base, given: 0 }
    }

    /// Gives a job.
    ///
    /// # Errors
    /// [`Error::HelperGone`].
    pub(super) fn give(&mut self, job: Job) -> Result<(), Error> {
        self.given += 1;
        match &mut self.place {
            Place::Thread { jobs, .. } => jobs.send(job).map_err(|_| self.gone()),
            #[cfg(test)]
            Place::Here { jobs, is_at_once, .. } => {
                jobs.push_back(job);
                if *is_at_once {
                    self.step();
                }
                Ok(())
            }
        }
    }

    /// What became of the next job, if it is done.
    ///
    /// # Errors
    /// [`Error::HelperGone`].
    pub(super) fn poll(&mut self) -> Result<Option<Done>, Error> {
        let done = match &mut self.place {
            Place::Thread { done, .. } => match done.try_recv() {
                Ok(done) => Some(done),
                Err(TryRecvError::Empty) => None,
                Err(TryRecvError::Disconnected) => return Err(self.gone()),
            },
            #[cfg(test)]
            Place::Here { done, .. } => done.pop_front(),
        };
        self.given -= usize::from(done.is_some());
        Ok(done)
    }

    /// Waits for what becomes of the next job; `None` where none was given.
    ///
    /// # Errors
    /// [`Error::HelperGone`].
    pub(super) fn wait(&mut self) -> Result<Option<Done>, Error> {
        if self.given == 0 {
            return Ok(None);
        }
        #[cfg(test)]
        self.step();
        let done = match &mut self.place {
            Place::Thread { done, .. } => done.recv().map_err(|_| self.gone())?,
            #[cfg(test)]
            Place::Here { .. } => return self.poll(),
        };
        self.given -= 1;
        Ok(Some(done))
    }

    /// Does the next job here; whether there was one.
    #[cfg(test)]
    pub(super) fn step(&mut self) -> bool {
        let Place::Here { worker, jobs, done, .. } = &mut self.place else { return false };
        let Some(job) = jobs.pop_front() else { return false };
        done.push_back(worker.run(job));
        true
    }

    fn gone(&self) -> Error {
        Error::HelperGone { operator: self.base.whose().operator.clone() }
    }
}
