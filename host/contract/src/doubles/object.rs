//! A snapshot store in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::{Blame, HostTime, Retry};
use xxhash_rust::xxh3::xxh3_64;

use crate::doubles::faults::{FaultDesk, with_fault};
use crate::doubles::{Fault, StoreCall};
use crate::{Clock, Error, ListedObject, ObjectHandle, SnapshotStore, check_object_name};

/// Objects in memory, on a medium that fails as a test says. Copies are of the same store.
#[derive(Clone, Default)]
pub struct MemorySnapshots {
    inner: Arc<Mutex<Inner>>,
    faults: Arc<FaultDesk>,
    clock: Option<Arc<dyn Clock>>,
}

#[derive(Debug, Default)]
struct Inner {
    objects: BTreeMap<String, Held>,
    forgets_to_sync: bool,
    capacity_bytes: Option<u64>,
}

#[derive(Debug)]
struct Held {
    bytes: Vec<u8>,
    modified: HostTime,
    synced: bool,
}

impl MemorySnapshots {
    /// An empty store, on a medium whose clock stands at 0.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty store on a medium with this clock.
    #[must_use]
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        Self { clock: Some(clock), ..Self::default() }
    }

    /// The next `count` calls of this kind go wrong so, after those arranged before.
    pub fn inject(&self, call: StoreCall, fault: Fault, count: u32) {
        self.faults.schedule(call, fault, count);
    }

    /// Calls `hook` before every call, with the name. It may block, as a slow medium does, and must not call the
    /// store.
    pub fn before_calls(&self, hook: impl Fn(StoreCall, &str) + Send + Sync + 'static) {
        self.faults.before_calls(hook);
    }

    /// Puts that would hold more than this in all fail until there is room; `None` lifts the limit.
    pub fn limit_capacity(&self, bytes: Option<u64>) {
        self.lock().capacity_bytes = bytes;
    }

    /// From now on (`true`) what is put is acknowledged without being synced, so that
    /// [`MemorySnapshots::lose_power`] drops it.
    pub fn forget_to_sync(&self, forgets: bool) {
        self.lock().forgets_to_sync = forgets;
    }

    /// Drops what was not synced.
    pub fn lose_power(&self) {
        self.lock().objects.retain(|_, held| held.synced);
    }

    /// Changes the bytes of `name` as they are stored: flips, cuts, lengthens.
    ///
    /// # Panics
    /// When there is no such object: the test damages nothing.
    pub fn damage(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut inner = self.lock();
        let held = inner.objects.get_mut(name).unwrap_or_else(|| panic!("no object `{name}` to damage"));
        change(&mut held.bytes);
    }

    /// The medium mixes up two objects.
    ///
    /// # Panics
    /// When one of them is not there.
    pub fn swap(&self, one: &str, other: &str) {
        let mut inner = self.lock();
        let mut take = |name: &str| inner.objects.remove(name).unwrap_or_else(|| panic!("no object `{name}` to swap"));
        let (first, second) = (take(one), take(other));
        inner.objects.insert(one.to_owned(), second);
        inner.objects.insert(other.to_owned(), first);
    }

    /// The medium loses `name`.
    pub fn lose(&self, name: &str) {
        self.lock().objects.remove(name);
    }

    /// The names there are, without a call of the store.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.lock().objects.keys().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic of another test thread leaves a map that is whole.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> HostTime {
        self.clock.as_ref().map_or(HostTime(0), |clock| clock.now())
    }
}

impl Inner {
    fn put(&mut self, name: &str, pieces: &[Arc<Vec<u8>>], now: HostTime) -> Result<ObjectHandle, Error> {
        let bytes = encode(pieces);
        let synced = !self.forgets_to_sync;
        let handle =
            ObjectHandle { name: name.to_owned(), length_bytes: bytes.len() as u64, checksum: xxh3_64(&bytes) };
        if let Some(held) = self.objects.get_mut(name) {
            if held.bytes != bytes {
                let message = format!("put object `{name}`: it is there with another content");
                return Err(Error::new(Blame::Host, Retry::No, message));
            }
            held.synced |= synced;
            return Ok(handle);
        }
        let held_bytes: u64 = self.objects.values().map(|it| it.bytes.len() as u64).sum();
        if self.capacity_bytes.is_some_and(|most| held_bytes + handle.length_bytes > most) {
            let message = format!("put object `{name}` of {} bytes: no room", handle.length_bytes);
            return Err(Error::new(Blame::External, Retry::Backoff, message).out_of_room(true));
        }
        self.objects.insert(name.to_owned(), Held { bytes, modified: now, synced });
        Ok(handle)
    }

    fn get(&self, handle: &ObjectHandle) -> Result<Vec<Arc<Vec<u8>>>, Error> {
        let broken = |why: &str| Error::new(Blame::External, Retry::No, format!("get object `{}`: {why}", handle.name));
        let bytes = &self.objects.get(&handle.name).ok_or_else(|| broken("it is not there"))?.bytes;
        if bytes.len() as u64 != handle.length_bytes || xxh3_64(bytes) != handle.checksum {
            return Err(broken("it is not what was written"));
        }
        decode(bytes).ok_or_else(|| broken("its pieces do not fill it"))
    }

    fn list(&self, prefix: &str) -> Vec<ListedObject> {
        let below = |name: &str| {
            prefix.is_empty() || name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let listed = |(name, held): (&String, &Held)| ListedObject {
            name: name.clone(),
            length_bytes: held.bytes.len() as u64,
            modified: held.modified,
        };
        self.objects.iter().filter(|(name, _)| below(name)).map(listed).collect()
    }
}

impl SnapshotStore for MemorySnapshots {
    fn put(&self, name: &str, pieces: &[Arc<Vec<u8>>]) -> Result<ObjectHandle, Error> {
        check_object_name(name)?;
        let fault = self.faults.begin(StoreCall::Put, name);
        let now = self.now();
        with_fault(fault, &format!("put object `{name}`"), || self.lock().put(name, pieces, now))
    }

    fn get(&self, handle: &ObjectHandle) -> Result<Vec<Arc<Vec<u8>>>, Error> {
        let fault = self.faults.begin(StoreCall::Get, &handle.name);
        with_fault(fault, &format!("get object `{}`", handle.name), || self.lock().get(handle))
    }

    fn delete(&self, name: &str) -> Result<(), Error> {
        let fault = self.faults.begin(StoreCall::Delete, name);
        with_fault(fault, &format!("delete object `{name}`"), || {
            self.lock().objects.remove(name);
            Ok(())
        })
    }

    fn list(&self, prefix: &str) -> Result<Vec<ListedObject>, Error> {
        let fault = self.faults.begin(StoreCall::List, prefix);
        with_fault(fault, &format!("list objects below `{prefix}`"), || Ok(self.lock().list(prefix)))
    }
}

/// The pieces in one: how many, how long each, their bytes.
fn encode(pieces: &[Arc<Vec<u8>>]) -> Vec<u8> {
    let mut bytes = (pieces.len() as u64).to_le_bytes().to_vec();
    for piece in pieces {
        bytes.extend_from_slice(&(piece.len() as u64).to_le_bytes());
    }
    for piece in pieces {
        bytes.extend_from_slice(piece);
    }
    bytes
}

fn decode(bytes: &[u8]) -> Option<Vec<Arc<Vec<u8>>>> {
    let (count, mut rest) = bytes.split_first_chunk::<8>()?;
    let mut lengths = Vec::new();
    for _ in 0..u64::from_le_bytes(*count) {
        let (length, after) = rest.split_first_chunk::<8>()?;
        lengths.push(usize::try_from(u64::from_le_bytes(*length)).ok()?);
        rest = after;
    }
    let mut pieces = Vec::with_capacity(lengths.len());
    for length in lengths {
        let (piece, after) = rest.split_at_checked(length)?;
        pieces.push(Arc::new(piece.to_vec()));
        rest = after;
    }
    rest.is_empty().then_some(pieces)
}

#[cfg(test)]
mod tests;
