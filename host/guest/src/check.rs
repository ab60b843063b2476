//! Checks on what a guest passes: pure functions from what was lifted to the nouns of `model`.
//!
//! # Invariants
//! 1. Nothing here panics, whatever the bytes.
//! 2. What comes out keeps the invariants of `model` and `contract`: columns are whole, lengths agree,
//!    rows exist and do not fall, ids are declared.
//! 3. Vectors are moved, not copied.
//!
//! # Absent on purpose
//! What texts say: whether they are UTF-8 or JSON is checked where they are written, by `format`.

use contract::{OutputRecords, StateWrites};
use model::{
    Cells, Column, ColumnError, EventTime, FieldColumn, FieldKind, FieldSpec, Headers, OptionalColumn, PortDescriptor,
    SlotIndex, StateDescriptor, StateKind, TtlClock, Values,
};

use crate::bindings::tidegate::flow::state::Writes;
use crate::bindings::tidegate::flow::types as wit;
use crate::caps;

/// How a guest broke the contract.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Violation {
    #[error("{what}: {problem}")]
    Column { what: &'static str, problem: ColumnError },
    #[error("{what} has {found} items, expected {expected}")]
    Length { what: &'static str, found: usize, expected: usize },
    #[error("{what} {row} at {at}: the batch has {rows} rows")]
    Row { what: &'static str, row: u32, at: usize, rows: u32 },
    #[error("{what} fall at {at}: {row} after {before}")]
    RowsFall { what: &'static str, at: usize, row: u32, before: u32 },
    #[error("row {row} at {at} is of slot {found}: the write is to slot {slot}")]
    RowOfSlot { row: u32, at: usize, found: u32, slot: u32 },
    #[error("slot {slot} at {at}: the batch has {slots} keys")]
    Slot { slot: u32, at: usize, slots: usize },
    #[error("{what} {id} is not declared")]
    Undeclared { what: &'static str, id: u16 },
    #[error("output `{name}` has fields: input records have none to send on")]
    Fields { name: String },
    #[error("state `{name}` is of kind {found}: {call} needs {expected}")]
    StateKind { name: String, found: &'static str, call: &'static str, expected: &'static str },
    #[error("state `{name}`: {problem}")]
    EntryKeys { name: String, problem: &'static str },
    #[error("{what} of {bytes} bytes at {at}: at most {most} are allowed")]
    ItemTooLong { what: &'static str, bytes: usize, at: usize, most: usize },
    #[error("both values and fields have rows: expected one of them")]
    ValuesAndFields,
    #[error("neither values nor fields have rows: expected {rows}")]
    NoRecords { rows: usize },
    #[error("field `{name}` is of kind {expected}, found cells of {found}")]
    FieldKind { name: String, expected: FieldKind, found: &'static str },
    #[error("field `{name}` of record {at} is not {expected}")]
    Cell { name: String, at: usize, expected: &'static str },
    #[error("mark {mark} at {at} of {what}: expected 0 or 1")]
    Mark { what: &'static str, mark: u8, at: usize },
    #[error("the batch staged {found} {what}: at most {most} are allowed")]
    TooMany { what: &'static str, found: usize, most: usize },
    #[error("metric `{name}` is a {found}: {call} needs a {expected}")]
    MetricKind { name: String, found: &'static str, call: &'static str, expected: &'static str },
    #[error("timer at {at}: the smallest time stands for none")]
    TimerAtNone { at: usize },
    #[error("{0}")]
    Unavailable(&'static str),
}

pub(crate) fn column(what: &'static str, column: wit::ColumnResult) -> Result<Column, Violation> {
    Column::from_parts(column.bytes, column.ends).map_err(|problem| Violation::Column { what, problem })
}

pub(crate) fn optional(what: &'static str, column: wit::OptionalColumnResult) -> Result<OptionalColumn, Violation> {
    let items = self::column(what, column.items)?;
    OptionalColumn::from_parts(column.present, items).map_err(|problem| Violation::Column { what, problem })
}

pub(crate) fn length(what: &'static str, found: usize, expected: usize) -> Result<(), Violation> {
    if found == expected { Ok(()) } else { Err(Violation::Length { what, found, expected }) }
}

/// Whether an output takes input records as they are: values, and no fields.
pub(crate) fn forwards(port: &PortDescriptor) -> Result<(), Violation> {
    if port.fields.is_empty() { Ok(()) } else { Err(Violation::Fields { name: port.name.clone() }) }
}

/// Rows of the batch that never fall.
pub(crate) fn rising_rows(what: &'static str, which: &[u32], rows: u32) -> Result<(), Violation> {
    // Rows that do not fall are all in range when the last is.
    if let Some(at) = which.windows(2).position(|pair| matches!(pair, [before, row] if before > row)) {
        let (before, row) = (which.get(at).copied().unwrap_or(0), which.get(at + 1).copied().unwrap_or(0));
        return Err(Violation::RowsFall { what, at: at + 1, row, before });
    }
    if which.last().is_some_and(|&last| last >= rows) {
        let at = which.partition_point(|&row| row < rows);
        return Err(Violation::Row { what, row: which.get(at).copied().unwrap_or(rows), at, rows });
    }
    Ok(())
}

pub(crate) fn slots(which: &[u32], slots: usize) -> Result<(), Violation> {
    match which.iter().position(|&slot| slot as usize >= slots) {
        Some(at) => Err(Violation::Slot { slot: which.get(at).copied().unwrap_or(0), at, slots }),
        None => Ok(()),
    }
}

/// Moves numbers into their newtype; the vector is reused.
pub(crate) fn slot_indexes(which: Vec<u32>) -> Vec<SlotIndex> {
    which.into_iter().map(SlotIndex).collect()
}

/// Times that a timer may have.
pub(crate) fn timer_times(times: &[i64]) -> Result<(), Violation> {
    match times.iter().position(|&time| time == EventTime::UNKNOWN.0) {
        Some(at) => Err(Violation::TimerAtNone { at }),
        None => Ok(()),
    }
}

pub(crate) fn event_times(times: Vec<i64>) -> Vec<EventTime> {
    times.into_iter().map(EventTime).collect()
}

fn no_item_above(what: &'static str, items: &Column, most: usize) -> Result<(), Violation> {
    if items.bytes().len() <= most {
        return Ok(());
    }
    match items.iter().enumerate().find(|(_, item)| item.len() > most) {
        Some((at, item)) => Err(Violation::ItemTooLong { what, bytes: item.len(), at, most }),
        None => Ok(()),
    }
}

fn kind_name(kind: StateKind) -> &'static str {
    match kind {
        StateKind::Value => "value",
        StateKind::MapEntries => "map-entries",
        StateKind::Appended => "appended",
    }
}

/// A state that `call` may use: one value per key, or many entries.
pub(crate) fn state_of_kind<'a>(
    state: Option<&'a StateDescriptor>,
    id: u16,
    call: &'static str,
    wants_value: bool,
) -> Result<&'a StateDescriptor, Violation> {
    let state = state.ok_or(Violation::Undeclared { what: "state", id })?;
    if (state.kind == StateKind::Value) == wants_value {
        return Ok(state);
    }
    let expected = if wants_value { "value" } else { "map-entries or appended" };
    Err(Violation::StateKind { name: state.name.clone(), found: kind_name(state.kind), call, expected })
}

/// What the writes of a batch are checked against.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written<'a> {
    /// How many keys the batch has.
    pub(crate) slot_count: usize,
    /// The slot of each row.
    pub(crate) row_slots: &'a [u32],
    /// The event time of each row.
    pub(crate) times: &'a [EventTime],
}

impl Written<'_> {
    /// Rows that wrote to `slots`: none, or one each that is of its slot.
    fn rows(&self, rows: &[u32], slots: &[u32]) -> Result<(), Violation> {
        if rows.is_empty() {
            return Ok(());
        }
        length("rows", rows.len(), slots.len())?;
        let known = |row: u32| self.row_slots.get(row as usize).copied();
        match rows.iter().zip(slots).position(|(&row, &slot)| known(row) != Some(slot)) {
            None => Ok(()),
            Some(at) => {
                let row = rows.get(at).copied().unwrap_or(0);
                let count = u32::try_from(self.row_slots.len()).unwrap_or(u32::MAX);
                let beyond = Violation::Row { what: "row", row, at, rows: count };
                let slot = slots.get(at).copied().unwrap_or(0);
                Err(known(row).map_or(beyond, |found| Violation::RowOfSlot { row, at, found, slot }))
            }
        }
    }

    /// When each of `rows`, which were checked, looked.
    fn times(&self, rows: &[u32]) -> Vec<EventTime> {
        rows.iter().map(|&row| self.times.get(row as usize).copied().unwrap_or(EventTime::UNKNOWN)).collect()
    }
}

/// What a call to `state.store` stages.
pub(crate) fn writes(writes: Writes, state: &StateDescriptor, by: Written<'_>) -> Result<StateWrites, Violation> {
    let count = writes.slots.len();
    slots(&writes.slots, by.slot_count)?;
    by.rows(&writes.rows, &writes.slots)?;
    let values = optional("values", writes.values)?;
    length("values", values.len(), count)?;
    no_item_above("a value", values.items(), caps::VALUE_BYTES)?;
    let entry_keys = match (state.kind, writes.entry_keys) {
        (StateKind::Value, None) => None,
        (StateKind::Value, Some(_)) => {
            return Err(Violation::EntryKeys { name: state.name.clone(), problem: "a value has no entry keys" });
        }
        (_, None) => {
            return Err(Violation::EntryKeys { name: state.name.clone(), problem: "entry keys are missing" });
        }
        (_, Some(keys)) => Some(entry_keys(keys, count, state)?),
    };
    let is_dated = state.ttl.is_some_and(|ttl| ttl.clock == TtlClock::EventTime);
    let written = if is_dated { by.times(&writes.rows) } else { Vec::new() };
    Ok(StateWrites { state: state.id, slots: slot_indexes(writes.slots), entry_keys, values, written })
}

/// One entry key per slot.
pub(crate) fn entry_keys(keys: wit::ColumnResult, count: usize, state: &StateDescriptor) -> Result<Column, Violation> {
    let keys = column("entry keys", keys)?;
    length("entry keys", keys.len(), count)?;
    no_item_above("an entry key", &keys, caps::ENTRY_KEY_BYTES)?;
    if state.kind == StateKind::Appended && keys.iter().any(|key| key.len() != 8) {
        let problem = "the entry keys of an appended state are 8 bytes long";
        return Err(Violation::EntryKeys { name: state.name.clone(), problem });
    }
    Ok(keys)
}

/// What a call to `emit.push` stages.
pub(crate) fn output(batch: wit::OutputBatch, port: &PortDescriptor, rows: u32) -> Result<OutputRecords, Violation> {
    let count = batch.rows.len();
    rising_rows("rows", &batch.rows, rows)?;
    let keys = match batch.keys {
        Some(keys) => {
            let keys = optional("keys", keys)?;
            length("keys", keys.len(), count)?;
            Some(keys)
        }
        None => None,
    };
    let values = optional("values", batch.values)?;
    if !values.is_empty() {
        length("values", values.len(), count)?;
        if !batch.fields.is_empty() {
            return Err(Violation::ValuesAndFields);
        }
    } else if batch.fields.is_empty() && count > 0 {
        return Err(Violation::NoRecords { rows: count });
    }
    let fields = fields(batch.fields, &port.fields, count)?;
    if !batch.timestamps.is_empty() {
        length("timestamps", batch.timestamps.len(), count)?;
    }
    let headers = match batch.headers {
        Some(headers) => Some(self::headers(headers, count)?),
        None => None,
    };
    let timestamps = event_times(batch.timestamps);
    Ok(OutputRecords { rows: batch.rows, keys, values: Values::from(values), fields, timestamps, headers })
}

fn headers(headers: wit::HeadersResult, records: usize) -> Result<Headers, Violation> {
    let count = headers.owners.len();
    rising_rows("header owners", &headers.owners, u32::try_from(records).unwrap_or(u32::MAX))?;
    let names = column("header names", headers.names)?;
    let values = optional("header values", headers.values)?;
    length("header names", names.len(), count)?;
    length("header values", values.len(), count)?;
    Ok(Headers { owners: headers.owners, names, values })
}

fn fields(
    columns: Vec<wit::FieldColumnResult>,
    specs: &[FieldSpec],
    records: usize,
) -> Result<Vec<FieldColumn>, Violation> {
    if columns.is_empty() {
        return Ok(Vec::new());
    }
    length("fields", columns.len(), specs.len())?;
    columns.into_iter().zip(specs).map(|(column, spec)| field(column, spec, records)).collect()
}

fn field(column: wit::FieldColumnResult, spec: &FieldSpec, records: usize) -> Result<FieldColumn, Violation> {
    if !column.present.is_empty() {
        length("present", column.present.len(), records)?;
        marks("present", &column.present)?;
    }
    let present = column.present;
    let cells = cells(column.cells, spec)?;
    length("cells", cells.len(), records)?;
    match &cells {
        Cells::Texts(texts) => check_absent(texts, &present, spec)?,
        Cells::Booleans(booleans) => marks("a boolean field", booleans)?,
        Cells::Integers(_) | Cells::Floats(_) => {}
    }
    Ok(FieldColumn { present, cells })
}

fn marks(what: &'static str, marks: &[u8]) -> Result<(), Violation> {
    match marks.iter().position(|&mark| mark > 1) {
        Some(at) => Err(Violation::Mark { what, mark: marks.get(at).copied().unwrap_or(0), at }),
        None => Ok(()),
    }
}

/// The cells, if they are of the kind that the port declares.
fn cells(cells: wit::CellsResult, spec: &FieldSpec) -> Result<Cells, Violation> {
    use wit::CellsResult as Found;
    let found = match &cells {
        Found::Texts(_) => "texts",
        Found::Integers(_) => "integers",
        Found::Floats(_) => "floats",
        Found::Booleans(_) => "booleans",
    };
    match (spec.kind, cells) {
        (FieldKind::Text | FieldKind::Json, Found::Texts(texts)) => Ok(Cells::Texts(column("texts", texts)?)),
        (FieldKind::Integer | FieldKind::Timestamp, Found::Integers(integers)) => Ok(Cells::Integers(integers)),
        (FieldKind::Float, Found::Floats(floats)) => Ok(Cells::Floats(floats)),
        (FieldKind::Boolean, Found::Booleans(booleans)) => Ok(Cells::Booleans(booleans)),
        (expected, _) => Err(Violation::FieldKind { name: spec.name.clone(), expected, found }),
    }
}

/// An absent cell holds no text.
fn check_absent(texts: &Column, present: &[u8], spec: &FieldSpec) -> Result<(), Violation> {
    match present.iter().zip(texts.iter()).position(|(&mark, text)| mark == 0 && !text.is_empty()) {
        Some(at) => Err(Violation::Cell { name: spec.name.clone(), at, expected: "empty, though absent" }),
        None => Ok(()),
    }
}

pub(crate) mod fuzzing;
#[cfg(test)]
mod tests;
