//! Records as the batch that a function is given.

use crate::bindings::types::{Column, Descriptor, FieldColumn, Headers, InputBatch, OptionalColumn, RowKind};
use crate::testing::Record;
use crate::testing::cut;
use crate::{Timer, TimerClock, Timestamp};

/// A record that has what the function needs, or a timer that fired: it can be put into a batch.
#[derive(Clone)]
pub(super) struct Ready {
    /// The timer, if it is one; its record has its key, and the time at which it looks at state.
    pub(super) timer: Option<Timer>,
    /// Its number in the run.
    pub(super) index: usize,
    pub(super) input: u16,
    pub(super) record: Record,
    /// The cells of its fields, one column each.
    fields: Vec<FieldColumn>,
}

/// What every batch says of time.
#[derive(Clone, Copy)]
pub(super) struct Clocks {
    pub(super) watermark: Option<Timestamp>,
    pub(super) now: Timestamp,
}

impl Ready {
    /// Cuts the fields out; says why where the record is bad.
    pub(super) fn new(index: usize, record: Record, descriptor: &Descriptor) -> Result<Self, String> {
        let port = match &record.input {
            None => descriptor.inputs.first(),
            Some(name) => descriptor.inputs.iter().find(|port| port.name == *name),
        };
        let port = port.unwrap_or_else(|| {
            let known: Vec<_> = descriptor.inputs.iter().map(|port| port.name.as_str()).collect();
            panic!("there is no input {:?}: the function has {}", record.input, known.join(", "))
        });
        let mut fields: Vec<_> = port.fields.iter().map(|field| FieldColumn::for_kind(field.kind)).collect();
        match &record.fields {
            Some(given) => {
                assert!(given.len() == fields.len(), "`Record::fields` was given another struct than the input takes");
                given.iter().zip(&mut fields).for_each(|(given, column)| cut::copy(given, column));
            }
            None => {
                for (field, column) in port.fields.iter().zip(&mut fields) {
                    cut::cut(record.value.as_deref(), field, column)?;
                }
            }
        }
        Ok(Self { timer: None, index, input: port.id, record, fields })
    }

    /// A timer of `key` that fires.
    pub(super) fn fired(index: usize, key: &[u8], timer: Timer, clocks: Clocks) -> Self {
        let event_time = match timer.clock() {
            TimerClock::EventTime => Some(timer.at()),
            TimerClock::ProcessingTime => clocks.watermark,
        };
        let record = Record { event_time, ..Record::tombstone().key(key) };
        Self { timer: Some(timer), index, input: 0, record, fields: Vec::new() }
    }
}

/// The batch of `records`, which are all of one input, or timers of one clock.
pub(super) fn batch(records: &[Ready], descriptor: &Descriptor, clocks: Clocks) -> InputBatch {
    if records.first().is_some_and(|first| first.timer.is_some()) {
        return timers(records, clocks);
    }
    let input = records.first().map_or(0, |ready| ready.input);
    let specs = descriptor.inputs.get(usize::from(input)).map_or(&[][..], |port| &port.fields);
    let mut batch = empty(input, clocks);
    batch.fields = specs.iter().map(|field| FieldColumn::for_kind(field.kind)).collect();
    for (row, ready) in records.iter().enumerate() {
        if descriptor.keyed {
            let slot = slot(&mut batch.keys, ready.record.key.as_deref().unwrap_or_default());
            batch.slots.push(slot);
        }
        if descriptor.wants_values {
            batch.values.push(ready.record.value.as_deref());
        }
        ready.fields.iter().zip(&mut batch.fields).for_each(|(cell, column)| cut::copy(cell, column));
        batch.timestamps.push(ready.record.event_time.map_or(Timestamp::UNKNOWN, Timestamp::millis));
        if descriptor.wants_headers {
            push_headers(&mut batch, row, &ready.record.headers);
        }
    }
    batch
}

fn empty(input: u16, clocks: Clocks) -> InputBatch {
    InputBatch {
        input,
        kinds: Vec::new(),
        slots: Vec::new(),
        keys: Column::new(),
        values: OptionalColumn::new(),
        fields: Vec::new(),
        timestamps: Vec::new(),
        headers: None,
        watermark: clocks.watermark.map_or(Timestamp::UNKNOWN, Timestamp::millis),
        now: clocks.now.millis(),
    }
}

fn timers(fired: &[Ready], clocks: Clocks) -> InputBatch {
    let mut batch = empty(0, clocks);
    for ready in fired {
        let timer = ready.timer.expect("a batch is made of records, or of timers");
        batch.kinds.push(match timer.clock() {
            TimerClock::EventTime => RowKind::EventTimer,
            TimerClock::ProcessingTime => RowKind::ProcessingTimer,
        });
        let slot = slot(&mut batch.keys, ready.record.key.as_deref().unwrap_or_default());
        batch.slots.push(slot);
        batch.timestamps.push(timer.at().millis());
    }
    batch
}

fn slot(keys: &mut Column, key: &[u8]) -> u32 {
    let known = keys.iter().position(|known| known == key);
    let slot = known.unwrap_or_else(|| {
        keys.push(key);
        keys.len() - 1
    });
    u32::try_from(slot).expect("a batch has fewer than 2^32 keys")
}

fn push_headers(batch: &mut InputBatch, row: usize, own: &[(String, Option<Vec<u8>>)]) {
    let owner = u32::try_from(row).expect("a batch has fewer than 2^32 rows");
    for (name, value) in own {
        let headers = batch.headers.get_or_insert_with(|| Headers {
            owners: Vec::new(),
            names: Column::new(),
            values: OptionalColumn::new(),
        });
        headers.owners.push(owner);
        headers.names.push(name.as_bytes());
        headers.values.push(value.as_deref());
    }
}
