//! The interface `state`.

use contract::KeyedState;
use model::{Column, EventTime, OptionalColumn, SlotIndex, StateId};

use crate::bindings::tidegate::flow::state::{Host as StateImports, Writes};
use crate::bindings::tidegate::flow::types::{ColumnResult, OptionalColumnResult};
use crate::check::{self, Violation};
use crate::host::{Host, Refusal, at_most, refuse};
use crate::{caps, convert};

impl StateImports for Host {
    fn load(&mut self, state: u16) -> wasmtime::Result<OptionalColumnResult> {
        Ok(convert::optional_out(self.load_values(state)?))
    }

    fn load_entries(
        &mut self,
        state: u16,
        slots: Vec<u32>,
        entry_keys: ColumnResult,
    ) -> wasmtime::Result<OptionalColumnResult> {
        Ok(convert::optional_out(self.load_chosen(state, slots, entry_keys)?))
    }

    fn scan(
        &mut self,
        state: u16,
        slot: u32,
        after: Option<Vec<u8>>,
        limit: u32,
    ) -> wasmtime::Result<(ColumnResult, ColumnResult)> {
        let (keys, values) = self.scan_slot(state, slot, after, limit)?;
        Ok((convert::column_out(keys), convert::column_out(values)))
    }

    fn store(&mut self, state: u16, writes: Writes) -> wasmtime::Result<()> {
        Ok(self.stage_writes(state, writes)?)
    }
}

impl Host {
    fn load_values(&mut self, id: u16) -> Result<OptionalColumn, Refusal> {
        const CALL: &str = "state.load";
        self.admit(CALL)?;
        let declared = self.descriptor.state(StateId(id));
        let state = check::state_of_kind(declared, id, CALL, true).map_err(refuse(CALL))?.id;
        let count = self.keys.keys.len();
        let backing = backing(&mut self.state, CALL)?;
        let mut loaded = OptionalColumn::with_capacity(count, 0);
        for first in (0..count).step_by(caps::LOAD_CHUNK) {
            let range = slot(first)..slot(count.min(first + caps::LOAD_CHUNK));
            backing.load_range(state, &self.keys, range, &mut loaded).map_err(Refusal::Host)?;
            check_loaded(CALL, loaded.items())?;
            if self.ticks.now() >= self.deadline {
                return Err(Refusal::Deadline);
            }
        }
        Ok(loaded)
    }

    fn load_chosen(&mut self, id: u16, slots: Vec<u32>, entry_keys: ColumnResult) -> Result<OptionalColumn, Refusal> {
        const CALL: &str = "state.load-entries";
        self.admit(CALL)?;
        let declared = self.descriptor.state(StateId(id));
        let state = check::state_of_kind(declared, id, CALL, false).map_err(refuse(CALL))?;
        check::slots(&slots, self.keys.keys.len()).map_err(refuse(CALL))?;
        let entry_keys = check::entry_keys(entry_keys, slots.len(), state).map_err(refuse(CALL))?;
        let (state, which) = (state.id, check::slot_indexes(slots));
        let backing = backing(&mut self.state, CALL)?;
        let mut loaded = OptionalColumn::with_capacity(which.len(), 0);
        if which.len() <= caps::LOAD_CHUNK {
            backing.load_entries(state, &self.keys, &which, &entry_keys, &mut loaded).map_err(Refusal::Host)?;
            check_loaded(CALL, loaded.items())?;
        } else {
            let mut first = 0;
            for some in which.chunks(caps::LOAD_CHUNK) {
                let keys: Column = (first..first + some.len()).map(|entry| entry_keys.get(entry)).collect();
                first += some.len();
                backing.load_entries(state, &self.keys, some, &keys, &mut loaded).map_err(Refusal::Host)?;
                check_loaded(CALL, loaded.items())?;
                if self.ticks.now() >= self.deadline {
                    return Err(Refusal::Deadline);
                }
            }
        }
        self.check_deadline()?;
        Ok(loaded)
    }

    fn scan_slot(
        &mut self,
        id: u16,
        slot: u32,
        after: Option<Vec<u8>>,
        limit: u32,
    ) -> Result<(Column, Column), Refusal> {
        const CALL: &str = "state.scan";
        self.admit(CALL)?;
        let declared = self.descriptor.state(StateId(id));
        let state = check::state_of_kind(declared, id, CALL, false).map_err(refuse(CALL))?.id;
        check::slots(&[slot], self.keys.keys.len()).map_err(refuse(CALL))?;
        if limit == 0 {
            return Err(refuse(CALL)(Violation::Unavailable("a limit of 0")));
        }
        let mut left = limit as usize;
        let (mut keys, mut values) = (Column::default(), Column::default());
        let mut after = after;
        while left > 0 {
            let asked = left.min(caps::LOAD_CHUNK);
            let (some_keys, some_values) = backing(&mut self.state, CALL)?
                .scan(state, &self.keys, SlotIndex(slot), after.as_deref(), asked)
                .map_err(Refusal::Host)?;
            let found = some_keys.len();
            after = some_keys.iter().last().map(<[u8]>::to_vec);
            append(&mut keys, some_keys);
            append(&mut values, some_values);
            check_loaded(CALL, &keys)?;
            check_loaded(CALL, &values)?;
            self.check_deadline()?;
            if found < asked {
                break;
            }
            left -= found;
        }
        Ok((keys, values))
    }

    fn stage_writes(&mut self, id: u16, writes: Writes) -> Result<(), Refusal> {
        const CALL: &str = "state.store";
        self.admit(CALL)?;
        let declared = self.descriptor.state(StateId(id));
        let state = declared.ok_or(Violation::Undeclared { what: "state", id }).map_err(refuse(CALL))?;
        let slot_count = self.keys.keys.len();
        let by = check::Written { slot_count, row_slots: &self.row_slots, times: &self.times };
        let staged = check::writes(writes, state, by).map_err(refuse(CALL))?;
        let key_bytes = staged.entry_keys.as_ref().map_or(0, |keys| keys.bytes().len());
        let times = staged.written.len() * size_of::<EventTime>();
        let bytes = staged.values.items().bytes().len() + key_bytes + staged.slots.len() * 8 + times;
        self.usage.state_writes = self.usage.state_writes.saturating_add(staged.slots.len());
        at_most("state writes", self.usage.state_writes, caps::STATE_WRITES).map_err(refuse(CALL))?;
        self.count_staging(bytes).map_err(refuse(CALL))?;
        if !staged.slots.is_empty() {
            self.staged.writes.push(staged);
        }
        Ok(())
    }
}

fn slot(number: usize) -> SlotIndex {
    SlotIndex(u32::try_from(number).expect("a batch has fewer than 2^32 slots"))
}

/// The state that was lent for this batch.
fn backing<'a>(
    state: &'a mut Option<Box<dyn KeyedState>>,
    call: &'static str,
) -> Result<&'a mut Box<dyn KeyedState>, Refusal> {
    let missing = Violation::Unavailable("the function is not keyed");
    state.as_mut().ok_or(Refusal::Violation { call, violation: missing })
}

fn check_loaded(call: &'static str, items: &Column) -> Result<(), Refusal> {
    if items.bytes().len() > caps::LOADED_BYTES {
        return Err(Refusal::StateTooLarge { call, most: caps::LOADED_BYTES });
    }
    Ok(())
}

fn append(column: &mut Column, more: Column) {
    if column.is_empty() {
        *column = more;
    } else {
        more.iter().for_each(|item| column.push(item));
    }
}
