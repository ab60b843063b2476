//! A keyed state that answers loads as a test says, and knows nothing else.

use std::sync::Arc;

use model::{Column, EventTime, HostTime, OptionalColumn, SlotIndex, StateId};

use crate::{Error, KeyedState, SlotKeys, StateDelta, StateEntry, StateImage, StateStats, StateWrites};

type OnLoad = Box<dyn FnMut(&SlotKeys, &mut OptionalColumn) -> Result<(), Error> + Send>;

/// See the module. Writes to it are forgotten.
pub struct ScriptedState {
    on_load: OnLoad,
}

impl ScriptedState {
    /// Answers every load with `on_load`, which appends one item for each slot.
    pub fn new(on_load: impl FnMut(&SlotKeys, &mut OptionalColumn) -> Result<(), Error> + Send + 'static) -> Self {
        Self { on_load: Box::new(on_load) }
    }

    /// A state in which there is nothing.
    #[must_use]
    pub fn empty() -> Self {
        Self::new(|slots, out| {
            slots.keys.iter().for_each(|_| out.push(None));
            Ok(())
        })
    }
}

impl KeyedState for ScriptedState {
    fn load(&mut self, _: StateId, slots: &SlotKeys, out: &mut OptionalColumn) -> Result<(), Error> {
        (self.on_load)(slots, out)
    }

    fn load_entries(
        &mut self,
        _: StateId,
        _: &SlotKeys,
        which: &[SlotIndex],
        _: &Column,
        out: &mut OptionalColumn,
    ) -> Result<(), Error> {
        which.iter().for_each(|_| out.push(None));
        Ok(())
    }

    fn scan(
        &mut self,
        _: StateId,
        _: &SlotKeys,
        _: SlotIndex,
        _: Option<&[u8]>,
        _: usize,
    ) -> Result<(Column, Column), Error> {
        Ok((Column::default(), Column::default()))
    }

    fn apply(&mut self, _: &Arc<SlotKeys>, _: &[StateWrites], _: HostTime) -> Result<(), Error> {
        Ok(())
    }

    fn changes(&mut self, _: &SlotKeys, which: &[SlotIndex], out: &mut Vec<Option<EventTime>>) -> Result<(), Error> {
        out.extend(which.iter().map(|_| None));
        Ok(())
    }

    fn snapshot(&mut self) -> Result<StateDelta, Error> {
        Ok(StateDelta::default())
    }

    fn image(&mut self) -> Result<StateImage, Error> {
        Ok(Box::new(std::iter::empty()))
    }

    fn completed(&mut self, _: EventTime) {}

    fn export(&mut self, _: &mut dyn FnMut(StateEntry<'_>) -> Result<(), Error>) -> Result<(), Error> {
        Ok(())
    }

    fn import(&mut self, _: StateEntry<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn maintain(&mut self, _: usize) -> Result<usize, Error> {
        Ok(0)
    }

    fn stats(&self) -> StateStats {
        StateStats::default()
    }
}
