//! Values per key in the order they came.
//!
//! # Words
//! - *bounds*: the index of the first entry and the one the next entry will get, kept as a state of
//!   their own, so that adding to a list reads none of it.
//!
//! # Invariants
//! 1. Every entry has an index within the bounds; an index within them may have no entry (it was
//!    removed, or its time to live has passed).
//! 2. The bounds live at least as long as the newest entry: they are written whenever one is added, so
//!    no index is given twice.

use crate::Result;
use crate::bindings::types::{Refresh, StateDescriptor, StateKind, Ttl};
use crate::function::Declared;
use crate::schema::schema_text;
use crate::state::entries::Entries;
use crate::state::{State, Storable, Value};

/// Values per key in the order they came.
///
/// Adding to a list reads none of its values. A time to live holds for each value by itself.
///
/// ```
/// use tidegate::prelude::*;
///
/// /// Shows the last two lines of each key.
/// #[tidegate::function]
/// struct Tail {
///     #[state(ttl = "1h")]
///     lines: List<String>,
/// }
///
/// impl Keyed for Tail {
///     type In = Utf8;
///     type Out = Utf8;
///
///     fn on_record(&mut self, line: &str, cx: &mut Context<Self>) -> Result {
///         self.lines.push(line.to_owned())?;
///         self.lines.keep_last(2)?;
///         let lines: Vec<&str> = self.lines.values()?.map(String::as_str).collect();
///         cx.emit(&lines.join(" "));
///         Ok(())
///     }
/// }
///
/// # use tidegate::testing::{Harness, Record};
/// let mut tail = Harness::<Tail>::new();
/// let run = tail.run(["a", "b", "c"].map(|line| Record::text(line).key("k")));
/// assert_eq!(run.main().iter().map(|sent| sent.text()).collect::<Vec<_>>(), ["a", "a b", "b c"]);
/// assert_eq!(tail.state("lines").list::<String>(b"k"), ["b", "c"]);
/// ```
pub struct List<T> {
    bounds: Value<(u64, u64)>,
    entries: Entries<T>,
}

impl<T: Storable> List<T> {
    /// Adds a value at the end.
    ///
    /// # Errors
    /// When the bounds of the list cannot be read.
    pub fn push(&mut self, value: T) -> Result<()> {
        let (first, next) = self.bounds()?;
        self.entries.write(|into| into.extend_from_slice(&next.to_be_bytes()), Some(value));
        self.bounds.set((first, next + 1));
        Ok(())
    }

    /// All values, in the order they came.
    ///
    /// # Errors
    /// When what is stored is not a `T`.
    pub fn values(&mut self) -> Result<impl ExactSizeIterator<Item = &T>> {
        let numbers = self.all()?;
        let entries = &self.entries;
        Ok(numbers.into_iter().map(|number| entries.value(number).expect("`all` gives what exists")))
    }

    /// The value added last.
    ///
    /// # Errors
    /// When what is stored is not a `T`.
    pub fn last(&mut self) -> Result<Option<&T>> {
        let (first, next) = self.bounds()?;
        if first == next {
            return Ok(None);
        }
        Ok(self.entries.get(|into| into.extend_from_slice(&(next - 1).to_be_bytes()))?.as_ref())
    }

    /// How many values there are.
    ///
    /// # Errors
    /// When what is stored is not a `T`.
    pub fn len(&mut self) -> Result<usize> {
        Ok(self.all()?.len())
    }

    /// Whether there is no value.
    ///
    /// # Errors
    /// When what is stored is not a `T`.
    pub fn is_empty(&mut self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Forgets all but the last `count` values. Reads none of them.
    ///
    /// # Errors
    /// When the bounds of the list cannot be read.
    pub fn keep_last(&mut self, count: usize) -> Result<()> {
        let (first, next) = self.bounds()?;
        let kept = next.saturating_sub(count as u64).max(first);
        if kept > first {
            self.remove(first, kept);
            self.bounds.set((kept, next));
        }
        Ok(())
    }

    /// Forgets all values. Reads none of them.
    ///
    /// # Errors
    /// When the bounds of the list cannot be read.
    pub fn clear(&mut self) -> Result<()> {
        let (first, next) = self.bounds()?;
        if next > 0 {
            self.remove(first, next);
            self.bounds.clear();
        }
        Ok(())
    }

    fn bounds(&mut self) -> Result<(u64, u64)> {
        Ok(self.bounds.get()?.copied().unwrap_or((0, 0)))
    }

    /// The entries that exist. Also looks at the bounds: where reading refreshes entries, it must
    /// refresh the bounds too.
    fn all(&mut self) -> Result<Vec<u32>> {
        self.bounds()?;
        self.entries.all()
    }

    fn remove(&mut self, first: u64, end: u64) {
        for index in first..end {
            self.entries.write(|into| into.extend_from_slice(&index.to_be_bytes()), None);
        }
    }
}

/// How the bounds of a list are declared.
fn bounds_of(declared: Declared) -> Declared {
    let outlive_the_newest = |ttl: Ttl| match ttl.refresh {
        Refresh::OnCreate => Ttl { refresh: Refresh::OnWrite, ..ttl },
        Refresh::OnWrite | Refresh::OnRead => ttl,
    };
    Declared { id: declared.id + 1, version: 1, ttl: declared.ttl.map(outlive_the_newest), ..declared }
}

through_its_parts!([T: Storable] List<T>: bounds, entries);

impl<T: Storable> State for List<T> {
    type Stored = T;
    const IDS: u16 = 2;

    fn create(declared: Declared) -> Self {
        Self { bounds: Value::create(bounds_of(declared)), entries: Entries::new(declared) }
    }
    fn describe(declared: Declared, into: &mut Vec<StateDescriptor>) {
        let schema = format!(r#"{{"type":"array","items":{}}}"#, schema_text::<T>());
        into.push(declared.descriptor(StateKind::Appended, schema));
        let bounds = bounds_of(declared).descriptor(StateKind::Value, schema_text::<(u64, u64)>());
        into.push(StateDescriptor { name: format!("{}-bounds", declared.name), ..bounds });
    }
}
