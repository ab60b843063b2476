//! A source that delivers what a test wrote down, and fails where it says so.
//!
//! A split whose items are made as they are asked for may grow: a reader at the end asks again at each poll.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use model::{
    Blame, EventTime, Headers, OptionalColumn, Origins, Position, RecordBatch, Retry, SourceId, SplitIndex, Values,
};

use crate::{Error, Polled, Rejected, Source, SourceReader, Split, SplitAssignment};

/// A record to deliver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryRecord {
    /// Its value; `None` for a tombstone.
    pub value: Option<Vec<u8>>,
    /// The key it comes with.
    pub key: Option<Vec<u8>>,
    /// The event time that the source knows.
    pub timestamp: Option<EventTime>,
    /// Its headers.
    pub headers: Vec<(String, Option<Vec<u8>>)>,
}

impl MemoryRecord {
    /// A record that is a value and nothing else.
    #[must_use]
    pub fn new(value: impl Into<Vec<u8>>) -> Self {
        Self { value: Some(value.into()), ..Self::default() }
    }

    /// The same with a key.
    #[must_use]
    pub fn with_key(self, key: impl Into<Vec<u8>>) -> Self {
        Self { key: Some(key.into()), ..self }
    }

    /// The same with an event time.
    #[must_use]
    pub fn at(self, millis: i64) -> Self {
        Self { timestamp: Some(EventTime(millis)), ..self }
    }
}

/// What stands at a position of a split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryItem {
    /// A record.
    Record(MemoryRecord),
    /// Something that is none.
    Rejected(String),
    /// A pause.
    Idle(Duration),
    /// The medium fails.
    Fail(String),
    /// The reader panics.
    Panic(String),
}

type Items = Arc<dyn Fn(u64) -> Option<MemoryItem> + Send + Sync>;

/// What is read in order.
#[derive(Clone)]
struct MemorySplit {
    name: String,
    identity: Vec<u8>,
    items: Items,
}

/// A source in memory. A position is the number of an item in its split.
#[derive(Clone, Default)]
pub struct MemorySource {
    splits: Vec<MemorySplit>,
    max_rows: Option<usize>,
    fails_to_open: Option<String>,
    delivered: Arc<AtomicU64>,
}

impl MemorySource {
    /// One split called `split-0` of values.
    #[must_use]
    pub fn of_values<V: Into<Vec<u8>>>(values: impl IntoIterator<Item = V>) -> Self {
        Self::default().with_split(values.into_iter().map(|value| MemoryItem::Record(MemoryRecord::new(value))))
    }

    /// Adds a split of items.
    #[must_use]
    pub fn with_split(self, items: impl IntoIterator<Item = MemoryItem>) -> Self {
        let items: Vec<MemoryItem> = items.into_iter().collect();
        let at = move |index: u64| items.get(usize::try_from(index).ok()?).cloned();
        self.with_items(at)
    }

    /// Adds a split whose items are made as they are asked for; it is at its end where there is `None`.
    #[must_use]
    pub fn with_items(mut self, items: impl Fn(u64) -> Option<MemoryItem> + Send + Sync + 'static) -> Self {
        let name = format!("split-{}", self.splits.len());
        self.splits.push(MemorySplit { name, identity: Vec::new(), items: Arc::new(items) });
        self
    }

    /// Gives the split that was added last another name.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.last_split().name);
        self
    }

    /// Gives the split that was added last an identity, which is checked when reading resumes.
    #[must_use]
    pub fn with_identity(mut self, identity: impl Into<Vec<u8>>) -> Self {
        self.last_split().identity = identity.into();
        self
    }

    fn last_split(&mut self) -> &mut MemorySplit {
        self.splits.last_mut().expect("a test adds a split before it says more of it")
    }

    /// Delivers at most so many rows at a time.
    #[must_use]
    pub fn with_max_rows(self, max_rows: usize) -> Self {
        Self { max_rows: Some(max_rows), ..self }
    }

    /// Refuses to be opened.
    #[must_use]
    pub fn failing_to_open(self, message: &str) -> Self {
        Self { fails_to_open: Some(message.to_owned()), ..self }
    }

    /// How many records all its readers have delivered.
    #[must_use]
    pub fn delivered(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.delivered)
    }
}

impl fmt::Debug for MemorySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.splits.iter().map(|split| &split.name);
        f.debug_struct("MemorySource").field("splits", &names.collect::<Vec<_>>()).finish_non_exhaustive()
    }
}

impl Source for MemorySource {
    fn splits(&self) -> Result<Vec<Split>, Error> {
        let named = (0u32..).zip(&self.splits);
        Ok(named.map(|(index, split)| Split { index: SplitIndex(index), name: split.name.clone() }).collect())
    }

    fn open(&self, id: SourceId, splits: Vec<SplitAssignment>) -> Result<Box<dyn SourceReader>, Error> {
        if let Some(message) = &self.fails_to_open {
            return Err(Error::new(Blame::External, Retry::Backoff, message.clone()));
        }
        let mut cursors = Vec::new();
        for assignment in splits {
            let index = assignment.split.index;
            let name = &assignment.split.name;
            let Some(split) = self.splits.get(index.0 as usize).filter(|split| split.name == *name) else {
                return Err(Error::new(Blame::Host, Retry::No, format!("there is no split {index} called `{name}`")));
            };
            if !assignment.identity.is_empty() && assignment.identity != split.identity {
                let expected = String::from_utf8_lossy(&assignment.identity).into_owned();
                let found = String::from_utf8_lossy(&split.identity);
                let message = format!("split `{name}` is another: expected the identity `{expected}`, found `{found}`");
                return Err(Error::new(Blame::External, Retry::No, message));
            }
            let next = assignment.position.map_or(0, |position| position.0);
            let (items, identity) = (Arc::clone(&split.items), split.identity.clone());
            cursors.push(Cursor { split: index, items, identity, next });
        }
        let delivered = Arc::clone(&self.delivered);
        Ok(Box::new(MemoryReader { id, cursors, turn: 0, max_rows: self.max_rows, delivered }))
    }
}

/// Where reading stands in a split.
struct Cursor {
    split: SplitIndex,
    items: Items,
    identity: Vec<u8>,
    next: u64,
}

struct MemoryReader {
    id: SourceId,
    cursors: Vec<Cursor>,
    turn: usize,
    max_rows: Option<usize>,
    delivered: Arc<AtomicU64>,
}

impl MemoryReader {
    /// Records that follow each other in one split; whatever else stands first there.
    fn read(&mut self, at: usize, max_rows: usize, max_bytes: usize) -> Result<Option<Polled>, Error> {
        let Some(cursor) = self.cursors.get_mut(at) else { return Ok(None) };
        let mut builder = Builder::default();
        while builder.rows() < max_rows.max(1) {
            match (cursor.items)(cursor.next) {
                Some(MemoryItem::Record(record))
                    if builder.rows() > 0 && builder.bytes + record.value.as_ref().map_or(0, Vec::len) > max_bytes =>
                {
                    break;
                }
                Some(MemoryItem::Record(record)) => {
                    builder.push(&record, self.id, cursor.split, Position(cursor.next));
                    cursor.next += 1;
                }
                _ if builder.rows() > 0 => break,
                None => return Ok(None),
                Some(MemoryItem::Rejected(text)) => {
                    let position = Position(cursor.next);
                    cursor.next += 1;
                    return Ok(Some(Polled::Rejected(rejected(cursor.split, position, text))));
                }
                Some(MemoryItem::Idle(rest)) => {
                    cursor.next += 1;
                    return Ok(Some(Polled::Idle(rest)));
                }
                Some(MemoryItem::Fail(message)) => return Err(Error::new(Blame::External, Retry::Backoff, message)),
                Some(MemoryItem::Panic(message)) => panic!("{message}"),
            }
        }
        self.delivered.fetch_add(builder.rows() as u64, Ordering::SeqCst);
        Ok(Some(Polled::Batch(builder.build())))
    }
}

fn rejected(split: SplitIndex, position: Position, text: String) -> Rejected {
    let bytes = text.into_bytes();
    Rejected {
        split,
        position,
        reason: "not-a-record",
        message: "expected a record, found something else".to_owned(),
        length_bytes: bytes.len() as u64,
        bytes,
    }
}

impl SourceReader for MemoryReader {
    fn poll(&mut self, max_rows: usize, max_bytes: usize) -> Result<Polled, Error> {
        let max_rows = self.max_rows.map_or(max_rows, |most| most.min(max_rows));
        for _ in 0..self.cursors.len() {
            let at = self.turn % self.cursors.len();
            self.turn = at + 1;
            if let Some(polled) = self.read(at, max_rows, max_bytes)? {
                return Ok(polled);
            }
        }
        Ok(Polled::End)
    }

    fn positions(&self) -> Vec<(SplitIndex, Position)> {
        self.cursors.iter().map(|cursor| (cursor.split, Position(cursor.next))).collect()
    }

    fn identity(&self, split: SplitIndex) -> Result<Vec<u8>, Error> {
        let cursor = self.cursors.iter().find(|cursor| cursor.split == split);
        Ok(cursor.map(|cursor| cursor.identity.clone()).unwrap_or_default())
    }
}

/// A batch in the making.
#[derive(Default)]
struct Builder {
    values: OptionalColumn,
    keys: OptionalColumn,
    headers: Headers,
    timestamps: Vec<EventTime>,
    origins: Origins,
    bytes: usize,
    has_keys: bool,
}

impl Builder {
    fn rows(&self) -> usize {
        self.values.len()
    }

    fn push(&mut self, record: &MemoryRecord, source: SourceId, split: SplitIndex, position: Position) {
        let row = u32::try_from(self.rows()).unwrap_or(u32::MAX);
        self.values.push(record.value.as_deref());
        self.keys.push(record.key.as_deref());
        self.has_keys |= record.key.is_some();
        self.timestamps.push(record.timestamp.unwrap_or(EventTime::UNKNOWN));
        self.origins.push(source, split, position);
        for (name, value) in &record.headers {
            self.headers.owners.push(row);
            self.headers.names.push(name.as_bytes());
            self.headers.values.push(value.as_deref());
        }
        self.bytes += record.value.as_ref().map_or(0, Vec::len);
    }

    fn build(self) -> RecordBatch {
        RecordBatch {
            values: Values::from(self.values),
            record_keys: self.has_keys.then_some(self.keys),
            timestamps: self.timestamps,
            headers: (!self.headers.owners.is_empty()).then_some(self.headers),
            origins: self.origins,
            routing: None,
            fields: Vec::new(),
        }
    }
}
