//! The doubles keep the promises of their seams.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use contract::doubles::{self, MemoryItem, MemoryRecord, MemorySink, MemorySource};
use contract::{Source, compliance};
use model::HostTime;

#[test]
fn the_sorted_map_keeps_the_promises_of_keyed_state() {
    compliance::state::check(&doubles::MapBackend);
}

#[test]
fn the_manual_clock_keeps_every_promise() {
    compliance::clock::check(&doubles::ManualClock::new(HostTime(0)));
}

#[test]
fn the_source_in_memory_keeps_every_promise() {
    compliance::source::check(&|| {
        let record = |text: &str| MemoryItem::Record(MemoryRecord::new(text));
        let source = MemorySource::of_values((0..20).map(|number| format!("value {number}")));
        let mixed =
            [record("one"), MemoryItem::Rejected("?".to_owned()), MemoryItem::Idle(Duration::ZERO), record("two")];
        Box::new(source.with_split(mixed).with_split([]))
    });
}

#[test]
fn a_source_in_memory_of_another_identity_is_refused() {
    let of = |identity: &'static str| -> Box<dyn Source> {
        Box::new(MemorySource::of_values(["one", "two"]).with_identity(identity))
    };
    compliance::source::check_another_is_refused(&|| of("the first"), &|| of("the second"));
}

#[test]
fn a_source_in_memory_may_grow() {
    let length = Arc::new(AtomicU64::new(5));
    let make = || -> Box<dyn Source> {
        let length = Arc::clone(&length);
        let item = move |index: u64| {
            let record = || MemoryItem::Record(MemoryRecord::new(format!("value {index}")));
            (index < length.load(Ordering::SeqCst)).then(record)
        };
        Box::new(MemorySource::default().with_items(item))
    };
    compliance::source::check_growing(&make, &|| length.store(9, Ordering::SeqCst));
}

#[test]
fn the_sink_in_memory_keeps_every_promise() {
    compliance::sink::check(&|| {
        let sink = MemorySink::default();
        let target = sink.clone();
        let target = move || target.texts().into_iter().map(String::into_bytes).collect();
        compliance::sink::Trial { sink: Box::new(sink), target: Box::new(target) }
    });
}

#[test]
fn the_exactly_once_sink_in_memory_keeps_every_promise() {
    compliance::staging::check(&|| {
        let sink = MemorySink::default().exactly_once();
        let (target, filled) = (sink.clone(), sink.clone());
        compliance::staging::Trial {
            start: Box::new(move || Box::new(sink.clone())),
            visible: Box::new(move || target.texts().into_iter().map(String::into_bytes).collect()),
            fill: Box::new(move |is_full| filled.fill(is_full)),
        }
    });
}

#[test]
fn a_failure_of_the_sink_in_memory_stands() {
    let failing = [
        MemorySink::default().failing_after(0, "the disk is full"),
        MemorySink::default().failing_to_close("the disk is gone"),
    ];
    for sink in failing {
        compliance::sink::check_failing(&|| (Box::new(sink.clone()), Box::new(())));
    }
}

#[test]
fn the_probe_keeps_every_promise() {
    compliance::function::check(&doubles::probe());
}
