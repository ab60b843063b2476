//! A checkpoint store in memory.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use model::{Blame, Retry};

use crate::{CheckpointStore, Creation, Error, Nonce, ObjectNumber, StoredObject};

/// Objects in memory, with answers that can be lost.
#[derive(Debug, Default)]
pub struct MemoryCheckpoints {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    objects: BTreeMap<ObjectNumber, StoredObject>,
    answers_to_lose: u32,
}

impl MemoryCheckpoints {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The next `count` creations take effect, and their caller is told that nobody knows.
    pub fn lose_answers(&self, count: u32) {
        self.lock().answers_to_lose = count;
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic of another test thread leaves a map that is whole.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CheckpointStore for MemoryCheckpoints {
    fn create(&self, number: ObjectNumber, nonce: Nonce, body: &[u8]) -> Result<Creation, Error> {
        let mut inner = self.lock();
        let creation = match inner.objects.get(&number) {
            None => {
                inner.objects.insert(number, StoredObject { nonce, body: body.to_vec() });
                Creation::Created
            }
            Some(there) if there.nonce != nonce => Creation::Taken,
            Some(there) if there.body == body => Creation::Created,
            Some(_) => return Err(same_nonce_other_body(number)),
        };
        if inner.answers_to_lose > 0 {
            inner.answers_to_lose -= 1;
            return Err(Error::new(Blame::External, Retry::Backoff, format!("create object {number}: no answer")));
        }
        Ok(creation)
    }

    fn list(&self) -> Result<Vec<ObjectNumber>, Error> {
        Ok(self.lock().objects.keys().copied().collect())
    }

    fn read(&self, number: ObjectNumber) -> Result<Option<StoredObject>, Error> {
        Ok(self.lock().objects.get(&number).cloned())
    }
}

fn same_nonce_other_body(number: ObjectNumber) -> Error {
    let message = format!("create object {number}: its nonce was used before with another body");
    Error::new(Blame::Host, Retry::No, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compliance;

    #[test]
    fn the_double_keeps_every_promise() {
        compliance::checkpoint::check(&|| Box::new(MemoryCheckpoints::new()));
    }

    #[test]
    fn a_lost_answer_is_found_by_asking_again() {
        let store = MemoryCheckpoints::new();
        store.lose_answers(1);
        let (number, nonce) = (ObjectNumber(3), Nonce(7));
        assert_eq!(store.create(number, nonce, b"x").unwrap_err().retry(), Retry::Backoff);
        assert_eq!(store.create(number, nonce, b"x").unwrap(), Creation::Created);
        assert_eq!(store.create(number, Nonce(8), b"x").unwrap(), Creation::Taken);
    }
}
