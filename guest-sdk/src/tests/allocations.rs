//! Nothing is allocated per record on the way of the commonest functions.

use allocation_counter::measure;

use crate::bindings::state::Writes;
use crate::bindings::telemetry::Level;
use crate::bindings::types::{Cells, Clock, Column, FieldColumn, InputBatch, OptionalColumn, OutputBatch, Task};
use crate::function::Operator;
use crate::glue::Runner;
use crate::host::{self, Host};
use crate::prelude::*;

/// Allocations of a batch that do not depend on its rows: what the host passes in, and tables that grow.
const PER_BATCH: u64 = 16;

const ROWS: u32 = 4096;

/// Lets each key through once.
#[tidegate::function]
struct ByKey {
    #[state]
    seen: Value<bool>,
    #[metric]
    duplicates: Count,
}

impl Keyed for ByKey {
    type In = KeyOnly;
    type Out = Forward;

    fn on_record(&mut self, _: (), cx: &mut Context<Self>) -> Result {
        if self.seen.get()?.is_none() {
            self.seen.set(true);
            cx.forward();
        } else {
            self.duplicates.add(1);
        }
        Ok(())
    }
}

#[derive(Fields)]
struct Order<'a> {
    customer: &'a str,
    amount: f64,
    note: Option<&'a str>,
}

/// The same, with a look at fields, and records of its own on the way out.
#[tidegate::function]
struct ByFields {
    #[state]
    seen: Value<bool>,
    #[output]
    noted: Output<Fields<Order<'static>>>,
}

impl Keyed for ByFields {
    type In = Fields<Order<'static>>;
    type Out = Forward;

    fn on_record(&mut self, order: Order<'_>, cx: &mut Context<Self>) -> Result {
        if self.seen.get()?.is_none() && order.amount > 0.0 {
            self.seen.set(true);
            cx.forward();
        }
        if order.note.is_some() {
            self.noted.emit(&order);
        }
        Ok(())
    }
}

/// A host that holds nothing and forgets everything, and so allocates only what it returns.
struct EmptyHost {
    slots: usize,
}

impl Host for EmptyHost {
    fn load(&mut self, _: u16) -> OptionalColumn {
        OptionalColumn { present: vec![0; self.slots], items: Column { bytes: Vec::new(), ends: vec![0; self.slots] } }
    }
    fn load_entries(&mut self, _: u16, _: &[u32], _: &Column) -> OptionalColumn {
        unreachable!("no function here has entries")
    }
    fn scan(&mut self, _: u16, _: u32, _: Option<&[u8]>, _: u32) -> (Column, Column) {
        unreachable!("no function here has entries")
    }
    fn store(&mut self, _: u16, writes: &Writes) {
        assert_eq!(writes.slots.len(), self.slots);
    }
    fn set_timers(&mut self, _: Clock, _: bool, _: &[u32], _: &[i64]) {
        unreachable!("no function here sets timers")
    }
    fn forward(&mut self, _: u16, rows: &[u32]) {
        assert_eq!(rows.len(), self.slots);
    }
    fn push(&mut self, _: u16, batch: &OutputBatch) {
        assert!(!batch.rows.is_empty());
    }
    fn log(&mut self, _: Level, _: Option<u32>, _: &str) {}
    fn add(&mut self, _: u16, _: f64) {}
    fn set(&mut self, _: u16, _: f64) {}
}

/// Every key twice.
fn batch() -> InputBatch {
    let customers: Column = (0..ROWS).map(|row| format!("customer {row}")).collect();
    let notes: Column = (0..ROWS).map(|row| if row % 2 == 0 { "" } else { "a note" }).collect();
    InputBatch {
        input: 0,
        kinds: Vec::new(),
        slots: (0..ROWS).map(|row| row / 2).collect(),
        keys: (0..ROWS / 2).map(|slot| format!("key {slot}")).collect(),
        values: OptionalColumn::new(),
        fields: vec![
            FieldColumn { present: Vec::new(), cells: Cells::Texts(customers) },
            FieldColumn { present: Vec::new(), cells: Cells::Floats(vec![1.5; ROWS as usize]) },
            FieldColumn { present: (0..ROWS).map(|row| u8::from(row % 2 == 1)).collect(), cells: Cells::Texts(notes) },
        ],
        timestamps: vec![0; ROWS as usize],
        headers: None,
        watermark: 0,
        now: 0,
    }
}

/// Allocations of the third batch that an instance handles.
fn allocations<F: Operator<K>, K>() -> u64 {
    let task = Task { job: String::new(), operator: String::new(), subtask: 0, parallelism: 1, config: String::new() };
    let batch = batch();
    host::exchange(Some(Box::new(EmptyHost { slots: ROWS as usize / 2 })));
    let mut runner = Runner::<F>::open(&task).unwrap();
    for _ in 0..2 {
        runner.process(&batch).unwrap();
    }
    let counted = measure(|| runner.process(&batch).unwrap());
    host::exchange(None);
    counted.count_total
}

#[test]
fn a_dedup_by_key_allocates_nothing_per_record() {
    let counted = allocations::<ByKey, _>();
    assert!(counted <= PER_BATCH, "{counted} allocations for {ROWS} records");
}

#[test]
fn reading_and_emitting_fields_allocates_nothing_per_record() {
    let counted = allocations::<ByFields, _>();
    assert!(counted <= PER_BATCH, "{counted} allocations for {ROWS} records");
}
