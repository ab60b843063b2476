//! What a function says of itself.

use serde::{Deserialize, Serialize};

use crate::bindings::types::{Clock, FieldKind, MetricKind, Refresh, StateKind};
use crate::prelude::*;
use crate::testing::Harness;

#[derive(Fields)]
struct Order<'a> {
    #[field("/customer/id")]
    customer: &'a str,
    amount: f64,
    placed: Timestamp,
    note: Option<&'a str>,
    raw: RawJson<'a>,
}

#[derive(Serialize, Deserialize, Schema, Default)]
struct Total {
    cents: i64,
}

#[tidegate::function(headers)]
struct Everything {
    #[state(ttl = "7d", clock = "processing-time", refresh = "on-create", version = 3)]
    total: Value<Total>,
    #[state(ttl = "1m")]
    recent: List<u32>,
    #[state(name = "by_note")]
    notes: Map<String, bool>,
    #[output]
    late: Output<Forward>,
    #[output(name = "big-ones")]
    big: Output<Fields<Order<'static>>>,
    #[metric]
    orders: Count,
    #[metric(name = "last_amount")]
    last: Gauge,
    #[scratch]
    buffer: Vec<u8>,
}

impl Keyed for Everything {
    type In = Fields<Order<'static>>;
    type Out = Json<Total>;

    fn on_record(&mut self, order: Order<'_>, _: &mut Context<Self>) -> Result {
        self.buffer.extend_from_slice(order.raw.text().as_bytes());
        self.last.set(order.amount);
        self.orders.add(u64::from(order.placed.millis() > 0));
        if self.total.get()?.is_some() {
            self.recent.push(1)?;
            self.notes.set(order.note.unwrap_or(order.customer), true);
            self.late.forward();
            self.big.emit(&order);
        }
        Ok(())
    }
}

#[test]
fn fields_are_described_with_path_kind_and_whether_they_are_required() {
    let harness = Harness::<Everything>::new();
    let fields: Vec<_> = harness.descriptor().inputs[0]
        .fields
        .iter()
        .map(|field| (field.name.as_str(), field.path.as_str(), field.kind, field.required))
        .collect();
    let expected = [
        ("customer", "/customer/id", FieldKind::Text, true),
        ("amount", "/amount", FieldKind::Float, true),
        ("placed", "/placed", FieldKind::Timestamp, true),
        ("note", "/note", FieldKind::Text, false),
        ("raw", "/raw", FieldKind::Json, true),
    ];
    assert_eq!(fields, expected);
}

#[test]
fn outputs_and_metrics_are_numbered_in_order_after_the_main_output() {
    let harness = Harness::<Everything>::new();
    let descriptor = harness.descriptor();
    let outputs: Vec<_> = descriptor.outputs.iter().map(|port| (port.id, port.name.as_str())).collect();
    assert_eq!(outputs, [(0, "main"), (1, "late"), (2, "big-ones")]);
    assert!(descriptor.outputs[0].schema.as_ref().unwrap().contains(r#""title":"Total""#));
    assert_eq!(descriptor.outputs[2].fields.len(), 5);
    let metrics: Vec<_> = descriptor.metrics.iter().map(|metric| (metric.name.as_str(), metric.kind)).collect();
    assert_eq!(metrics, [("orders", MetricKind::Counter), ("last_amount", MetricKind::Gauge)]);
}

#[test]
fn states_are_described_with_number_kind_version_and_time_to_live() {
    let harness = Harness::<Everything>::new();
    let states = &harness.descriptor().states;
    let names: Vec<_> = states.iter().map(|state| (state.id, state.name.as_str(), state.kind, state.version)).collect();
    let expected = [
        (0, "total", StateKind::Value, 3),
        (1, "recent", StateKind::Appended, 1),
        (2, "recent-bounds", StateKind::Value, 1),
        (3, "by_note", StateKind::MapEntries, 1),
    ];
    assert_eq!(names, expected);
    let ttl = states[0].ttl.unwrap();
    assert_eq!((ttl.millis, ttl.clock, ttl.refresh), (604_800_000, Clock::ProcessingTime, Refresh::OnCreate));
    let ttl = states[1].ttl.unwrap();
    assert_eq!((ttl.millis, ttl.clock, ttl.refresh), (60_000, Clock::EventTime, Refresh::OnWrite));
    assert!(states[3].ttl.is_none());
}

#[test]
fn only_what_is_needed_crosses() {
    let harness = Harness::<Everything>::new();
    let descriptor = harness.descriptor();
    assert!(descriptor.keyed && descriptor.wants_headers);
    assert!(!descriptor.wants_values && !descriptor.assigns);
}

#[tidegate::function]
struct Lines {
    #[output]
    rest: Output<Utf8>,
}

impl Keyed for Lines {
    type In = Json<String>;
    type Out = Utf8;

    fn on_record(&mut self, line: String, ctx: &mut Context<Self>) -> Result {
        ctx.emit(&line);
        self.rest.emit(&line);
        Ok(())
    }
}

#[test]
fn an_output_of_text_has_no_schema_because_its_records_are_no_json() {
    let harness = Harness::<Lines>::new();
    let schemas: Vec<_> = harness.descriptor().outputs.iter().map(|port| port.schema.as_deref()).collect();
    assert_eq!(schemas, [None, None]);
}

#[tidegate::function]
struct RefreshedOnCreate {
    #[state(ttl = "1m", refresh = "on-create")]
    list: List<u32>,
}

impl Keyed for RefreshedOnCreate {
    type In = Bytes;
    type Out = ();

    fn on_record(&mut self, _: &[u8], _: &mut Context<Self>) -> Result {
        self.list.push(1)
    }
}

#[test]
fn the_bounds_of_a_list_outlive_its_newest_entry() {
    let harness = Harness::<RefreshedOnCreate>::new();
    let [list, bounds] = harness.descriptor().states.as_slice() else { panic!("a list is two states") };
    assert_eq!(list.ttl.unwrap().refresh, Refresh::OnCreate);
    assert_eq!(bounds.ttl.unwrap().refresh, Refresh::OnWrite);
    assert!(harness.descriptor().wants_values && harness.descriptor().outputs.is_empty());
}
