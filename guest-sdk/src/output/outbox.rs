//! What waits to leave through one output.
//!
//! # Invariants
//! 1. What waits leaves in two calls, forwards first: so within one row no forward may wait behind a
//!    record made earlier. [`Outbox::forward`] lets what waits go where that would happen.
//! 2. All records that wait have the same shape: with or without their own keys, times, headers.
//! 3. Nothing is allocated per record once the buffers have grown.

use crate::Error;
use crate::bindings::types::{FieldColumn, Headers, OutputBatch};
use crate::error::Flaw;
use crate::host;
use crate::output::{Emitting, Envelope};

/// What waits leaves when it exceeds this: large enough that a crossing is paid for hundreds of
/// records, small enough to stay in the cache.
const FLUSH_BYTES: usize = 256 * 1024;

/// What all waiting records have in common.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Shape {
    keys: bool,
    times: bool,
    headers: bool,
    tombstones: bool,
}

/// The waiting room of one output.
pub(crate) struct Outbox {
    id: u16,
    row: u32,
    forwards: Vec<u32>,
    batch: OutputBatch,
    /// The columns for typed fields, kept here while records without fields wait.
    columns: Vec<FieldColumn>,
    shape: Shape,
    bytes: usize,
    flaw: Option<Flaw>,
}

impl Outbox {
    pub(crate) fn new(id: u16, columns: Vec<FieldColumn>) -> Self {
        let batch = OutputBatch {
            rows: Vec::new(),
            keys: None,
            values: crate::bindings::types::OptionalColumn::new(),
            fields: Vec::new(),
            timestamps: Vec::new(),
            headers: None,
        };
        Self { id, row: 0, forwards: Vec::new(), batch, columns, shape: Shape::default(), bytes: 0, flaw: None }
    }

    /// Forgets what a failed batch left behind.
    pub(crate) fn reset(&mut self) {
        self.forwards.clear();
        self.clear_batch();
        self.flaw = None;
    }

    /// Says which row causes what comes.
    #[inline]
    pub(crate) fn select(&mut self, row: u32) {
        self.row = row;
    }

    #[inline]
    pub(crate) fn forward(&mut self) {
        let behind_a_record_of_this_row = self.batch.rows.last() == Some(&self.row);
        if behind_a_record_of_this_row || self.forwards.len() >= FLUSH_BYTES / 4 {
            self.flush();
        }
        self.forwards.push(self.row);
    }

    pub(crate) fn emit<O: Emitting>(&mut self, envelope: Envelope<'_>, record: &O::Record<'_>) {
        self.make_room(Shape::of(&envelope));
        let appended = O::append(record, &mut self.batch.values.items.bytes, &mut self.columns);
        match appended {
            Ok(bytes) => {
                if !O::TYPED {
                    self.batch.values.close_item();
                }
                self.close(&envelope, bytes);
            }
            Err(error) => {
                self.batch.values.items.drop_open_item();
                self.note(error);
            }
        }
    }

    pub(crate) fn tombstone(&mut self, envelope: Envelope<'_>) {
        self.make_room(Shape { tombstones: true, ..Shape::of(&envelope) });
        self.batch.values.push_absent();
        self.close(&envelope, 0);
    }

    /// Sends what waits, and says whether a record could not be encoded.
    pub(crate) fn finish(&mut self) -> Result<(), Flaw> {
        self.flush();
        self.flaw.take().map_or(Ok(()), Err)
    }

    /// Sends what waits.
    fn flush(&mut self) {
        if !self.forwards.is_empty() {
            host::forward(self.id, &self.forwards);
            self.forwards.clear();
        }
        if !self.batch.rows.is_empty() {
            let typed = self.batch.values.len() == 0;
            if typed {
                std::mem::swap(&mut self.batch.fields, &mut self.columns);
            }
            host::push(self.id, &self.batch);
            if typed {
                std::mem::swap(&mut self.batch.fields, &mut self.columns);
            }
            self.clear_batch();
        }
    }

    /// Lets what waits go when a record of `shape` cannot join it.
    fn make_room(&mut self, shape: Shape) {
        if self.batch.rows.is_empty() {
            self.set_shape(shape);
        } else if shape != self.shape {
            self.flush();
            self.set_shape(shape);
        } else if self.bytes >= FLUSH_BYTES {
            self.flush();
        }
    }

    fn set_shape(&mut self, shape: Shape) {
        if shape == self.shape {
            return;
        }
        self.shape = shape;
        self.batch.keys = shape.keys.then(crate::bindings::types::OptionalColumn::new);
        self.batch.headers = shape.headers.then(|| Headers {
            owners: Vec::new(),
            names: crate::bindings::types::Column::new(),
            values: crate::bindings::types::OptionalColumn::new(),
        });
    }

    /// Completes the record whose value was appended.
    fn close(&mut self, envelope: &Envelope<'_>, bytes: usize) {
        let number = u32::try_from(self.batch.rows.len()).expect("what waits is far below 2^32 records");
        self.batch.rows.push(self.row);
        self.bytes += bytes + 8;
        if let (Some(keys), Some(key)) = (&mut self.batch.keys, envelope.key) {
            keys.push(key);
            self.bytes += key.map_or(0, <[u8]>::len);
        }
        if let Some(at) = envelope.event_time {
            self.batch.timestamps.push(at.millis());
        }
        if let (Some(headers), Some(own)) = (&mut self.batch.headers, envelope.headers) {
            for (name, value) in own {
                headers.owners.push(number);
                headers.names.push(name.as_bytes());
                headers.values.push(*value);
                self.bytes += name.len() + value.map_or(0, <[u8]>::len);
            }
        }
    }

    fn note(&mut self, error: Error) {
        self.flaw.get_or_insert(Flaw { row: self.row, error });
    }

    fn clear_batch(&mut self) {
        self.batch.rows.clear();
        self.batch.values.clear();
        self.batch.timestamps.clear();
        self.columns.iter_mut().for_each(FieldColumn::clear);
        if let Some(keys) = &mut self.batch.keys {
            keys.clear();
        }
        if let Some(headers) = &mut self.batch.headers {
            headers.owners.clear();
            headers.names.clear();
            headers.values.clear();
        }
        self.bytes = 0;
    }
}

impl Shape {
    fn of(envelope: &Envelope<'_>) -> Self {
        Self {
            keys: envelope.key.is_some(),
            times: envelope.event_time.is_some(),
            headers: envelope.headers.is_some(),
            tombstones: false,
        }
    }
}
