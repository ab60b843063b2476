//! The state of all keys.

use std::collections::BTreeMap;
use std::ops::Bound;

use serde::de::DeserializeOwned;

use crate::bindings::types::{StateDescriptor, StateKind};
use crate::{EntryKey, MapKey, Schema};

/// Where an entry lies: state, key, entry key (empty for a single value).
type Place = (u16, Vec<u8>, Vec<u8>);

/// What lies there.
#[derive(Clone, PartialEq)]
struct Kept {
    value: Vec<u8>,
    /// When it was written, or made; 0 where that does not matter.
    written: i64,
}

/// All entries.
#[derive(Clone, Default, PartialEq)]
pub(super) struct Store {
    entries: BTreeMap<Place, Kept>,
}

impl Store {
    /// An entry, and when it was written.
    pub(super) fn get(&self, state: u16, key: &[u8], entry: &[u8]) -> Option<(&[u8], i64)> {
        let kept = self.entries.get(&(state, key.to_vec(), entry.to_vec()))?;
        Some((&kept.value, kept.written))
    }

    /// Writes an entry at `written`, or deletes it.
    pub(super) fn put(&mut self, state: u16, key: &[u8], entry: &[u8], value: Option<&[u8]>, written: i64) {
        let place = (state, key.to_vec(), entry.to_vec());
        match value {
            Some(value) => drop(self.entries.insert(place, Kept { value: value.to_vec(), written })),
            None => drop(self.entries.remove(&place)),
        }
    }

    /// When the entries of one key were written.
    pub(super) fn write_times<'a>(&'a self, state: u16, key: &'a [u8]) -> impl Iterator<Item = i64> + 'a {
        self.scan(state, key, None).map(|(_, _, written)| written)
    }

    /// Entries of one key, in the order of their entry keys, after `after`, and when they were written.
    pub(super) fn scan<'a>(
        &'a self,
        state: u16,
        key: &'a [u8],
        after: Option<&[u8]>,
    ) -> impl Iterator<Item = (&'a [u8], &'a [u8], i64)> {
        let start = match after {
            Some(after) => Bound::Excluded((state, key.to_vec(), after.to_vec())),
            None => Bound::Included((state, key.to_vec(), Vec::new())),
        };
        self.entries
            .range((start, Bound::Unbounded))
            .take_while(move |((of, owner, _), _)| *of == state && owner == key)
            .map(|((_, _, entry), kept)| (entry.as_slice(), kept.value.as_slice(), kept.written))
    }

    fn keys(&self, state: u16) -> Vec<&[u8]> {
        let mut keys: Vec<_> =
            self.entries.keys().filter(|(of, _, _)| *of == state).map(|(_, key, _)| key.as_slice()).collect();
        keys.dedup();
        keys
    }
}

/// One state of a function, for all keys, as a job would show it. What has expired is among it until it is
/// written over.
///
/// ```
/// use tidegate::prelude::*;
/// use tidegate::testing::{Harness, Record};
///
/// #[tidegate::function]
/// struct Tags {
///     #[state]
///     tags: Map<String, bool>,
/// }
///
/// impl Keyed for Tags {
///     type In = Utf8;
///     type Out = ();
///
///     fn on_record(&mut self, tag: &str, _: &mut Context<Self>) -> Result {
///         self.tags.set(tag, true);
///         Ok(())
///     }
/// }
///
/// let mut tags = Harness::<Tags>::new();
/// tags.run([Record::text("red").key("a"), Record::text("blue").key("a")]);
/// let state = tags.state("tags");
/// assert_eq!(state.keys(), [b"a"]);
/// assert_eq!(state.entries::<String, bool>(b"a"), [("blue".to_owned(), true), ("red".to_owned(), true)]);
/// ```
pub struct StateView<'a> {
    store: &'a Store,
    descriptor: &'a StateDescriptor,
}

impl<'a> StateView<'a> {
    pub(super) fn new(store: &'a Store, descriptor: &'a StateDescriptor) -> Self {
        Self { store, descriptor }
    }

    /// The keys that have something, in order.
    #[must_use]
    pub fn keys(&self) -> Vec<&'a [u8]> {
        self.store.keys(self.descriptor.id)
    }

    /// What a `Value`, `Reducing`, `Aggregating` (its accumulator) or `Counter` (an `i64`) holds for `key`.
    ///
    /// # Panics
    /// When the state is of another kind, or holds no `T`.
    #[must_use]
    pub fn value<T: Schema + DeserializeOwned>(&self, key: impl AsRef<[u8]>) -> Option<T> {
        self.check(StateKind::Value, "value");
        self.store.get(self.descriptor.id, key.as_ref(), &[]).map(|(bytes, _)| self.decode(bytes))
    }

    /// The entry of a `Map` under `entry`, for `key`.
    ///
    /// # Panics
    /// When the state is of another kind, or holds no `V`.
    #[must_use]
    pub fn entry<K, V>(&self, key: impl AsRef<[u8]>, entry: &(impl EntryKey + ?Sized)) -> Option<V>
    where
        K: MapKey,
        V: Schema + DeserializeOwned,
    {
        self.check(StateKind::MapEntries, "map");
        let mut bytes = Vec::new();
        entry.append(&mut bytes);
        self.store.get(self.descriptor.id, key.as_ref(), &bytes).map(|(bytes, _)| self.decode(bytes))
    }

    /// All entries of a `Map` for `key`, in the order of their keys.
    ///
    /// # Panics
    /// When the state is of another kind, or holds no `K` and `V`.
    #[must_use]
    pub fn entries<K: MapKey, V: Schema + DeserializeOwned>(&self, key: impl AsRef<[u8]>) -> Vec<(K, V)> {
        self.check(StateKind::MapEntries, "map");
        let read = |(entry, value, _)| {
            let entry = K::read(entry).unwrap_or_else(|error| panic!("state `{}`: {error}", self.descriptor.name));
            (entry, self.decode(value))
        };
        self.store.scan(self.descriptor.id, key.as_ref(), None).map(read).collect()
    }

    /// All values of a `List` for `key`, in order.
    ///
    /// # Panics
    /// When the state is of another kind, or holds no `T`.
    #[must_use]
    pub fn list<T: Schema + DeserializeOwned>(&self, key: impl AsRef<[u8]>) -> Vec<T> {
        self.check(StateKind::Appended, "list");
        self.store.scan(self.descriptor.id, key.as_ref(), None).map(|(_, value, _)| self.decode(value)).collect()
    }

    fn check(&self, asked: StateKind, name: &str) {
        let StateDescriptor { name: state, kind, .. } = self.descriptor;
        assert!(*kind == asked, "state `{state}` is a {kind:?}: it has no {name}");
    }

    fn decode<T: Schema + DeserializeOwned>(&self, bytes: &[u8]) -> T {
        T::decode(bytes).unwrap_or_else(|error| panic!("state `{}`: {error}", self.descriptor.name))
    }
}
