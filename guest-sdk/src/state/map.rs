//! Values per key, each under a key of its own.

use std::borrow::Borrow;
use std::marker::PhantomData;

use crate::Result;
use crate::bindings::types::{StateDescriptor, StateKind};
use crate::function::Declared;
use crate::schema::schema_text;
use crate::state::entries::Entries;
use crate::state::{EntryKey, MapKey, State, Storable};

/// Values per key, each under a key of its own.
///
/// An entry is asked for when it is first looked at; the whole map only by [`Map::entries`],
/// [`Map::len`], [`Map::is_empty`] and [`Map::clear`]. A time to live holds for each entry by itself.
///
/// ```
/// use tidegate::prelude::*;
///
/// #[derive(Fields)]
/// struct Click<'a> {
///     page: &'a str,
/// }
///
/// /// Counts the clicks of a user, which is the key, per page.
/// #[tidegate::function]
/// struct Clicks {
///     #[state]
///     per_page: Map<String, u64>,
/// }
///
/// impl Keyed for Clicks {
///     type In = Fields<Click<'static>>;
///     type Out = Utf8;
///
///     fn on_record(&mut self, click: Click<'_>, cx: &mut Context<Self>) -> Result {
///         self.per_page.update(click.page, |clicks| *clicks += 1)?;
///         for (page, clicks) in self.per_page.entries()? {
///             cx.emit(&format!("{page}={clicks}"));
///         }
///         Ok(())
///     }
/// }
///
/// # use tidegate::testing::{Harness, Record};
/// let mut clicks = Harness::<Clicks>::new();
/// let run = clicks.run(["/b", "/a"].map(|page| Record::json(&format!(r#"{{"page": "{page}"}}"#)).key("ada")));
/// assert_eq!(run.main().iter().map(|sent| sent.text()).collect::<Vec<_>>(), ["/b=1", "/a=1", "/b=1"]);
/// assert_eq!(clicks.state("per_page").entry::<String, u64>(b"ada", "/a"), Some(1));
/// ```
pub struct Map<K, V> {
    entries: Entries<V>,
    key: PhantomData<fn() -> K>,
}

impl<K: MapKey, V: Storable> Map<K, V> {
    /// The value under `key`.
    ///
    /// # Errors
    /// When what is stored is not a `V`.
    pub fn get<Q: EntryKey + ?Sized>(&mut self, key: &Q) -> Result<Option<&V>>
    where
        K: Borrow<Q>,
    {
        Ok(self.entries.get(|into| key.append(into))?.as_ref())
    }

    /// Whether there is a value under `key`.
    ///
    /// # Errors
    /// When what is stored is not a `V`.
    pub fn contains<Q: EntryKey + ?Sized>(&mut self, key: &Q) -> Result<bool>
    where
        K: Borrow<Q>,
    {
        Ok(self.get(key)?.is_some())
    }

    /// Sets the value under `key`.
    pub fn set<Q: EntryKey + ?Sized>(&mut self, key: &Q, value: V)
    where
        K: Borrow<Q>,
    {
        self.entries.write(|into| key.append(into), Some(value));
    }

    /// Changes the value under `key` in place, starting from the default where there is none.
    ///
    /// # Errors
    /// When what is stored is not a `V`.
    pub fn update<Q: EntryKey + ?Sized>(&mut self, key: &Q, change: impl FnOnce(&mut V)) -> Result<()>
    where
        K: Borrow<Q>,
        V: Default,
    {
        self.entries.change(|into| key.append(into), |value| change(value.get_or_insert_default()))
    }

    /// Forgets the value under `key`.
    pub fn remove<Q: EntryKey + ?Sized>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
    {
        self.entries.write(|into| key.append(into), None);
    }

    /// Takes the value under `key` out, so that none is left.
    ///
    /// # Errors
    /// When what is stored is not a `V`.
    pub fn take<Q: EntryKey + ?Sized>(&mut self, key: &Q) -> Result<Option<V>>
    where
        K: Borrow<Q>,
    {
        self.entries.change(|into| key.append(into), Option::take)
    }

    /// All entries, in the order of their keys.
    ///
    /// # Errors
    /// When what is stored are not a `K` and a `V`.
    pub fn entries(&mut self) -> Result<impl ExactSizeIterator<Item = (K, &V)>> {
        let numbers = self.entries.all()?;
        let entries = &self.entries;
        let pair =
            |number| Ok((K::read(entries.key(number))?, entries.value(number).expect("`all` gives what exists")));
        let pairs: Vec<(K, &V)> = numbers.into_iter().map(pair).collect::<Result<_>>()?;
        Ok(pairs.into_iter())
    }

    /// How many entries there are.
    ///
    /// # Errors
    /// When what is stored is not a `V`.
    pub fn len(&mut self) -> Result<usize> {
        Ok(self.entries.all()?.len())
    }

    /// Whether there is no entry.
    ///
    /// # Errors
    /// When what is stored is not a `V`.
    pub fn is_empty(&mut self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Forgets all entries.
    ///
    /// # Errors
    /// When what is stored is not a `V`.
    pub fn clear(&mut self) -> Result<()> {
        self.entries.clear()
    }
}

through_its_parts!([K, V: Storable] Map<K, V>: entries);

impl<K: MapKey, V: Storable> State for Map<K, V> {
    type Stored = V;

    fn create(declared: Declared) -> Self {
        Self { entries: Entries::new(declared), key: PhantomData }
    }
    fn describe(declared: Declared, into: &mut Vec<StateDescriptor>) {
        let schema = format!(
            r#"{{"type":"object","propertyNames":{},"additionalProperties":{}}}"#,
            K::SCHEMA,
            schema_text::<V>()
        );
        into.push(declared.descriptor(StateKind::MapEntries, schema));
    }
}
