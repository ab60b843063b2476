//! Faults that a test arranges for the stores in memory.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::{Blame, Retry};

use crate::Error;

/// A call of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StoreCall {
    /// `CheckpointStore::create`
    Create,
    /// `CheckpointStore::read`
    Read,
    /// `CheckpointStore::remove`
    Remove,
    /// `SnapshotStore::put`
    Put,
    /// `SnapshotStore::get`
    Get,
    /// `SnapshotStore::delete`
    Delete,
    /// `list` of either
    List,
}

/// How a call goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing happens, and the caller is told that there was no answer.
    NoAnswer,
    /// The call takes effect, and the caller is told that there was no answer.
    AnswerLost,
    /// Nothing happens: the medium refuses for good, as without the right to.
    Refused,
    /// Nothing happens: there is no room.
    NoRoom,
}

/// What is called before every call, with its name or number; it may block, and must not call the store.
type Hook = Arc<dyn Fn(StoreCall, &str) + Send + Sync>;

/// The faults that are still to come, apart from what a store holds: a hook runs without any lock.
#[derive(Debug, Default)]
pub(super) struct FaultDesk(Mutex<Faults>);

impl FaultDesk {
    /// The next `count` calls of this kind go wrong so, after those arranged before.
    pub(super) fn schedule(&self, call: StoreCall, fault: Fault, count: u32) {
        self.lock().schedule(call, fault, count);
    }

    /// Calls `hook` before every call.
    pub(super) fn before_calls(&self, hook: impl Fn(StoreCall, &str) + Send + Sync + 'static) {
        self.lock().hook = Some(Arc::new(hook));
    }

    /// Begins a call, and gives the fault that it has.
    pub(super) fn begin(&self, call: StoreCall, name: &str) -> Option<Fault> {
        let hook = self.lock().hook.clone();
        if let Some(hook) = hook {
            hook(call, name);
        }
        self.lock().next(call)
    }

    fn lock(&self) -> MutexGuard<'_, Faults> {
        // A panic of another test thread leaves a list that is whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Default)]
struct Faults {
    scheduled: Vec<(StoreCall, Fault, u32)>,
    hook: Option<Hook>,
}

impl Faults {
    /// The next `count` calls of this kind go wrong so, after those arranged before.
    fn schedule(&mut self, call: StoreCall, fault: Fault, count: u32) {
        if count > 0 {
            self.scheduled.push((call, fault, count));
        }
    }

    /// The fault of a call that is made now.
    fn next(&mut self, call: StoreCall) -> Option<Fault> {
        let at = self.scheduled.iter().position(|it| it.0 == call)?;
        let (_, fault, left) = self.scheduled.get_mut(at)?;
        let fault = *fault;
        *left -= 1;
        if *left == 0 {
            self.scheduled.remove(at);
        }
        Some(fault)
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faults").field("scheduled", &self.scheduled).finish_non_exhaustive()
    }
}

/// Carries out a call with its fault: `act` is what it does.
pub(super) fn with_fault<T>(
    fault: Option<Fault>,
    what: &str,
    act: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    match fault {
        None => act(),
        Some(Fault::NoAnswer) => Err(no_answer(what)),
        Some(Fault::AnswerLost) => act().and_then(|_| Err(no_answer(what))),
        Some(Fault::NoRoom) => {
            Err(Error::new(Blame::External, Retry::Backoff, format!("{what}: nothing more fits")).out_of_room(true))
        }
        Some(Fault::Refused) => Err(Error::new(Blame::Config, Retry::No, format!("{what}: not allowed"))),
    }
}

fn no_answer(what: &str) -> Error {
    Error::new(Blame::External, Retry::Backoff, format!("{what}: no answer"))
}
