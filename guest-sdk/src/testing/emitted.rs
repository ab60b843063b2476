//! A record sent to an output.

use serde::de::DeserializeOwned;

use crate::bindings::types::{Cells, Field, FieldColumn, OutputBatch, PortDescriptor};
use crate::testing::Record;
use crate::testing::batch::Ready;
use crate::testing::host::Emit;
use crate::{FieldSet, FieldType, Timer, Timestamp};

/// A record sent to an output.
///
/// ```
/// use tidegate::prelude::*;
/// use tidegate::testing::{Harness, Record};
///
/// #[tidegate::function]
/// struct Twice;
///
/// impl Unkeyed for Twice {
///     type In = Utf8;
///     type Out = Bytes;
///
///     fn on_record(&mut self, text: &str, cx: &mut Context<Self>) -> Result {
///         cx.forward();
///         cx.emit(text.as_bytes());
///         Ok(())
///     }
/// }
///
/// let run = Harness::<Twice>::new().run([Record::text("a").key("k")]);
/// let [forwarded, made] = run.main() else { panic!("two were sent") };
/// assert!(forwarded.is_forwarded() && !made.is_forwarded());
/// assert_eq!(made.text(), "a");
/// assert_eq!(made.key(), Some(b"k".as_slice()));
/// ```
#[derive(Clone, Debug)]
pub struct Emitted {
    pub(super) index: usize,
    pub(super) timer: Option<Timer>,
    pub(super) forwarded: bool,
    pub(super) key: Option<Vec<u8>>,
    pub(super) value: Option<Vec<u8>>,
    pub(super) specs: Vec<Field>,
    pub(super) fields: Vec<FieldColumn>,
    pub(super) event_time: Option<Timestamp>,
    pub(super) headers: Vec<(String, Option<Vec<u8>>)>,
}

impl Emitted {
    /// Which record of the run caused it, from 0; which of its timers, if it was one.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// The timer that caused it; `None` where a record did.
    #[must_use]
    pub fn timer(&self) -> Option<Timer> {
        self.timer
    }

    /// Whether it is that record itself.
    #[must_use]
    pub fn is_forwarded(&self) -> bool {
        self.forwarded
    }

    /// Its key.
    #[must_use]
    pub fn key(&self) -> Option<&[u8]> {
        self.key.as_deref()
    }

    /// Its event time.
    #[must_use]
    pub fn event_time(&self) -> Option<Timestamp> {
        self.event_time
    }

    /// Its headers.
    #[must_use]
    pub fn headers(&self) -> &[(String, Option<Vec<u8>>)] {
        &self.headers
    }

    /// Whether it has neither value nor fields.
    #[must_use]
    pub fn is_tombstone(&self) -> bool {
        self.value.is_none() && self.fields.is_empty()
    }

    /// Its value.
    ///
    /// # Panics
    /// When it has none: it is a tombstone, or consists of fields.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        let what = if self.fields.is_empty() { "it is a tombstone" } else { "it consists of fields: see `field`" };
        self.value.as_deref().unwrap_or_else(|| panic!("the record sent has no value: {what}"))
    }

    /// Its value as text.
    ///
    /// # Panics
    /// When it has none, or it is not UTF-8.
    #[must_use]
    pub fn text(&self) -> &str {
        std::str::from_utf8(self.bytes()).unwrap_or_else(|error| panic!("the value sent is not UTF-8: {error}"))
    }

    /// Its value read from JSON.
    ///
    /// # Panics
    /// When it has none, or it is not a `T`.
    #[must_use]
    pub fn json<T: DeserializeOwned>(&self) -> T {
        serde_json::from_slice(self.bytes())
            .unwrap_or_else(|error| panic!("the value sent is not the JSON asked for: {error}"))
    }

    /// One of its fields; text is asked for as `String`.
    ///
    /// # Panics
    /// When it has no such field, or one of another type.
    #[must_use]
    pub fn field<C: FieldType>(&self, name: &str) -> C::At<'_> {
        let known = || self.specs.iter().map(|field| field.name.as_str()).collect::<Vec<_>>().join(", ");
        let (spec, column) = self
            .specs
            .iter()
            .zip(&self.fields)
            .find(|(spec, _)| spec.name == name)
            .unwrap_or_else(|| panic!("the record sent has no field `{name}`: it has {}", known()));
        let opened = C::open(column).unwrap_or_else(|| panic!("the field `{name}` is of kind {:?}", spec.kind));
        C::read(&opened, 0)
    }

    /// All its fields.
    ///
    /// # Panics
    /// When they are not those of `T`.
    #[must_use]
    pub fn fields<T: FieldSet>(&self) -> T::At<'_> {
        let columns = T::open(&self.fields).unwrap_or_else(|error| panic!("{error}"));
        T::read(&columns, 0)
    }
}

impl PartialEq for Emitted {
    fn eq(&self, other: &Self) -> bool {
        let same_fields = || self.fields.iter().map(Shown::of).eq(other.fields.iter().map(Shown::of));
        self.index == other.index
            && self.timer == other.timer
            && self.forwarded == other.forwarded
            && self.key == other.key
            && self.value == other.value
            && self.event_time == other.event_time
            && self.headers == other.headers
            && same_fields()
    }
}

/// The cell of a column with one row.
#[derive(PartialEq)]
enum Shown<'a> {
    Absent,
    Text(&'a [u8]),
    Integer(Option<i64>),
    /// The bits: a number that is not one equals itself.
    Float(Option<u64>),
    Boolean(Option<u8>),
}

impl<'a> Shown<'a> {
    fn of(column: &'a FieldColumn) -> Self {
        if column.present.first() == Some(&0) {
            return Self::Absent;
        }
        match &column.cells {
            Cells::Texts(cells) => Self::Text(cells.get(0)),
            Cells::Integers(cells) => Self::Integer(cells.first().copied()),
            Cells::Floats(cells) => Self::Float(cells.first().map(|float| float.to_bits())),
            Cells::Booleans(cells) => Self::Boolean(cells.first().copied()),
        }
    }
}

/// The records of one call to emit.
pub(super) fn sent(port: &PortDescriptor, emit: &Emit, records: &[Ready]) -> Vec<Emitted> {
    let record = |row: u32| records.get(row as usize).expect("the call was checked");
    match emit {
        Emit::Forward(rows) => rows.iter().map(|&row| inherited(record(row), true)).collect(),
        Emit::Push(batch) => {
            let made = |(number, &row): (usize, &u32)| {
                let mut sent = inherited(record(row), false);
                fill(&mut sent, batch, number);
                if batch.values.len() == 0 {
                    sent.specs.clone_from(&port.fields);
                }
                sent
            };
            batch.rows.iter().enumerate().map(made).collect()
        }
    }
}

/// What a record takes from the one that caused it.
fn inherited(ready: &Ready, forwarded: bool) -> Emitted {
    let Record { value, key, event_time, headers, .. } = &ready.record;
    Emitted {
        index: ready.index,
        timer: ready.timer,
        forwarded,
        key: key.clone(),
        value: value.clone().filter(|_| forwarded),
        specs: Vec::new(),
        fields: Vec::new(),
        event_time: *event_time,
        headers: headers.clone(),
    }
}

/// Fills in what record `number` of `batch` has of its own.
fn fill(sent: &mut Emitted, batch: &OutputBatch, number: usize) {
    if batch.values.len() > 0 {
        sent.value = batch.values.get(number).map(<[u8]>::to_vec);
    } else {
        sent.fields = batch.fields.iter().map(|column| one_row(column, number)).collect();
    }
    if let Some(keys) = &batch.keys {
        sent.key = keys.get(number).map(<[u8]>::to_vec);
    }
    if let Some(&millis) = batch.timestamps.get(number) {
        sent.event_time = Timestamp::known(millis);
    }
    if let Some(headers) = &batch.headers {
        let own =
            (0..headers.owners.len()).filter(|&index| headers.owners.get(index) == u32::try_from(number).ok().as_ref());
        let pair = |index| {
            let name = String::from_utf8_lossy(headers.names.get(index)).into_owned();
            (name, headers.values.get(index).map(<[u8]>::to_vec))
        };
        sent.headers = own.map(pair).collect();
    }
}

/// Row `row` of a column, as a column.
fn one_row(column: &FieldColumn, row: usize) -> FieldColumn {
    let present = if column.present.get(row) == Some(&0) { vec![0] } else { Vec::new() };
    let cells = match &column.cells {
        Cells::Texts(cells) => Cells::Texts(std::iter::once(cells.get(row)).collect()),
        Cells::Integers(cells) => Cells::Integers(cells.get(row).copied().into_iter().collect()),
        Cells::Floats(cells) => Cells::Floats(cells.get(row).copied().into_iter().collect()),
        Cells::Booleans(cells) => Cells::Booleans(cells.get(row).copied().into_iter().collect()),
    };
    FieldColumn { present, cells }
}
