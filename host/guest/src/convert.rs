//! Between the nouns of `model` and `contract` and the types of the world. Columns are moved or
//! borrowed, never copied.

use contract::{RowKind, Task};
use model::{
    Cells, Column, Descriptor, FieldColumn, FieldKind, FieldSpec, Headers, MetricDescriptor, MetricKind,
    OptionalColumn, PortDescriptor, Refresh, StateDescriptor, StateId, StateKind, Ttl, TtlClock,
};

use crate::bindings::tidegate::flow::types as wit;

pub(crate) fn column_out(column: Column) -> wit::ColumnResult {
    let (bytes, ends) = column.into_parts();
    wit::ColumnResult { bytes, ends }
}

pub(crate) fn optional_out(column: OptionalColumn) -> wit::OptionalColumnResult {
    let (present, items) = column.into_parts();
    wit::OptionalColumnResult { present, items: column_out(items) }
}

pub(crate) fn column(column: &Column) -> wit::ColumnParam<'_> {
    wit::ColumnParam { bytes: column.bytes(), ends: column.ends() }
}

pub(crate) fn optional(column: &OptionalColumn) -> wit::OptionalColumnParam<'_> {
    wit::OptionalColumnParam { present: column.present(), items: self::column(column.items()) }
}

pub(crate) fn field(field: &FieldColumn) -> wit::FieldColumnParam<'_> {
    let cells = match &field.cells {
        Cells::Texts(cells) => wit::CellsParam::Texts(column(cells)),
        Cells::Integers(cells) => wit::CellsParam::Integers(cells),
        Cells::Floats(cells) => wit::CellsParam::Floats(cells),
        Cells::Booleans(cells) => wit::CellsParam::Booleans(cells),
    };
    wit::FieldColumnParam { present: &field.present, cells }
}

pub(crate) fn headers(headers: &Headers) -> wit::HeadersParam<'_> {
    wit::HeadersParam { owners: &headers.owners, names: column(&headers.names), values: optional(&headers.values) }
}

pub(crate) fn row_kind(kind: RowKind) -> wit::RowKind {
    match kind {
        RowKind::Entry => wit::RowKind::Entry,
        RowKind::EventTimer => wit::RowKind::EventTimer,
        RowKind::ProcessingTimer => wit::RowKind::ProcessingTimer,
    }
}

pub(crate) fn task(task: &Task) -> wit::Task<'_> {
    wit::Task {
        job: task.job.as_str(),
        operator: task.operator.as_str(),
        subtask: task.subtask.0,
        parallelism: task.parallelism.0,
        config: &task.config,
    }
}

pub(crate) fn descriptor(descriptor: wit::Descriptor) -> Descriptor {
    Descriptor {
        inputs: descriptor.inputs.into_iter().map(port).collect(),
        outputs: descriptor.outputs.into_iter().map(port).collect(),
        states: descriptor.states.into_iter().map(state).collect(),
        keyed: descriptor.keyed,
        wants_values: descriptor.wants_values,
        wants_headers: descriptor.wants_headers,
        assigns: descriptor.assigns,
        timers: descriptor.timers,
        metrics: descriptor.metrics.into_iter().map(metric).collect(),
    }
}

fn port(port: wit::PortDescriptor) -> PortDescriptor {
    let field = |field: wit::Field| FieldSpec {
        name: field.name,
        path: field.path,
        kind: field_kind(field.kind),
        required: field.required,
    };
    PortDescriptor {
        id: port.id,
        name: port.name,
        fields: port.fields.into_iter().map(field).collect(),
        schema: port.schema,
    }
}

fn field_kind(kind: wit::FieldKind) -> FieldKind {
    match kind {
        wit::FieldKind::Text => FieldKind::Text,
        wit::FieldKind::Integer => FieldKind::Integer,
        wit::FieldKind::Float => FieldKind::Float,
        wit::FieldKind::Boolean => FieldKind::Boolean,
        wit::FieldKind::Timestamp => FieldKind::Timestamp,
        wit::FieldKind::Json => FieldKind::Json,
    }
}

fn state(state: wit::StateDescriptor) -> StateDescriptor {
    let kind = match state.kind {
        wit::StateKind::Value => StateKind::Value,
        wit::StateKind::MapEntries => StateKind::MapEntries,
        wit::StateKind::Appended => StateKind::Appended,
    };
    StateDescriptor {
        id: StateId(state.id),
        name: state.name,
        kind,
        schema: state.schema,
        version: state.version,
        ttl: state.ttl.map(ttl),
    }
}

fn ttl(ttl: wit::Ttl) -> Ttl {
    let clock = match ttl.clock {
        wit::Clock::EventTime => TtlClock::EventTime,
        wit::Clock::ProcessingTime => TtlClock::ProcessingTime,
    };
    let refresh = match ttl.refresh {
        wit::Refresh::OnCreate => Refresh::OnCreate,
        wit::Refresh::OnWrite => Refresh::OnWrite,
        wit::Refresh::OnRead => Refresh::OnRead,
    };
    Ttl { millis: ttl.millis, clock, refresh }
}

fn metric(metric: wit::MetricDescriptor) -> MetricDescriptor {
    let kind = match metric.kind {
        wit::MetricKind::Counter => MetricKind::Counter,
        wit::MetricKind::Gauge => MetricKind::Gauge,
    };
    MetricDescriptor { name: metric.name, kind }
}
