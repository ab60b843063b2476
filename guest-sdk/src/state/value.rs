//! One value per key.
//!
//! # Invariants
//! 1. Per batch the host is asked at most once, at the first read, and told at most once, at the end.
//! 2. A value is decoded when it is first read, and encoded once, however often it was written.
//! 3. Nothing is allocated per record once the tables have grown, unless `T` itself allocates.

use crate::Result;
use crate::bindings::state::Writes;
use crate::bindings::types::{OptionalColumn, StateDescriptor, StateKind};
use crate::error::Flaw;
use crate::function::{Declared, Part, Row};
use crate::host;
use crate::schema::schema_text;
use crate::state::mark::{Life, Mark};
use crate::state::{State, Storable};

/// One value per key.
///
/// ```
/// use tidegate::prelude::*;
///
/// /// Lets a record through when its key was last seen as another version.
/// #[tidegate::function]
/// struct Changes {
///     #[state(ttl = "30d")]
///     last: Value<String>,
/// }
///
/// impl Keyed for Changes {
///     type In = Utf8;
///     type Out = Forward;
///
///     fn on_record(&mut self, version: &str, cx: &mut Context<Self>) -> Result {
///         if self.last.get()?.is_none_or(|last| last != version) {
///             self.last.set(version.to_owned());
///             cx.forward();
///         }
///         Ok(())
///     }
/// }
///
/// # use tidegate::testing::{Harness, Record};
/// let mut changes = Harness::<Changes>::new();
/// let run = changes.run(["1", "1", "2"].map(|version| Record::text(version).key("k")));
/// assert_eq!(run.main().len(), 2);
/// assert_eq!(changes.state("last").value::<String>(b"k"), Some("2".to_owned()));
/// ```
pub struct Value<T> {
    declared: Declared,
    life: Life,
    at: Row,
    slots: usize,
    cells: Vec<Cell<T>>,
    /// Of each slot, where values expire.
    marks: Vec<Mark>,
    stored: Option<OptionalColumn>,
    /// Slots written, in the order of their first write.
    written: Vec<u32>,
    writes: Writes,
}

/// The value of one slot.
struct Cell<T> {
    value: Option<T>,
    /// Whether `value` is what holds: read from the host, or written.
    known: bool,
    written: bool,
    /// Whether it was written otherwise than by reading it.
    changed: bool,
    /// The row that wrote last.
    row: u32,
}

impl<T> Default for Cell<T> {
    fn default() -> Self {
        Self { value: None, known: false, written: false, changed: false, row: 0 }
    }
}

/// The promise behind a slot.
const NUMBERED: &str = "the host numbers slots from 0 below the number of keys";

impl<T: Storable> Value<T> {
    /// The value of the current key; `None` where nothing was written, or its time to live has passed.
    ///
    /// # Errors
    /// When what is stored is not a `T`.
    #[inline]
    pub fn get(&mut self) -> Result<Option<&T>> {
        self.known()?;
        if self.life.refreshes_on_read() {
            self.refresh();
        }
        Ok(self.cells.get(self.at.slot as usize).expect(NUMBERED).value.as_ref())
    }

    /// Sets the value.
    #[inline]
    pub fn set(&mut self, value: T) {
        self.write(Some(value));
    }

    /// Forgets the value.
    #[inline]
    pub fn clear(&mut self) {
        self.write(None);
    }

    /// Takes the value out, so that none is left.
    ///
    /// # Errors
    /// When what is stored is not a `T`.
    pub fn take(&mut self) -> Result<Option<T>> {
        if self.known()?.value.is_none() {
            return Ok(None);
        }
        let taken = self.touch().value.take();
        self.note(false, true);
        Ok(taken)
    }

    /// Changes the value in place, starting from the default where there is none, and gives it back.
    ///
    /// ```
    /// # use tidegate::prelude::*;
    /// # #[tidegate::function]
    /// # struct Counts {
    /// #     #[state]
    /// #     count: Value<u64>,
    /// # }
    /// # impl Keyed for Counts {
    /// #     type In = KeyOnly;
    /// #     type Out = ();
    /// #     fn on_record(&mut self, _: (), _: &mut Context<Self>) -> Result {
    /// let count = *self.count.update(|count| *count += 1)?;
    /// # assert!(count > 0);
    /// #         Ok(())
    /// #     }
    /// # }
    /// # use tidegate::testing::{Harness, Record};
    /// # let mut counts = Harness::<Counts>::new();
    /// # assert!(counts.run([Record::tombstone().key("k")]).bad_records().is_empty());
    /// # assert_eq!(counts.state("count").value::<u64>(b"k"), Some(1));
    /// ```
    ///
    /// # Errors
    /// When what is stored is not a `T`.
    pub fn update(&mut self, change: impl FnOnce(&mut T)) -> Result<&T>
    where
        T: Default,
    {
        let was_absent = self.known()?.value.is_none();
        self.note(was_absent, false);
        let value = self.touch().value.get_or_insert_default();
        change(value);
        Ok(value)
    }

    #[inline]
    pub(super) fn write(&mut self, value: Option<T>) {
        let is_absent = value.is_none();
        let cell = self.touch();
        let was_absent = cell.known && cell.value.is_none();
        cell.value = value;
        cell.known = true;
        self.note(was_absent, is_absent);
    }

    /// Changes the value where there is one, and sets it where there is none.
    pub(super) fn merge(&mut self, value: T, merge: impl FnOnce(&mut T, T)) -> Result<&T> {
        let was_absent = self.known()?.value.is_none();
        self.note(was_absent, false);
        let cell = self.touch();
        match &mut cell.value {
            Some(present) => merge(present, value),
            None => cell.value = Some(value),
        }
        Ok(cell.value.as_ref().expect("it was just set"))
    }

    /// The cell of the current slot, read from the host if need be.
    #[inline]
    fn known(&mut self) -> Result<&mut Cell<T>> {
        let slot = self.at.slot as usize;
        if !self.cells.get(slot).is_some_and(|cell| cell.known) {
            self.read()?;
        }
        Ok(self.cells.get_mut(slot).expect(NUMBERED))
    }

    /// The cell of the current slot, marked as written by the current row.
    #[inline]
    fn touch(&mut self) -> &mut Cell<T> {
        if self.cells.is_empty() {
            self.make_cells();
        }
        let cell = self.cells.get_mut(self.at.slot as usize).expect(NUMBERED);
        cell.row = self.at.number;
        cell.changed = true;
        if !cell.written {
            cell.written = true;
            self.written.push(self.at.slot);
        }
        cell
    }

    /// Notes what the current row did to the value of the current slot.
    #[inline]
    fn note(&mut self, was_absent: bool, is_absent: bool) {
        if let Some(mark) = self.marks.get_mut(self.at.slot as usize) {
            mark.note(self.life, self.at, was_absent, is_absent);
        }
    }

    /// Writes the value of the current slot again as it is, if there is one: it was read.
    fn refresh(&mut self) {
        let cell = self.cells.get_mut(self.at.slot as usize).expect(NUMBERED);
        if cell.value.is_none() {
            return;
        }
        if !cell.written {
            cell.written = true;
            cell.row = self.at.number;
            self.written.push(self.at.slot);
        }
        self.note(false, false);
    }

    /// Reads the current slot from what the host holds, which is asked for at the first read.
    fn read(&mut self) -> Result<()> {
        if self.cells.is_empty() {
            self.make_cells();
        }
        let id = self.declared.id;
        let slot = self.at.slot as usize;
        let stored = self.stored.get_or_insert_with(|| host::load(id));
        let cell = self.cells.get_mut(slot).expect(NUMBERED);
        if let Some(bytes) = stored.get(slot) {
            cell.value = Some(T::decode(bytes).map_err(|error| self.declared.unreadable(&error))?);
        }
        cell.known = true;
        Ok(())
    }

    #[cold]
    fn make_cells(&mut self) {
        self.cells.resize_with(self.slots, Cell::default);
        if self.life.is_mortal() {
            self.marks.resize(self.slots, Mark::default());
        }
    }
}

impl<T: Storable> Part for Value<T> {
    fn begin_batch(&mut self, slots: usize) {
        self.slots = slots;
        self.cells.clear();
        self.marks.clear();
        self.stored = None;
        self.written.clear();
        self.writes.slots.clear();
        self.writes.values.clear();
        self.writes.rows.clear();
    }

    #[inline]
    fn select(&mut self, at: Row) {
        self.at = at;
    }

    fn finish_batch(&mut self) -> Result<(), Flaw> {
        if self.written.is_empty() {
            return Ok(());
        }
        let Writes { slots, values, rows, .. } = &mut self.writes;
        values.items.ends.reserve(self.written.len());
        for &slot in &self.written {
            let cell = self.cells.get(slot as usize).expect("a written slot has a cell");
            if let Some(mark) = self.marks.get(slot as usize) {
                if mark.was_deleted() && cell.value.is_some() {
                    slots.push(slot);
                    values.push_absent();
                    rows.extend(self.life.is_dated().then_some(mark.row()));
                }
                rows.extend(self.life.is_dated().then_some(mark.row()));
            }
            slots.push(slot);
            match &cell.value {
                None => values.push_absent(),
                Some(_) if !cell.changed => {
                    values.push(self.stored.as_ref().and_then(|stored| stored.get(slot as usize)))
                }
                Some(value) => {
                    let encoded = value.encode(&mut values.items.bytes);
                    encoded.map_err(|error| Flaw { row: cell.row, error: self.declared.unwritable(&error) })?;
                    values.close_item();
                }
            }
        }
        host::store(self.declared.id, &self.writes);
        Ok(())
    }
}

impl<T: Storable> State for Value<T> {
    type Stored = T;

    fn create(declared: Declared) -> Self {
        let writes = Writes { slots: Vec::new(), entry_keys: None, values: OptionalColumn::new(), rows: Vec::new() };
        Self {
            declared,
            life: Life::of(&declared),
            at: Row::default(),
            slots: 0,
            cells: Vec::new(),
            marks: Vec::new(),
            stored: None,
            written: Vec::new(),
            writes,
        }
    }

    fn describe(declared: Declared, into: &mut Vec<StateDescriptor>) {
        into.push(declared.descriptor(StateKind::Value, schema_text::<T>()));
    }
}
