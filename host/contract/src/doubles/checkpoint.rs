//! A checkpoint store in memory.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::{Blame, Retry};

use crate::doubles::faults::{FaultDesk, with_fault};
use crate::doubles::{Fault, StoreCall};
use crate::{CheckpointStore, Creation, Error, Nonce, ObjectNumber, StoredObject};

/// Objects in memory, on a medium that fails as a test says. Copies are of the same store.
#[derive(Clone, Debug, Default)]
pub struct MemoryCheckpoints {
    inner: Arc<Mutex<Inner>>,
    faults: Arc<FaultDesk>,
}

#[derive(Debug, Default)]
struct Inner {
    objects: BTreeMap<ObjectNumber, Held>,
    forgets_to_sync: bool,
    lists_without_newest: u32,
    rivals: VecDeque<StoredObject>,
}

#[derive(Debug)]
struct Held {
    object: StoredObject,
    synced: bool,
    damaged: bool,
}

impl MemoryCheckpoints {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The next `count` creations take effect, and their caller is told that nobody knows.
    pub fn lose_answers(&self, count: u32) {
        self.inject(StoreCall::Create, Fault::AnswerLost, count);
    }

    /// The next `count` calls of this kind go wrong so, after those arranged before.
    pub fn inject(&self, call: StoreCall, fault: Fault, count: u32) {
        self.faults.schedule(call, fault, count);
    }

    /// Calls `hook` before every call, with the number. It may block, as a slow medium does, and must not call the
    /// store.
    pub fn before_calls(&self, hook: impl Fn(StoreCall, &str) + Send + Sync + 'static) {
        self.faults.before_calls(hook);
    }

    /// The next `count` lists leave out the newest object, as a medium does that is not linearizable.
    pub fn list_without_newest(&self, count: u32) {
        self.lock().lists_without_newest = count;
    }

    /// Somebody else creates the number of the next creation just before it. Several are used one by one.
    pub fn overtake(&self, nonce: Nonce, body: &[u8]) {
        self.lock().rivals.push_back(StoredObject { nonce, body: body.to_vec() });
    }

    /// From now on (`true`) what is created is acknowledged without being synced, so that
    /// [`MemoryCheckpoints::lose_power`] drops it.
    pub fn forget_to_sync(&self, forgets: bool) {
        self.lock().forgets_to_sync = forgets;
    }

    /// Drops what was not synced.
    pub fn lose_power(&self) {
        self.lock().objects.retain(|_, held| held.synced);
    }

    /// From now on reading `number` finds it damaged.
    pub fn damage(&self, number: ObjectNumber) {
        if let Some(held) = self.lock().objects.get_mut(&number) {
            held.damaged = true;
        }
    }

    /// The medium loses `number`.
    pub fn lose(&self, number: ObjectNumber) {
        self.lock().objects.remove(&number);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic of another test thread leaves a map that is whole.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn create(&mut self, number: ObjectNumber, nonce: Nonce, body: &[u8]) -> Result<Creation, Error> {
        let synced = !self.forgets_to_sync;
        if let Some(rival) = self.rivals.pop_front() {
            self.objects.entry(number).or_insert(Held { object: rival, synced: true, damaged: false });
        }
        if self.objects.keys().next_back().is_some_and(|newest| *newest > number) {
            return Ok(Creation::Taken);
        }
        match self.objects.get_mut(&number) {
            None => {
                let object = StoredObject { nonce, body: body.to_vec() };
                self.objects.insert(number, Held { object, synced, damaged: false });
                Ok(Creation::Created)
            }
            Some(held) if held.damaged => Err(damaged(number)),
            Some(held) if held.object.nonce != nonce => Ok(Creation::Taken),
            Some(held) if held.object.body == body => {
                held.synced |= synced;
                Ok(Creation::Created)
            }
            Some(_) => Err(same_nonce_other_body(number)),
        }
    }

    fn list(&mut self) -> Vec<ObjectNumber> {
        let mut numbers: Vec<ObjectNumber> = self.objects.keys().copied().collect();
        if self.lists_without_newest > 0 {
            self.lists_without_newest -= 1;
            numbers.pop();
        }
        numbers
    }

    fn remove(&mut self, number: ObjectNumber) -> Result<(), Error> {
        if self.objects.keys().next_back() == Some(&number) {
            let message = format!("remove object {number}: it is the newest");
            return Err(Error::new(Blame::Host, Retry::No, message));
        }
        self.objects.remove(&number);
        Ok(())
    }

    fn read(&self, number: ObjectNumber) -> Result<Option<StoredObject>, Error> {
        match self.objects.get(&number) {
            Some(held) if held.damaged => Err(damaged(number)),
            held => Ok(held.map(|it| it.object.clone())),
        }
    }
}

impl CheckpointStore for MemoryCheckpoints {
    fn create(&self, number: ObjectNumber, nonce: Nonce, body: &[u8]) -> Result<Creation, Error> {
        let fault = self.faults.begin(StoreCall::Create, &number.to_string());
        with_fault(fault, &format!("create object {number}"), || self.lock().create(number, nonce, body))
    }

    fn list(&self) -> Result<Vec<ObjectNumber>, Error> {
        let fault = self.faults.begin(StoreCall::List, "");
        with_fault(fault, "list objects", || Ok(self.lock().list()))
    }

    fn remove(&self, number: ObjectNumber) -> Result<(), Error> {
        let fault = self.faults.begin(StoreCall::Remove, &number.to_string());
        with_fault(fault, &format!("remove object {number}"), || self.lock().remove(number))
    }

    fn read(&self, number: ObjectNumber) -> Result<Option<StoredObject>, Error> {
        let fault = self.faults.begin(StoreCall::Read, &number.to_string());
        with_fault(fault, &format!("read object {number}"), || self.lock().read(number))
    }
}

fn damaged(number: ObjectNumber) -> Error {
    Error::new(Blame::External, Retry::No, format!("object {number} is damaged"))
}

fn same_nonce_other_body(number: ObjectNumber) -> Error {
    let message = format!("create object {number}: its nonce was used before with another body");
    Error::new(Blame::Host, Retry::No, message)
}

#[cfg(test)]
mod tests;
