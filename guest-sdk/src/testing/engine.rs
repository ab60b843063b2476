//! The engine in small: staging, isolation of a bad record, new instances.
//!
//! # Invariants
//! 1. What a batch staged takes effect only if the whole batch succeeded.
//! 2. A record is bad if it fails alone in a fresh instance, whatever it was batched with.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::bindings::types::{BadRecord as WireBadRecord, Descriptor, InputBatch, MetricKind, OptionalColumn};
use crate::function::Operator;
use crate::glue::{self, Runner};
use crate::testing::batch::{Clocks, Ready, batch};
use crate::testing::host::{Staged, TurnHost};
use crate::testing::lives::{Looks, same_sight, time};
use crate::testing::run::{BadRecord, LogLine, Run};
use crate::testing::store::Store;
use crate::testing::timers::Pending;
use crate::testing::{Record, emitted, panics};
use crate::{Function, Result, Task, Timer, TimerClock, Timestamp, host};

/// A function at work, with its state.
pub(super) struct Engine<F> {
    pub(super) descriptor: Rc<Descriptor>,
    calls: Calls<F>,
    pub(super) task: Task,
    instance: Option<Runner<F>>,
    /// Whether the instance has handled nothing yet.
    fresh: bool,
    pub(super) store: Rc<Store>,
    pub(super) timers: Pending,
    pub(super) metrics: BTreeMap<String, f64>,
    pub(super) clocks: Clocks,
    /// Whether an instance is thrown away after every batch.
    pub(super) renew: bool,
    /// The calls the function made to its host in the last batch.
    pub(super) last_calls: Vec<&'static str>,
}

/// How to call a function, keyed or not.
struct Calls<F> {
    open: fn(&Task) -> Result<Runner<F>>,
    process: fn(&mut Runner<F>, &InputBatch) -> Result<(), WireBadRecord>,
}

impl<F: Function> Engine<F> {
    pub(super) fn new<K>() -> Self
    where
        F: Operator<K>,
    {
        let task = Task {
            job: "test".to_owned(),
            operator: "function".to_owned(),
            subtask: 0,
            parallelism: 1,
            config: "{}".to_owned(),
        };
        Self {
            descriptor: Rc::new(glue::describe::<F, K>()),
            calls: Calls { open: Runner::open::<K>, process: Runner::process::<K> },
            task,
            instance: None,
            fresh: false,
            store: Rc::default(),
            timers: Pending::default(),
            metrics: BTreeMap::new(),
            clocks: Clocks { watermark: None, now: Timestamp::from_millis(0) },
            renew: false,
            last_calls: Vec::new(),
        }
    }

    /// The same function with the same state and no instance yet.
    pub(super) fn fork(&self) -> Self {
        Self {
            descriptor: Rc::clone(&self.descriptor),
            calls: Calls { ..self.calls },
            task: self.task.clone(),
            instance: None,
            fresh: false,
            store: Rc::clone(&self.store),
            timers: self.timers.clone(),
            metrics: self.metrics.clone(),
            clocks: self.clocks,
            renew: self.renew,
            last_calls: Vec::new(),
        }
    }

    /// Makes an instance.
    pub(super) fn open(&mut self) -> Result<()> {
        self.instance = Some((self.calls.open)(&self.task)?);
        self.fresh = true;
        Ok(())
    }

    /// The record with the key and the event time that the function gives it.
    pub(super) fn assigned(&mut self, mut record: Record) -> Result<Record, String> {
        let mut values = OptionalColumn::new();
        values.push(record.value.as_deref());
        self.renew_if_gone();
        let instance = self.instance.as_ref().expect("it was just opened");
        let (keys, times) = panics::catch(|| instance.assign(&values))?.map_err(|bad| bad.message)?;
        record.key = Some(keys.get(0).ok_or("the function assigned no key")?.to_vec());
        record.event_time = times.first().copied().and_then(Timestamp::known);
        Ok(record)
    }

    /// Fires the timers whose time has come, in batches of at most `most`, the first of them as number `index` of the
    /// run. Returns how many.
    pub(super) fn fire(&mut self, mut index: usize, most: usize, run: &mut Run) -> usize {
        let first = index;
        for clock in [TimerClock::EventTime, TimerClock::ProcessingTime] {
            let until = match clock {
                TimerClock::EventTime => self.clocks.watermark.unwrap_or(Timestamp::from_millis(Timestamp::UNKNOWN)),
                TimerClock::ProcessingTime => self.clocks.now,
            };
            self.timers.rise(clock, until);
            loop {
                let due = self.timers.due(clock, until, most);
                if due.is_empty() {
                    break;
                }
                let fired: Vec<Ready> = (index..)
                    .zip(&due)
                    .map(|(index, (at, key))| Ready::fired(index, key, Timer::new(clock, *at), self.clocks))
                    .collect();
                index += fired.len();
                self.turn(&fired, run);
            }
        }
        index - first
    }

    /// Handles records in batches whose rows see the same, and where one fails, finds the records to blame.
    pub(super) fn turn(&mut self, mut records: &[Ready], run: &mut Run) {
        while !records.is_empty() {
            let (batch, rest) = records.split_at(same_sight(records, &self.descriptor, &self.store));
            self.batch_turn(batch, run);
            records = rest;
        }
    }

    fn batch_turn(&mut self, records: &[Ready], run: &mut Run) {
        self.renew_if_gone();
        let was_fresh = self.fresh;
        match self.attempt(records) {
            Ok(staged) => self.apply(staged, records, run),
            Err(message) => {
                self.instance = None;
                match records {
                    [record] if was_fresh => {
                        self.timers.gone(record);
                        run.bad_records.push(BadRecord { index: record.index, timer: record.timer, message });
                    }
                    [_] => self.turn(records, run),
                    _ => {
                        let (left, right) = records.split_at(records.len() / 2);
                        self.turn(left, run);
                        self.turn(right, run);
                    }
                }
            }
        }
        if self.renew {
            self.instance = None;
        }
    }

    fn renew_if_gone(&mut self) {
        if self.instance.is_none() {
            self.open().unwrap_or_else(|error| panic!("the function refuses its configuration: {error}"));
        }
    }

    /// Lets the function handle a batch, and gives back what it staged.
    fn attempt(&mut self, records: &[Ready]) -> Result<Staged, String> {
        let batch = batch(records, &self.descriptor, self.clocks);
        let staged = Rc::new(RefCell::new(Staged::default()));
        let host = TurnHost {
            descriptor: Rc::clone(&self.descriptor),
            store: Rc::clone(&self.store),
            keys: batch.keys.clone(),
            looks: Looks::new(records, &batch.slots, &batch.keys, self.clocks),
            slots: batch.slots.clone(),
            rows: records.len(),
            of_timers: records.first().is_some_and(|first| first.timer.is_some()),
            staged: Rc::clone(&staged),
        };
        let instance = self.instance.as_mut().expect("an instance was opened");
        self.fresh = false;
        let outer = host::exchange(Some(Box::new(host)));
        let result = panics::catch(|| (self.calls.process)(instance, &batch));
        drop(host::exchange(outer));
        let staged = staged.take();
        self.last_calls.clone_from(&staged.calls);
        match result {
            Ok(Ok(())) => Ok(staged),
            Ok(Err(bad)) => Err(bad.message),
            Err(panic) => Err(panic),
        }
    }

    fn apply(&mut self, staged: Staged, records: &[Ready], run: &mut Run) {
        let store = Rc::make_mut(&mut self.store);
        let InputBatch { keys, slots: of_rows, .. } = batch(records, &self.descriptor, self.clocks);
        let looks = Looks::new(records, &of_rows, &keys, self.clocks);
        for (state, writes) in &staged.writes {
            let ttl = self.descriptor.states.iter().find(|declared| declared.id == *state).and_then(|found| found.ttl);
            for (index, &slot) in writes.slots.iter().enumerate() {
                let entry = writes.entry_keys.as_ref().map_or(&[][..], |entries| entries.get(index));
                let key = keys.get(slot as usize);
                let row = writes.rows.get(index).and_then(|&row| records.get(row as usize)).map(time);
                let old = store.get(*state, key, entry).map(|(_, written)| written);
                let written = looks.write_time(ttl, slot, row, old);
                store.put(*state, key, entry, writes.values.get(index), written);
            }
        }
        records.iter().for_each(|record| self.timers.gone(record));
        for (clock, set, slots, times) in &staged.timers {
            for (&slot, &at) in slots.iter().zip(times) {
                let by = records.iter().zip(&of_rows).find(|(_, of)| **of == slot).and_then(|(by, _)| by.timer);
                let (key, at) = (keys.get(slot as usize), Timestamp::from_millis(at));
                if *set { self.timers.set(*clock, key, at, by) } else { self.timers.cancel(*clock, key, at) }
            }
        }
        for (metric, amount) in staged.metrics {
            let declared = self.descriptor.metrics.get(usize::from(metric)).expect("the call was checked");
            let shown = self.metrics.entry(declared.name.clone()).or_default();
            *shown = if declared.kind == MetricKind::Counter { *shown + amount } else { amount };
        }
        for (level, row, message) in staged.logs {
            let index = row.and_then(|row| records.get(row as usize)).map(|ready| ready.index);
            run.logs.push(LogLine { level, index, message });
        }
        for (output, port) in self.descriptor.outputs.iter().enumerate() {
            let of_port = staged.emits.iter().filter(|(to, _)| usize::from(*to) == output);
            let mut sent: Vec<_> = of_port.flat_map(|(_, emit)| emitted::sent(port, emit, records)).collect();
            // By row, and for one row in the order of the calls.
            sent.sort_by_key(crate::testing::Emitted::index);
            run.outputs.entry(port.name.clone()).or_default().extend(sent);
        }
    }
}
