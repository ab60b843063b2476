//! The host's side of the contract for one batch: state as it was, everything else staged.
//!
//! What the contract says traps, panics here.

use std::cell::RefCell;
use std::rc::Rc;

use crate::bindings::state::Writes;
use crate::bindings::telemetry::Level;
use crate::bindings::types::{Clock, Column, Descriptor, MetricKind, OptionalColumn, OutputBatch, StateKind};
use crate::host::Host;
use crate::testing::lives::Looks;
use crate::testing::store::Store;
use crate::{LogLevel, TimerClock, Timestamp};

/// What a batch wants done.
#[derive(Default)]
pub(super) struct Staged {
    pub(super) writes: Vec<(u16, Writes)>,
    pub(super) timers: Vec<(TimerClock, bool, Vec<u32>, Vec<i64>)>,
    pub(super) emits: Vec<(u16, Emit)>,
    pub(super) metrics: Vec<(u16, f64)>,
    pub(super) logs: Vec<(LogLevel, Option<u32>, String)>,
    /// Calls made, by name.
    pub(super) calls: Vec<&'static str>,
}

/// One call to emit.
pub(super) enum Emit {
    Forward(Vec<u32>),
    Push(OutputBatch),
}

/// The host during one batch.
pub(super) struct TurnHost {
    pub(super) descriptor: Rc<Descriptor>,
    pub(super) store: Rc<Store>,
    pub(super) keys: Column,
    pub(super) looks: Looks,
    /// The slot of each row; none in a function that is not keyed.
    pub(super) slots: Vec<u32>,
    pub(super) rows: usize,
    /// Whether the rows are timers.
    pub(super) of_timers: bool,
    pub(super) staged: Rc<RefCell<Staged>>,
}

impl TurnHost {
    fn check_state(&self, state: u16, single: bool) {
        let declared = self.descriptor.states.iter().find(|declared| declared.id == state);
        let declared = declared.unwrap_or_else(|| panic!("state {state} is not declared"));
        assert!((declared.kind == StateKind::Value) == single, "state `{}` is a {:?}", declared.name, declared.kind);
    }

    fn key(&self, slot: u32) -> &[u8] {
        assert!((slot as usize) < self.keys.len(), "slot {slot} of {}", self.keys.len());
        self.keys.get(slot as usize)
    }

    /// Whether the rows of `slot` see what was written at `written`.
    fn sees(&self, state: u16, slot: u32, written: i64) -> bool {
        let declared = self.descriptor.states.iter().find(|declared| declared.id == state);
        self.looks.sees(declared.and_then(|declared| declared.ttl), slot, written)
    }

    /// An entry that the rows of `slot` see.
    fn seen(&self, state: u16, slot: u32, entry: &[u8]) -> Option<&[u8]> {
        let found = self.store.get(state, self.key(slot), entry);
        found.filter(|&(_, written)| self.sees(state, slot, written)).map(|(value, _)| value)
    }

    fn check_writers(&self, writes: &Writes) {
        if writes.rows.is_empty() {
            return;
        }
        assert!(writes.rows.len() == writes.slots.len(), "{} rows of {} writes", writes.rows.len(), writes.slots.len());
        for (&row, &slot) in writes.rows.iter().zip(&writes.slots) {
            let of = self.slots.get(row as usize);
            assert!(of == Some(&slot), "row {row} wrote to slot {slot}, it is of {of:?}");
        }
    }

    fn check_rows(&self, output: u16, rows: &[u32]) {
        assert!(usize::from(output) < self.descriptor.outputs.len(), "output {output} is not declared");
        assert!(rows.is_sorted(), "the rows of an emit fall");
        assert!(rows.iter().all(|&row| (row as usize) < self.rows), "a row of an emit is not in the batch");
    }

    fn check_metric(&self, metric: u16, kind: MetricKind) {
        let declared = self.descriptor.metrics.get(usize::from(metric));
        assert!(declared.is_some_and(|declared| declared.kind == kind), "metric {metric} is not a declared {kind:?}");
    }

    fn note(&self, call: &'static str) {
        self.staged.borrow_mut().calls.push(call);
    }
}

impl Host for TurnHost {
    fn load(&mut self, state: u16) -> OptionalColumn {
        self.note("load");
        self.check_state(state, true);
        let mut loaded = OptionalColumn::new();
        for slot in (0u32..).take(self.keys.len()) {
            loaded.push(self.seen(state, slot, &[]));
        }
        loaded
    }

    fn load_entries(&mut self, state: u16, slots: &[u32], entry_keys: &Column) -> OptionalColumn {
        self.note("load-entries");
        self.check_state(state, false);
        assert!(slots.len() == entry_keys.len(), "{} slots and {} entry keys", slots.len(), entry_keys.len());
        let mut loaded = OptionalColumn::new();
        for (&slot, entry) in slots.iter().zip(entry_keys.iter()) {
            loaded.push(self.seen(state, slot, entry));
        }
        loaded
    }

    fn scan(&mut self, state: u16, slot: u32, after: Option<&[u8]>, limit: u32) -> (Column, Column) {
        self.note("scan");
        self.check_state(state, false);
        assert!(limit > 0, "a scan with the limit 0");
        let found = self.store.scan(state, self.key(slot), after);
        let found = found.filter(|&(_, _, written)| self.sees(state, slot, written)).take(limit as usize);
        let mut page = (Column::new(), Column::new());
        for (entry, value, _) in found {
            page.0.push(entry);
            page.1.push(value);
        }
        page
    }

    fn store(&mut self, state: u16, writes: &Writes) {
        self.note("store");
        self.check_state(state, writes.entry_keys.is_none());
        let entries = writes.entry_keys.as_ref().map_or(writes.slots.len(), Column::len);
        assert!(
            writes.slots.len() == writes.values.len() && entries == writes.slots.len(),
            "{} slots, {entries} entry keys and {} values",
            writes.slots.len(),
            writes.values.len()
        );
        for &slot in &writes.slots {
            self.key(slot);
        }
        self.check_writers(writes);
        self.staged.borrow_mut().writes.push((state, writes.clone()));
    }

    fn set_timers(&mut self, clock: Clock, set: bool, slots: &[u32], at: &[i64]) {
        self.note(if set { "enable" } else { "cancel" });
        assert!(self.descriptor.timers, "the function does not say that it sets timers");
        assert!(slots.len() == at.len(), "{} slots and {} times", slots.len(), at.len());
        for &slot in slots {
            self.key(slot);
        }
        assert!(!at.contains(&Timestamp::UNKNOWN), "a timer at the smallest time, which stands for none");
        let clock = match clock {
            Clock::EventTime => TimerClock::EventTime,
            Clock::ProcessingTime => TimerClock::ProcessingTime,
        };
        self.staged.borrow_mut().timers.push((clock, set, slots.to_vec(), at.to_vec()));
    }

    fn forward(&mut self, output: u16, rows: &[u32]) {
        self.note("forward");
        assert!(!self.of_timers, "a timer is no record that could be sent on");
        self.check_rows(output, rows);
        self.staged.borrow_mut().emits.push((output, Emit::Forward(rows.to_vec())));
    }

    fn push(&mut self, output: u16, batch: &OutputBatch) {
        self.note("push");
        self.check_rows(output, &batch.rows);
        let records = batch.rows.len();
        let by_value = batch.values.len();
        assert!(by_value == records || (by_value == 0 && !batch.fields.is_empty()), "{by_value} values of {records}");
        assert!(batch.timestamps.is_empty() || batch.timestamps.len() == records, "timestamps of {records} records");
        assert!(batch.keys.as_ref().is_none_or(|keys| keys.len() == records), "keys of {records} records");
        self.staged.borrow_mut().emits.push((output, Emit::Push(batch.clone())));
    }

    fn log(&mut self, level: Level, row: Option<u32>, message: &str) {
        self.staged.borrow_mut().logs.push((LogLevel::from_wire(level), row, message.to_owned()));
    }

    fn add(&mut self, metric: u16, amount: f64) {
        self.check_metric(metric, MetricKind::Counter);
        self.staged.borrow_mut().metrics.push((metric, amount));
    }

    fn set(&mut self, metric: u16, value: f64) {
        self.check_metric(metric, MetricKind::Gauge);
        self.staged.borrow_mut().metrics.push((metric, value));
    }
}
