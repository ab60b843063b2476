//! What every guest of this folder has: the bindings, a function that does nothing, and a macro that
//! makes a component of the parts that a guest wants otherwise.

/// The world, as wit-bindgen makes it.
pub mod bindings {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "operator",
        pub_export_macro: true,
        default_bindings_module: "testkit::bindings",
        export_macro_name: "export_operator",
    });
}

use std::sync::Once;

pub use bindings::exports::tidegate::flow::function::Guest;
pub use bindings::tidegate::flow::types::*;
pub use bindings::tidegate::flow::{emit, state, telemetry, timers};

/// Stops abnormally, as a division by zero does.
pub fn trap() -> ! {
    #[cfg(target_arch = "wasm32")]
    core::arch::wasm32::unreachable();
    #[cfg(not(target_arch = "wasm32"))]
    unreachable!("a guest runs in the sandbox alone")
}

/// Asks for so many more pages of memory: how many there were, or `usize::MAX` where it is refused.
pub fn grow_memory(pages: usize) -> usize {
    #[cfg(target_arch = "wasm32")]
    return core::arch::wasm32::memory_grow::<0>(pages);
    #[cfg(not(target_arch = "wasm32"))]
    unreachable!("a guest runs in the sandbox alone, and asks for {pages} pages there")
}

/// A descriptor with one input and one output, called `in` and `out`.
pub fn unkeyed() -> Descriptor {
    Descriptor {
        inputs: vec![port(0, "in", Vec::new())],
        outputs: vec![port(0, "out", Vec::new())],
        states: Vec::new(),
        keyed: false,
        wants_values: true,
        wants_headers: false,
        assigns: false,
        timers: false,
        metrics: vec![
            MetricDescriptor { name: "seen".into(), kind: MetricKind::Counter },
            MetricDescriptor { name: "level".into(), kind: MetricKind::Gauge },
        ],
    }
}

/// As [`unkeyed`], with the states `seen` (0, a value) and `entries` (1, a map).
pub fn keyed() -> Descriptor {
    let state = |id, name: &str, kind| StateDescriptor {
        id,
        name: name.into(),
        kind,
        schema: "{}".into(),
        version: 1,
        ttl: None,
    };
    let states = vec![state(0, "seen", StateKind::Value), state(1, "entries", StateKind::MapEntries)];
    Descriptor { keyed: true, states, ..unkeyed() }
}

pub fn port(id: u16, name: &str, fields: Vec<Field>) -> PortDescriptor {
    PortDescriptor { id, name: name.into(), fields, schema: None }
}

pub fn field(name: &str, kind: FieldKind) -> Field {
    Field { name: name.into(), path: format!("/{name}"), kind, required: true }
}

/// A column of `items`.
pub fn column<T: AsRef<[u8]>>(items: impl IntoIterator<Item = T>) -> Column {
    let mut column = Column { bytes: Vec::new(), ends: Vec::new() };
    for item in items {
        column.bytes.extend_from_slice(item.as_ref());
        column.ends.push(column.bytes.len() as u32);
    }
    column
}

/// A column in which every item exists.
pub fn present(items: Column) -> OptionalColumn {
    OptionalColumn { present: Vec::new(), items }
}

pub fn nothing() -> OptionalColumn {
    present(column::<&[u8]>([]))
}

/// Records caused by `rows`, with values and nothing else.
pub fn records<T: AsRef<[u8]>>(rows: Vec<u32>, values: impl IntoIterator<Item = T>) -> OutputBatch {
    OutputBatch {
        rows,
        keys: None,
        values: present(column(values)),
        fields: Vec::new(),
        timestamps: Vec::new(),
        headers: None,
    }
}

/// Records caused by `rows`, with fields and nothing else.
pub fn typed(rows: Vec<u32>, fields: Vec<FieldColumn>) -> OutputBatch {
    OutputBatch { rows, keys: None, values: nothing(), fields, timestamps: Vec::new(), headers: None }
}

/// Item `index` of a column.
pub fn item(column: &Column, index: usize) -> &[u8] {
    let start = if index == 0 { 0 } else { column.ends[index - 1] as usize };
    &column.bytes[start..column.ends[index] as usize]
}

pub fn rows(batch: &InputBatch) -> Vec<u32> {
    (0..batch.timestamps.len() as u32).collect()
}

/// Whether a value of the batch is `text`: how a test asks a guest to misbehave.
pub fn asks_for(batch: &InputBatch, text: &str) -> Option<u32> {
    (0..batch.values.items.ends.len())
        .find(|&row| item(&batch.values.items, row) == text.as_bytes())
        .map(|row| row as u32)
}

/// Sends panics to the host as the text of the trap that follows.
pub fn report_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| std::panic::set_hook(Box::new(|info| telemetry::panic(&info.to_string()))));
}

/// A function of which a guest changes what it wants.
pub trait Behaviour {
    fn describe() -> Descriptor {
        unkeyed()
    }
    fn open(_: Task) -> Result<(), String> {
        Ok(())
    }
    fn assign(values: OptionalColumn) -> Result<(OptionalColumn, Vec<i64>), BadRecord> {
        let times = vec![0; values.items.ends.len()];
        Ok((values, times))
    }
    fn process(batch: InputBatch) -> Result<(), BadRecord> {
        emit::forward(0, &rows(&batch));
        Ok(())
    }
    fn migrate(_: u16, _: u32, values: Column) -> Result<Column, String> {
        Ok(values)
    }
}

/// Makes a component of a [`Behaviour`].
pub struct Exports<B>(std::marker::PhantomData<B>);

impl<B: Behaviour> Guest for Exports<B> {
    fn describe() -> Descriptor {
        report_panics();
        B::describe()
    }
    fn open(task: Task) -> Result<(), String> {
        report_panics();
        B::open(task)
    }
    fn assign(values: OptionalColumn) -> Result<(OptionalColumn, Vec<i64>), BadRecord> {
        B::assign(values)
    }
    fn process(batch: InputBatch) -> Result<(), BadRecord> {
        B::process(batch)
    }
    fn migrate(state: u16, from_version: u32, values: Column) -> Result<Column, String> {
        B::migrate(state, from_version, values)
    }
}

/// Exports a type that is a [`Behaviour`].
#[macro_export]
macro_rules! export {
    ($behaviour:ty) => {
        type Exported = $crate::Exports<$behaviour>;
        $crate::bindings::export_operator!(Exported with_types_in $crate::bindings);
    };
}
