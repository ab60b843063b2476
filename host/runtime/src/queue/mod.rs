//! The queue between two subtasks: one sender, one receiver, batches in order, bounded in bytes.
//!
//! A short lock per batch guards the queue. It is held for a push or a pop, never while anybody waits;
//! who waits spins briefly, then parks, and is woken by the other side, by [`Control`], or by the other
//! side's end.
//!
//! # Invariants
//! 1. Elements arrive in the order in which they were sent, each once.
//! 2. What waits weighs at most the bound that the receiver has set, or is a single element; the bound is never above the
//!    limit. A bound that is lowered below what waits lets nothing more in.
//! 3. Neither side waits for one that is gone: a send to a dropped receiver is [`Closed`], and a
//!    receiver learns of a dropped sender after the last element.
//! 4. No wake-up is lost: who is about to park says so first, then looks once more.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::Duration;

use crate::control::Control;

/// How often a waiter looks again before it parks: a few microseconds, less than parking and waking
/// cost, and little enough that a waiting thread does not eat a core that another could use.
const SPINS: u32 = 64;

/// Where a thread waits, and how it is woken.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    thread: OnceLock<Thread>,
    is_parked: AtomicBool,
}

impl Signal {
    /// Makes the calling thread the one that waits here. The first call counts.
    pub(crate) fn bind(&self) {
        self.thread.get_or_init(std::thread::current);
    }

    /// Waits until `ready`, the job stops, or `timeout` is over; may return earlier.
    pub(crate) fn wait(&self, control: &Control, timeout: Option<Duration>, ready: impl Fn() -> bool) {
        for _ in 0..SPINS {
            if ready() {
                return;
            }
            std::hint::spin_loop();
        }
        self.is_parked.store(true, Ordering::SeqCst);
        if !ready() && !control.is_stopped() {
            match timeout {
                Some(timeout) => std::thread::park_timeout(timeout),
                None => std::thread::park(),
            }
        }
        self.is_parked.store(false, Ordering::SeqCst);
    }

    fn wake(&self) {
        if self.is_parked.load(Ordering::SeqCst)
            && self.is_parked.swap(false, Ordering::SeqCst)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }
}

/// The other side is gone, or the job has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Closed;

/// What a receiver finds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Received<T> {
    /// The next element.
    Element(T),
    /// Nothing now.
    Empty,
    /// Nothing any more: the sender is gone.
    Closed,
}

#[derive(Debug)]
struct Shared<T> {
    waiting: Mutex<Waiting<T>>,
    /// Elements that wait; written under the lock, read without.
    elements: AtomicUsize,
    /// Their weight; written under the lock, read without.
    bytes: AtomicUsize,
    /// The most bytes that the bound may be.
    most_bytes: usize,
    bound_bytes: AtomicUsize,
    /// Set when either side is gone.
    is_closed: AtomicBool,
    /// Wakes the sender.
    space: Signal,
    /// Wakes the receiver, which may wait for several queues at once.
    arrival: Arc<Signal>,
}

#[derive(Debug)]
struct Waiting<T>(VecDeque<(T, usize)>);

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, Waiting<T>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_room(&self, weight: usize) -> bool {
        let bytes = self.bytes.load(Ordering::SeqCst);
        self.elements.load(Ordering::SeqCst) == 0
            || bytes.saturating_add(weight) <= self.bound_bytes.load(Ordering::SeqCst)
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }
}

/// The sending side.
#[derive(Debug)]
pub(crate) struct Sender<T>(Arc<Shared<T>>);

/// The receiving side.
#[derive(Debug)]
pub(crate) struct Receiver<T>(Arc<Shared<T>>);

/// A queue whose receiver waits at `arrival`.
pub(crate) fn queue<T>(limit_bytes: usize, arrival: Arc<Signal>) -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Shared {
        waiting: Mutex::new(Waiting(VecDeque::new())),
        elements: AtomicUsize::new(0),
        bytes: AtomicUsize::new(0),
        most_bytes: limit_bytes,
        bound_bytes: AtomicUsize::new(limit_bytes),
        is_closed: AtomicBool::new(false),
        space: Signal::default(),
        arrival,
    });
    (Sender(Arc::clone(&shared)), Receiver(shared))
}

impl<T> Sender<T> {
    /// Whether an element of this weight would not wait.
    pub(crate) fn has_room(&self, weight: usize) -> bool {
        self.0.has_room(weight)
    }

    /// What waits is bounded by so many bytes now.
    pub(crate) fn bound_bytes(&self) -> usize {
        self.0.bound_bytes.load(Ordering::SeqCst)
    }

    /// Sends an element, waiting for room as long as it takes.
    pub(crate) fn send(&self, element: T, weight: usize, control: &Control) -> Result<(), Closed> {
        let shared = &*self.0;
        while !shared.has_room(weight) && !shared.is_closed() {
            if control.is_stopped() {
                return Err(Closed);
            }
            shared.space.bind();
            shared.space.wait(control, None, || shared.has_room(weight) || shared.is_closed());
        }
        if shared.is_closed() {
            return Err(Closed);
        }
        {
            let mut waiting = shared.lock();
            waiting.0.push_back((element, weight));
            shared.elements.fetch_add(1, Ordering::SeqCst);
            shared.bytes.fetch_add(weight, Ordering::SeqCst);
        }
        shared.arrival.wake();
        Ok(())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.is_closed.store(true, Ordering::SeqCst);
        self.0.arrival.wake();
    }
}

impl<T> Receiver<T> {
    /// The most that may wait here.
    pub(crate) fn most_bytes(&self) -> usize {
        self.0.most_bytes
    }

    /// From now on no more than this waits.
    pub(crate) fn bound(&self, bytes: usize) {
        self.0.bound_bytes.store(bytes.min(self.0.most_bytes), Ordering::SeqCst);
        self.0.space.wake();
    }

    /// Whether [`Receiver::receive`] would find something new.
    pub(crate) fn is_ready(&self) -> bool {
        self.0.elements.load(Ordering::SeqCst) > 0 || self.0.is_closed()
    }

    /// Takes the next element; never waits.
    pub(crate) fn receive(&self) -> Received<T> {
        let shared = &*self.0;
        let was_closed = shared.is_closed();
        if shared.elements.load(Ordering::SeqCst) == 0 {
            return if was_closed { Received::Closed } else { Received::Empty };
        }
        let taken = {
            let mut waiting = shared.lock();
            let taken = waiting.0.pop_front();
            if let Some((_, weight)) = &taken {
                shared.elements.fetch_sub(1, Ordering::SeqCst);
                shared.bytes.fetch_sub(*weight, Ordering::SeqCst);
            }
            taken
        };
        shared.space.wake();
        match taken {
            Some((element, _)) => Received::Element(element),
            None => Received::Empty,
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.0.is_closed.store(true, Ordering::SeqCst);
        self.0.lock().0.clear();
        self.0.space.wake();
    }
}

#[cfg(test)]
mod tests;
