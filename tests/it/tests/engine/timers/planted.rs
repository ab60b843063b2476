//! Planted bugs: what the tests of recovery must catch, or they show nothing.

use std::ops::Range;
use std::panic::catch_unwind;
use std::sync::Arc;

use contract::doubles::{MapBackend, MemorySink};
use contract::{
    Error, KeyedState, SlotKeys, StateBackend, StateDelta, StateEntry, StateImage, StatePart, StateScope, StateStats,
    StateWrites,
};
use model::{Column, EventTime, HostTime, OptionalColumn, SlotIndex, StateId, TimerClock};

use super::support::{assert_sessions, sessions_in, visits, width};
use crate::epochs::support::{LONG, World};

/// What is wrong with the timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    Nothing,
    /// The order in time is not made anew from what was restored.
    NotRebuilt,
    /// That a timer fired is not kept with what its turn wrote.
    EndNotKept,
    /// That a timer was set is not kept.
    NotKept,
}

struct Planted(Bug);

impl StateBackend for Planted {
    fn open(&self, scope: StateScope) -> Result<Box<dyn KeyedState>, Error> {
        Ok(Box::new(PlantedState(MapBackend.open(scope)?, self.0)))
    }

    fn restore(
        &self,
        scope: StateScope,
        parts: &mut dyn Iterator<Item = Result<StatePart, Error>>,
    ) -> Result<Box<dyn KeyedState>, Error> {
        Ok(Box::new(PlantedState(MapBackend.restore(scope, parts)?, self.0)))
    }
}

struct PlantedState(Box<dyn KeyedState>, Bug);

impl PlantedState {
    /// The writes as the bug lets them through.
    fn spoiled(&self, writes: &[StateWrites]) -> Vec<StateWrites> {
        let spoil = |writes: &StateWrites| {
            let mut left = StateWrites { slots: Vec::new(), ..writes.clone() };
            let (mut keys, mut values) = (Column::default(), OptionalColumn::default());
            for (at, slot) in writes.slots.iter().enumerate() {
                let value = writes.values.get(at);
                let is_lost = match self.1 {
                    Bug::EndNotKept => value.is_none(),
                    Bug::NotKept => value.is_some(),
                    Bug::Nothing | Bug::NotRebuilt => false,
                };
                if !is_lost {
                    left.slots.push(*slot);
                    keys.push(writes.entry_keys.as_ref().unwrap().get(at));
                    values.push(value);
                }
            }
            (left.entry_keys, left.values) = (Some(keys), values);
            left
        };
        let is_timers = |writes: &StateWrites| TimerClock::of_state(writes.state).is_some();
        writes.iter().map(|writes| if is_timers(writes) { spoil(writes) } else { writes.clone() }).collect()
    }
}

impl KeyedState for PlantedState {
    fn load(&mut self, state: StateId, slots: &SlotKeys, out: &mut OptionalColumn) -> Result<(), Error> {
        self.0.load(state, slots, out)
    }

    fn load_range(
        &mut self,
        state: StateId,
        slots: &SlotKeys,
        range: Range<SlotIndex>,
        out: &mut OptionalColumn,
    ) -> Result<(), Error> {
        self.0.load_range(state, slots, range, out)
    }

    fn load_entries(
        &mut self,
        state: StateId,
        slots: &SlotKeys,
        which: &[SlotIndex],
        entry_keys: &Column,
        out: &mut OptionalColumn,
    ) -> Result<(), Error> {
        self.0.load_entries(state, slots, which, entry_keys, out)
    }

    fn scan(
        &mut self,
        state: StateId,
        slots: &SlotKeys,
        slot: SlotIndex,
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<(Column, Column), Error> {
        self.0.scan(state, slots, slot, after, limit)
    }

    fn apply(&mut self, slots: &Arc<SlotKeys>, writes: &[StateWrites], now: HostTime) -> Result<(), Error> {
        let spoiled = self.spoiled(writes);
        self.0.apply(slots, &spoiled, now)
    }

    fn changes(
        &mut self,
        slots: &SlotKeys,
        which: &[SlotIndex],
        out: &mut Vec<Option<EventTime>>,
    ) -> Result<(), Error> {
        self.0.changes(slots, which, out)
    }

    fn snapshot(&mut self) -> Result<StateDelta, Error> {
        self.0.snapshot()
    }

    fn image(&mut self) -> Result<StateImage, Error> {
        self.0.image()
    }

    fn completed(&mut self, watermark: EventTime) {
        self.0.completed(watermark);
    }

    fn export(&mut self, visit: &mut dyn FnMut(StateEntry<'_>) -> Result<(), Error>) -> Result<(), Error> {
        self.0.export(visit)
    }

    fn visit_states(
        &mut self,
        states: &[StateId],
        visit: &mut dyn FnMut(StateEntry<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.1 == Bug::NotRebuilt { Ok(()) } else { self.0.visit_states(states, visit) }
    }

    fn import(&mut self, entry: StateEntry<'_>) -> Result<(), Error> {
        self.0.import(entry)
    }

    fn maintain(&mut self, budget_bytes: usize) -> Result<usize, Error> {
        self.0.maintain(budget_bytes)
    }

    fn stats(&self) -> StateStats {
        self.0.stats()
    }
}

/// A job that crashes twice; panics unless every session ends once.
fn crashed_twice(bug: Bug) {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let tap = visits(2, 500).opened_to(0);
    let job = || sessions_in(Arc::new(Planted(bug)), &tap, &sink, width(1, 2, 1));
    for open in [95, 205] {
        let handle = world.start(&job());
        tap.open_to(open);
        let all = |handle: &runtime::JobHandle| handle.metrics().operator("tap").unwrap().records_in > 0;
        assert!(handle.wait_until(LONG, all));
        handle.checkpoint(LONG).unwrap();
        handle.abandon();
    }
    tap.open_to(u64::MAX);
    world.finish(&job());
    assert_sessions(&tap, sink.texts());
}

#[test]
fn a_planted_bug_in_what_is_kept_of_timers_is_caught() {
    crashed_twice(Bug::Nothing);
    for bug in [Bug::NotRebuilt, Bug::EndNotKept, Bug::NotKept] {
        assert!(catch_unwind(|| crashed_twice(bug)).is_err(), "{bug:?} went unseen");
    }
}
