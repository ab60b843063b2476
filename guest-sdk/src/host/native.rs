//! The same calls outside a component: answered by the harness of the current thread.

use std::cell::RefCell;

use crate::bindings::state::Writes;
use crate::bindings::telemetry::Level;
use crate::bindings::types::{Clock, Column, OptionalColumn, OutputBatch};

/// The host's side of the contract.
pub(crate) trait Host {
    fn load(&mut self, state: u16) -> OptionalColumn;
    fn load_entries(&mut self, state: u16, slots: &[u32], entry_keys: &Column) -> OptionalColumn;
    fn scan(&mut self, state: u16, slot: u32, after: Option<&[u8]>, limit: u32) -> (Column, Column);
    fn store(&mut self, state: u16, writes: &Writes);
    fn set_timers(&mut self, clock: Clock, set: bool, slots: &[u32], at: &[i64]);
    fn forward(&mut self, output: u16, rows: &[u32]);
    fn push(&mut self, output: u16, batch: &OutputBatch);
    fn log(&mut self, level: Level, row: Option<u32>, message: &str);
    fn add(&mut self, metric: u16, amount: f64);
    fn set(&mut self, metric: u16, value: f64);
}

thread_local! {
    static HOST: RefCell<Option<Box<dyn Host>>> = const { RefCell::new(None) };
}

/// Puts a host in place for this thread and gives back the one that was there.
pub(crate) fn exchange(host: Option<Box<dyn Host>>) -> Option<Box<dyn Host>> {
    HOST.with(|place| place.replace(host))
}

fn with<T>(call: impl FnOnce(&mut dyn Host) -> T) -> T {
    HOST.with(|place| match place.borrow_mut().as_deref_mut() {
        Some(host) => call(host),
        None => panic!("no host: outside a component a function runs under `tidegate::testing::Harness` only"),
    })
}

pub(crate) fn load(state: u16) -> OptionalColumn {
    with(|host| host.load(state))
}

pub(crate) fn load_entries(state: u16, slots: &[u32], entry_keys: &Column) -> OptionalColumn {
    with(|host| host.load_entries(state, slots, entry_keys))
}

pub(crate) fn scan(state: u16, slot: u32, after: Option<&[u8]>, limit: u32) -> (Column, Column) {
    with(|host| host.scan(state, slot, after, limit))
}

pub(crate) fn store(state: u16, writes: &Writes) {
    with(|host| host.store(state, writes));
}

pub(crate) fn enable(clock: Clock, slots: &[u32], at: &[i64]) {
    with(|host| host.set_timers(clock, true, slots, at));
}

pub(crate) fn cancel(clock: Clock, slots: &[u32], at: &[i64]) {
    with(|host| host.set_timers(clock, false, slots, at));
}

pub(crate) fn forward(output: u16, rows: &[u32]) {
    with(|host| host.forward(output, rows));
}

pub(crate) fn push(output: u16, batch: &OutputBatch) {
    with(|host| host.push(output, batch));
}

pub(crate) fn log(level: Level, row: Option<u32>, message: &str) {
    with(|host| host.log(level, row, message));
}

pub(crate) fn add(metric: u16, amount: f64) {
    with(|host| host.add(metric, amount));
}

pub(crate) fn set(metric: u16, value: f64) {
    with(|host| host.set(metric, value));
}

/// The harness catches panics itself.
pub(crate) fn report_panics() {}
