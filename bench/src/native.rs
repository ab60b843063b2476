//! The functions of the cases in Rust, behind the same seam as sandboxed ones.
//!
//! They are what the sandbox is measured against: the same batches, the same state, the same emits.

use contract::{Emit, Error, FunctionFactory, OutputRecords, ProcessError, StateWrites, Task, Turn, UserFunction};
use model::{
    Blame, Cells, Column, Descriptor, EventTime, FieldColumn, FieldKind, FieldSpec, ModuleDigest, OptionalColumn,
    OutputId, PortDescriptor, Refresh, Retry, SlotIndex, StateDescriptor, StateId, StateKind, Ttl, TtlClock, Values,
};

use crate::raw::{AMOUNT, CAPITALS, ends_in_letter};
use crate::restarts::MARK;

/// One of the functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NativeFunction {
    /// [`Work::Pass`](crate::cases::Work::Pass).
    Pass,
    /// [`Work::MapBinary`](crate::cases::Work::MapBinary).
    MapBinary,
    /// [`Work::FilterBinary`](crate::cases::Work::FilterBinary).
    FilterBinary,
    /// [`Work::FilterJson`](crate::cases::Work::FilterJson).
    FilterJson,
    /// [`Work::MapJson`](crate::cases::Work::MapJson).
    MapJson,
    /// [`Work::Dedup`](crate::cases::Work::Dedup).
    Dedup,
    /// The first of each key goes on, and its key is kept with a mark of 64 bytes: a restart has that to restore.
    Remember,
    /// The first half of [`Work::Words`](crate::cases::Work::Words): a line becomes its words.
    Split,
    /// The second half: a word becomes itself and its count.
    Count,
}

/// Makes instances of one of the functions.
#[derive(Clone, Debug)]
pub(crate) struct NativeFactory {
    function: NativeFunction,
    descriptor: Descriptor,
}

impl NativeFactory {
    /// A factory of `function`.
    pub(crate) fn new(function: NativeFunction) -> Self {
        Self { function, descriptor: describe(function) }
    }
}

impl FunctionFactory for NativeFactory {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    fn digest(&self) -> Option<ModuleDigest> {
        None
    }

    fn instantiate(&self, _task: &Task) -> Result<Box<dyn UserFunction>, Error> {
        Ok(Box::new(Instance { function: self.function }))
    }
}

/// A function without memory of its own: everything it keeps is keyed state.
struct Instance {
    function: NativeFunction,
}

impl UserFunction for Instance {
    fn process(&mut self, turn: &mut Turn) -> Result<(), ProcessError> {
        match self.function {
            NativeFunction::Pass => filter(turn, |_| true),
            NativeFunction::FilterBinary => {
                let values = turn.batch.records.values.clone();
                filter(turn, |row| values.get(row).is_some_and(ends_in_letter));
            }
            NativeFunction::MapBinary => map_binary(turn),
            NativeFunction::FilterJson => {
                let FieldColumn { cells, .. } = take_field(turn, 0)?;
                let Cells::Floats(amounts) = cells else { return Err(wrong_column("amount")) };
                filter(turn, |row| amounts.get(row).is_some_and(|&amount| amount > AMOUNT));
            }
            NativeFunction::MapJson => {
                let fields = turn.batch.records.fields.clone();
                push(turn, Values::default(), fields, all_rows(turn));
            }
            NativeFunction::Dedup => dedup(turn, SEEN)?,
            NativeFunction::Remember => dedup(turn, &MARK)?,
            NativeFunction::Split => split(turn),
            NativeFunction::Count => count(turn)?,
        }
        Ok(())
    }

    fn assign(&mut self, _values: &Values) -> Result<(OptionalColumn, Vec<EventTime>), ProcessError> {
        Err(host_error("a native function assigns nothing"))
    }

    fn renew(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn is_fresh(&self) -> bool {
        true
    }

    fn fuel_used(&self) -> u64 {
        0
    }
}

const MAIN: OutputId = OutputId(0);
const STATE: StateId = StateId(0);
/// What the state says of a key that was seen: `true` in MessagePack.
const SEEN: &[u8] = &[0xc3];

/// How long a key of [`NativeFunction::Dedup`] is known, as in the sandboxed one. Orders of an input lie within hours.
const SEVEN_DAYS: Ttl = Ttl { millis: 7 * 24 * 60 * 60 * 1000, clock: TtlClock::EventTime, refresh: Refresh::OnCreate };

fn host_error(message: &str) -> ProcessError {
    ProcessError::Host(Error::new(Blame::Host, Retry::No, message))
}

fn wrong_column(name: &str) -> ProcessError {
    host_error(&format!("field `{name}` came as another kind of column"))
}

fn take_field(turn: &mut Turn, index: usize) -> Result<FieldColumn, ProcessError> {
    turn.batch.records.fields.get(index).cloned().ok_or_else(|| host_error("a declared field did not come"))
}

fn rows_of(turn: &Turn) -> u32 {
    u32::try_from(turn.batch.records.len()).expect("a batch has fewer than 2^32 rows")
}

fn all_rows(turn: &Turn) -> Vec<u32> {
    (0..rows_of(turn)).collect()
}

fn filter(turn: &mut Turn, mut keep: impl FnMut(usize) -> bool) {
    let rows = (0..rows_of(turn)).filter(|&row| keep(row as usize)).collect();
    turn.staged.emits.push(Emit::Forward { output: MAIN, rows });
}

fn push(turn: &mut Turn, values: Values, fields: Vec<FieldColumn>, rows: Vec<u32>) {
    let records = OutputRecords { rows, values, fields, ..OutputRecords::default() };
    turn.staged.emits.push(Emit::Push { output: MAIN, records });
}

fn map_binary(turn: &mut Turn) {
    let values = &turn.batch.records.values;
    let mut made = Column::with_capacity(values.len(), values.total_bytes());
    for value in values.iter().flatten() {
        let (head, tail) = value.split_at(CAPITALS.min(value.len()));
        let mut capitals = [0; CAPITALS];
        let capitals = capitals.get_mut(..head.len()).expect("the head is no longer than that");
        capitals.copy_from_slice(head);
        capitals.make_ascii_uppercase();
        made.extend_item(capitals);
        made.push(tail);
    }
    push(turn, made.into(), Vec::new(), all_rows(turn));
}

/// What the state holds for every slot of the batch.
fn load(turn: &mut Turn) -> Result<OptionalColumn, ProcessError> {
    let mut loaded = OptionalColumn::default();
    let state = turn.state.as_mut().ok_or_else(|| host_error("a keyed function got no state"))?;
    state.load(STATE, &turn.batch.keys, &mut loaded).map_err(ProcessError::Host)?;
    Ok(loaded)
}

fn store(turn: &mut Turn, slots: Vec<SlotIndex>, values: OptionalColumn) {
    if !slots.is_empty() {
        turn.staged.writes.push(StateWrites { state: STATE, slots, values, ..StateWrites::default() });
    }
}

fn dedup(turn: &mut Turn, mark: &[u8]) -> Result<(), ProcessError> {
    let mut seen: Vec<bool> = load(turn)?.iter().map(|value| value.is_some()).collect();
    let (mut rows, mut new) = (Vec::new(), Vec::new());
    for (row, &slot) in (0..).zip(&turn.batch.slots) {
        let seen = seen.get_mut(slot as usize).ok_or_else(|| host_error("a slot without a key"))?;
        if !*seen {
            *seen = true;
            rows.push(row);
            new.push(SlotIndex(slot));
        }
    }
    let marks: Column = new.iter().map(|_| mark).collect();
    store(turn, new, marks.into());
    turn.staged.emits.push(Emit::Forward { output: MAIN, rows });
    Ok(())
}

fn split(turn: &mut Turn) {
    let values = &turn.batch.records.values;
    let mut words = Column::with_capacity(values.len() * 16, values.total_bytes());
    let mut rows = Vec::with_capacity(values.len() * 16);
    for (row, line) in (0..).zip(values.iter()) {
        for word in line.unwrap_or_default().split(|&byte| byte == b' ') {
            words.push(word);
            rows.push(row);
        }
    }
    push(turn, words.into(), Vec::new(), rows);
}

fn count(turn: &mut Turn) -> Result<(), ProcessError> {
    let read = |value: Option<&[u8]>| value.and_then(|bytes| bytes.try_into().ok()).map_or(0, i64::from_le_bytes);
    let mut counts: Vec<i64> = load(turn)?.iter().map(read).collect();
    let keys = &turn.batch.keys.keys;
    let mut words = Column::with_capacity(turn.batch.slots.len(), turn.batch.slots.len() * 8);
    let mut numbers = Vec::with_capacity(turn.batch.slots.len());
    for &slot in &turn.batch.slots {
        let count = counts.get_mut(slot as usize).ok_or_else(|| host_error("a slot without a key"))?;
        *count += 1;
        words.push(keys.get(slot as usize));
        numbers.push(*count);
    }
    let slots = (0..u32::try_from(counts.len()).expect("fewer slots than rows")).map(SlotIndex).collect();
    let values: Column = counts.iter().map(|count| count.to_le_bytes()).collect();
    store(turn, slots, values.into());
    let whole = |cells| FieldColumn { present: Vec::new(), cells };
    let fields = vec![whole(Cells::Texts(words)), whole(Cells::Integers(numbers))];
    push(turn, Values::default(), fields, all_rows(turn));
    Ok(())
}

fn describe(function: NativeFunction) -> Descriptor {
    let field = |name: &str, kind| FieldSpec { name: name.to_owned(), path: format!("/{name}"), kind, required: true };
    let id = || field("event_id", FieldKind::Text);
    let amount = || field("amount", FieldKind::Float);
    let (reads, writes) = match function {
        NativeFunction::FilterJson => (vec![amount()], Vec::new()),
        NativeFunction::MapJson => (vec![id(), amount()], vec![id(), amount()]),
        NativeFunction::Count => (Vec::new(), vec![field("word", FieldKind::Text), field("count", FieldKind::Integer)]),
        _ => (Vec::new(), Vec::new()),
    };
    let wants_values =
        matches!(function, NativeFunction::MapBinary | NativeFunction::FilterBinary | NativeFunction::Split);
    let keyed = matches!(function, NativeFunction::Dedup | NativeFunction::Remember | NativeFunction::Count);
    let state = StateDescriptor {
        id: STATE,
        name: "state".to_owned(),
        kind: StateKind::Value,
        schema: "{}".to_owned(),
        version: 1,
        ttl: (function == NativeFunction::Dedup).then_some(SEVEN_DAYS),
    };
    Descriptor {
        inputs: vec![port("in", reads)],
        outputs: vec![port("out", writes)],
        states: if keyed { vec![state] } else { Vec::new() },
        keyed,
        wants_values,
        ..Descriptor::default()
    }
}

fn port(name: &str, fields: Vec<FieldSpec>) -> PortDescriptor {
    PortDescriptor { id: 0, name: name.to_owned(), fields, schema: None }
}

#[cfg(test)]
mod tests;
