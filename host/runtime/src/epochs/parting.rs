//! Threads that call stores and targets, and how a job that ends parts with them.
//!
//! A call may never return: a mount that hangs, a connection that nobody closes. A thread in one is waited for with
//! patience, and left behind then. That does no harm: what it may still do is what a process that was overtaken may do.
//! A manifest meets the claim of whoever starts next, an upload has a name of its generation, and what is published is
//! listed by a manifest, and published once whoever does it.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use contract::Clock;

/// The patience of a job that ends, from the first thread that it parts with to the last.
pub(crate) struct Parting {
    clock: Arc<dyn Clock>,
    patience: Duration,
    began: OnceLock<Duration>,
}

impl Parting {
    pub(crate) fn new(clock: Arc<dyn Clock>, patience: Duration) -> Self {
        Self { clock, patience, began: OnceLock::new() }
    }

    fn left(&self) -> Duration {
        let now = self.clock.elapsed();
        (*self.began.get_or_init(|| now) + self.patience).saturating_sub(now)
    }
}

/// A thread that may be left behind.
#[derive(Debug)]
pub(crate) struct Hand {
    name: String,
    thread: JoinHandle<()>,
    /// Closed when it has left.
    left: Receiver<()>,
}

impl Hand {
    pub(crate) fn start(name: String, work: impl FnOnce() + Send + 'static) -> Result<Self, std::io::Error> {
        let (stays, left) = channel::<()>();
        let thread = thread::Builder::new().name(name.clone()).spawn(move || {
            let _stays = stays;
            work();
        })?;
        Ok(Self { name, thread, left })
    }

    /// Waits until it has left, or patience is over. Says whether it has.
    pub(crate) fn part(self, parting: &Parting) -> bool {
        self.thread.thread().unpark();
        match self.left.recv_timeout(parting.left()) {
            Err(RecvTimeoutError::Timeout) => {
                let waited = parting.patience;
                tracing::warn!(thread = self.name, "left behind: what it called has not returned within {waited:?}");
                false
            }
            // A panic in one was told as the loss of what it did.
            Ok(()) | Err(RecvTimeoutError::Disconnected) => self.thread.join().is_ok(),
        }
    }
}

#[cfg(test)]
mod tests;
