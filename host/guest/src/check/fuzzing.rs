//! Anything a guest can pass, made of bytes: for the fuzz target and the property tests.

use model::{
    Cells, Descriptor, EventTime, FieldKind, FieldSpec, OptionalColumn, PortDescriptor, Refresh, StateDescriptor,
    StateId, StateKind, Ttl, TtlClock,
};

use crate::bindings::tidegate::flow::state::Writes;
use crate::bindings::tidegate::flow::types as wit;
use crate::{check, convert, module};

/// Drives every check on data of a guest with what `bytes` stand for.
///
/// # Panics
/// When a check lets something through that breaks what the rooms behind rely on.
pub fn check_anything(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let rows = u32::from(bytes.byte() % 8);
    let slots = usize::from(bytes.byte() % 8);
    let port = port(&mut bytes);
    if let Ok(records) = check::output(output(&mut bytes), &port, rows) {
        let count = records.rows.len();
        assert!(records.rows.is_sorted() && records.rows.iter().all(|&row| row < rows), "rows exist and do not fall");
        assert!(records.keys.as_ref().is_none_or(|keys| keys.len() == count && is_whole(keys)));
        assert!(records.values.is_empty() || records.values.len() == count);
        assert!(records.values.is_empty() || records.fields.is_empty(), "values or fields");
        assert!(records.fields.is_empty() || records.fields.len() == port.fields.len());
        assert!(records.fields.iter().all(|field| field.len() == count && has_present_for_all(&field.present, count)));
        assert!(records.fields.iter().all(|field| are_whole(&field.cells)));
        assert!(records.timestamps.is_empty() || records.timestamps.len() == count);
        if let Some(headers) = &records.headers {
            let owners = &headers.owners;
            assert!(owners.is_sorted() && owners.iter().all(|&owner| (owner as usize) < count));
            assert_eq!((headers.names.len(), headers.values.len()), (owners.len(), owners.len()));
        }
    }
    let state = state(&mut bytes);
    let row_slots: Vec<u32> = bytes.some(Bytes::number);
    let times: Vec<EventTime> = row_slots.iter().map(|&slot| EventTime(i64::from(slot))).collect();
    let by = check::Written { slot_count: slots, row_slots: &row_slots, times: &times };
    if let Ok(staged) = check::writes(writes(&mut bytes), &state, by) {
        let of_slots = staged.slots.iter().map(|slot| EventTime(i64::from(slot.0)));
        assert!(staged.written.is_empty() || staged.written.iter().copied().eq(of_slots), "rows are of their slots");
        assert!(staged.written.is_empty() || state.ttl.is_some(), "write times where something expires");
        assert!(staged.slots.iter().all(|slot| (slot.0 as usize) < slots), "slots exist");
        assert!(staged.values.len() == staged.slots.len() && is_whole(&staged.values));
        assert_eq!(staged.entry_keys.is_some(), state.kind != StateKind::Value);
        assert!(staged.entry_keys.is_none_or(|keys| keys.len() == staged.slots.len()));
    }
    let described = convert::descriptor(descriptor(&mut bytes));
    if described.check().is_ok() {
        assert!(described.inputs.len() <= Descriptor::MAX_PORTS && !described.inputs.is_empty());
        // What it finds is for a person.
        module::check_schemas(&described).ok();
    }
}

fn is_whole(column: &OptionalColumn) -> bool {
    column.iter().count() == column.len() && has_present_for_all(column.present(), column.len())
}

fn has_present_for_all(present: &[u8], count: usize) -> bool {
    present.is_empty() || (present.len() == count && present.iter().all(|&mark| mark <= 1))
}

fn are_whole(cells: &Cells) -> bool {
    match cells {
        Cells::Texts(texts) => texts.iter().map(<[u8]>::len).sum::<usize>() == texts.bytes().len(),
        Cells::Booleans(booleans) => booleans.iter().all(|&cell| cell <= 1),
        Cells::Integers(_) | Cells::Floats(_) => true,
    }
}

/// Bytes that stand for something; zeros when they end.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((&byte, rest)) => {
                self.0 = rest;
                byte
            }
            None => 0,
        }
    }

    fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// Mostly small, sometimes anything.
    fn number(&mut self) -> u32 {
        match self.byte() {
            255 => u32::from_le_bytes([self.byte(), self.byte(), self.byte(), self.byte()]),
            small => u32::from(small % 9),
        }
    }

    fn some<T>(&mut self, mut each: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let count = self.byte() % 7;
        (0..count).map(|_| each(self)).collect()
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.flag().then(|| make(self))
    }

    fn text(&mut self) -> String {
        String::from_utf8_lossy(&self.some(Self::byte)).into_owned()
    }
}

/// A column that is usually whole: the likelier, the deeper the checks are reached.
fn column(bytes: &mut Bytes) -> wit::ColumnResult {
    if bytes.byte() < 32 {
        return wit::ColumnResult { bytes: bytes.some(Bytes::byte), ends: bytes.some(Bytes::number) };
    }
    let mut column = wit::ColumnResult { bytes: Vec::new(), ends: Vec::new() };
    for item in bytes.some(|bytes| bytes.some(Bytes::byte)) {
        column.bytes.extend(item);
        column.ends.push(u32::try_from(column.bytes.len()).unwrap_or(u32::MAX));
    }
    column
}

fn optional(bytes: &mut Bytes) -> wit::OptionalColumnResult {
    let items = column(bytes);
    let present = if bytes.flag() { Vec::new() } else { bytes.some(|bytes| bytes.byte() % 3) };
    wit::OptionalColumnResult { present, items }
}

fn output(bytes: &mut Bytes) -> wit::OutputBatch {
    wit::OutputBatch {
        rows: bytes.some(Bytes::number),
        keys: bytes.maybe(optional),
        values: optional(bytes),
        fields: bytes.some(field_column),
        timestamps: bytes.some(|bytes| i64::from(bytes.number())),
        headers: bytes.maybe(|bytes| wit::HeadersResult {
            owners: bytes.some(Bytes::number),
            names: column(bytes),
            values: optional(bytes),
        }),
    }
}

fn field_column(bytes: &mut Bytes) -> wit::FieldColumnResult {
    let present = if bytes.flag() { Vec::new() } else { bytes.some(|bytes| bytes.byte() % 3) };
    let cells = match bytes.byte() % 4 {
        0 => wit::CellsResult::Integers(bytes.some(|bytes| i64::from(bytes.number()))),
        1 => wit::CellsResult::Floats(bytes.some(|bytes| f64::from_bits(u64::from(bytes.number()) << 32))),
        2 => wit::CellsResult::Booleans(bytes.some(|bytes| bytes.byte() % 3)),
        _ => wit::CellsResult::Texts(column(bytes)),
    };
    wit::FieldColumnResult { present, cells }
}

fn port(bytes: &mut Bytes) -> PortDescriptor {
    let kinds = [
        FieldKind::Text,
        FieldKind::Integer,
        FieldKind::Float,
        FieldKind::Boolean,
        FieldKind::Timestamp,
        FieldKind::Json,
    ];
    let field = |bytes: &mut Bytes| FieldSpec {
        name: bytes.text(),
        path: "/x".to_owned(),
        kind: kinds.get(usize::from(bytes.byte()) % kinds.len()).copied().unwrap_or(FieldKind::Text),
        required: bytes.flag(),
    };
    PortDescriptor { id: 0, name: "out".to_owned(), fields: bytes.some(field), schema: None }
}

fn state(bytes: &mut Bytes) -> StateDescriptor {
    let kind = match bytes.byte() % 3 {
        0 => StateKind::Value,
        1 => StateKind::MapEntries,
        _ => StateKind::Appended,
    };
    let ttl = bytes.maybe(|_| Ttl { millis: 1, clock: TtlClock::EventTime, refresh: Refresh::OnWrite });
    StateDescriptor { id: StateId(0), name: "s".to_owned(), kind, schema: "{}".to_owned(), version: 1, ttl }
}

fn writes(bytes: &mut Bytes) -> Writes {
    Writes {
        slots: bytes.some(Bytes::number),
        entry_keys: bytes.maybe(column),
        values: optional(bytes),
        rows: bytes.some(Bytes::number),
    }
}

fn descriptor(bytes: &mut Bytes) -> wit::Descriptor {
    let id = |bytes: &mut Bytes| u16::try_from(bytes.number()).unwrap_or(u16::MAX);
    let field = |bytes: &mut Bytes| wit::Field {
        name: bytes.text(),
        path: bytes.text(),
        kind: wit::FieldKind::Json,
        required: bytes.flag(),
    };
    let port = |bytes: &mut Bytes| wit::PortDescriptor {
        id: id(bytes),
        name: bytes.text(),
        fields: bytes.some(field),
        schema: bytes.maybe(Bytes::text),
    };
    let state = |bytes: &mut Bytes| wit::StateDescriptor {
        id: id(bytes),
        name: bytes.text(),
        kind: wit::StateKind::Value,
        schema: bytes.text(),
        version: bytes.number(),
        ttl: None,
    };
    let metric = |bytes: &mut Bytes| wit::MetricDescriptor { name: bytes.text(), kind: wit::MetricKind::Counter };
    wit::Descriptor {
        inputs: bytes.some(port),
        outputs: bytes.some(port),
        states: bytes.some(state),
        keyed: bytes.flag(),
        wants_values: bytes.flag(),
        wants_headers: bytes.flag(),
        assigns: bytes.flag(),
        timers: bytes.flag(),
        metrics: bytes.some(metric),
    }
}
