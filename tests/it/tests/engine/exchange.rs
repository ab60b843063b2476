//! However many subtasks there are, a key has one of them, in order.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use contract::Emit;
use contract::doubles::{ClosureFactory, MemoryItem, MemoryRecord, MemorySink, MemorySource};
use format::Format;
use model::job::KeySpec;
use model::{Descriptor, FieldKind, OutputId, Parallelism};
use protocol::key_group;

use crate::support::{Job, dedup, descriptor, field, port_with, sorted, values};

/// JSON records with a key of `keys`, numbered.
fn keyed(count: usize, keys: usize) -> Vec<String> {
    (0..count).map(|number| format!(r#"{{"k":"key-{}","n":{number}}}"#, number * 7919 % keys)).collect()
}

fn key_of(text: &str) -> String {
    serde_json::from_str::<serde_json::Value>(text).unwrap()["k"].as_str().unwrap().to_owned()
}

/// Forwards everything, keyed, and looks at how the batch is keyed.
fn keyed_pass() -> ClosureFactory {
    let mut descriptor = Descriptor { keyed: true, ..descriptor(&["out"]) };
    descriptor.inputs = vec![port_with(0, "in", vec![field("n", "/n", FieldKind::Integer, true)])];
    ClosureFactory::new(descriptor, |turn| {
        let batch = &turn.batch;
        assert_eq!(batch.slots.len(), batch.records.len());
        assert_eq!(batch.keys.hashes.len(), batch.keys.keys.len());
        for (row, &slot) in batch.slots.iter().enumerate() {
            let key = batch.keys.keys.get(slot as usize);
            let value = str::from_utf8(batch.records.values.get(row).unwrap()).unwrap();
            assert_eq!(str::from_utf8(key).unwrap(), key_of(value));
            assert_eq!(batch.keys.hashes[slot as usize], key_group::hash(key));
        }
        let rows = (0..u32::try_from(batch.records.len()).unwrap()).collect();
        turn.staged.emits.push(Emit::Forward { output: OutputId(0), rows });
        Ok(())
    })
}

#[test]
fn any_parallelism_gives_the_same_records_and_the_same_order_per_key() {
    let input = keyed(5_000, 97);
    for parallelism in [1, 2, 3] {
        let sink = MemorySink::default();
        Job::new()
            .source_node("orders", values(input.clone()), |node| node.format = Format::Json)
            .function("pass", &["orders"], keyed_pass(), |node| {
                node.key = Some(KeySpec::Field("/k".to_owned()));
                node.parallelism = Parallelism(parallelism);
            })
            .sink_node("out", &["pass"], sink.clone(), |node| node.parallelism = Parallelism(parallelism))
            .batch_rows(512)
            .finish();
        let texts = sink.texts();
        assert_eq!(sorted(texts.clone()), sorted(input.clone()), "parallelism {parallelism}");
        let mut last: BTreeMap<String, i64> = BTreeMap::new();
        for text in &texts {
            let number = serde_json::from_str::<serde_json::Value>(text).unwrap()["n"].as_i64().unwrap();
            let before = last.insert(key_of(text), number);
            assert!(before < Some(number), "parallelism {parallelism}: {number} after {before:?}");
        }
    }
}

#[test]
fn all_records_of_a_key_meet_in_one_subtask() {
    let sink = MemorySink::default();
    Job::new()
        .source_node("orders", values(keyed(3_000, 50)), |node| node.format = Format::Json)
        .function("pass", &["orders"], keyed_pass(), |node| {
            node.key = Some(KeySpec::Field("/k".to_owned()));
            node.parallelism = Parallelism(3);
        })
        .sink_node("out", &["pass"], sink.clone(), |node| node.parallelism = Parallelism(3))
        .finish();
    let mut owners: BTreeMap<String, u32> = BTreeMap::new();
    for record in sink.records() {
        let owner = owners.entry(key_of(&record.text())).or_insert(record.subtask.0);
        assert_eq!(*owner, record.subtask.0);
    }
    let used: std::collections::BTreeSet<u32> = owners.into_values().collect();
    assert_eq!(used.len(), 3);
}

#[test]
fn state_gives_the_same_verdicts_for_any_parallelism_and_any_batch_size() {
    let input: Vec<String> = (0..4_000).map(|number| format!("value-{}", number * 7919 % 1_500)).collect();
    let mut expected = input.clone();
    expected.sort();
    expected.dedup();
    for (sources, parallelism, rows) in [(1, 1, 4096), (1, 2, 7), (2, 3, 512), (3, 1, 1), (1, 3, 4096)] {
        let sink = MemorySink::default();
        let thirds = input.chunks(1_334).map(|part| {
            part.iter().map(|value| MemoryItem::Record(MemoryRecord::new(value.as_str()))).collect::<Vec<_>>()
        });
        let source = thirds.fold(MemorySource::default(), MemorySource::with_split);
        let summary = Job::new()
            .source_node("lines", source, |node| node.parallelism = Parallelism(sources))
            .function("dedup", &["lines"], dedup(), |node| node.parallelism = Parallelism(parallelism))
            .sink("out", &["dedup"], sink.clone())
            .batch_rows(rows)
            .finish();
        assert_eq!(sorted(sink.texts()), expected, "{sources} {parallelism} {rows}");
        let dedup = summary.operator("dedup").unwrap();
        assert!((dedup.counters["seen"] - 2_500.0).abs() < f64::EPSILON);
        assert_eq!(dedup.state.live_entries, 1_500);
        assert_eq!(summary.positions.len(), 3);
    }
}

#[test]
fn a_record_key_and_a_whole_value_partition_too() {
    for key in [KeySpec::RecordKey, KeySpec::WholeValue] {
        let sink = MemorySink::default();
        let items = (0..900).map(|number| {
            let value = format!("{}", number % 300);
            MemoryItem::Record(MemoryRecord::new(value.as_str()).with_key(value.as_str()))
        });
        Job::new()
            .source("lines", MemorySource::default().with_split(items))
            .function("dedup", &["lines"], dedup(), |node| {
                node.key = Some(key);
                node.parallelism = Parallelism(2);
            })
            .sink("out", &["dedup"], sink.clone())
            .finish();
        assert_eq!(sink.texts().len(), 300);
    }
}

#[test]
fn small_batches_are_gathered_before_they_cross() {
    let sizes = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&sizes);
    let mut descriptor = Descriptor { keyed: true, ..descriptor(&["out"]) };
    descriptor.wants_values = true;
    let look = ClosureFactory::new(descriptor, move |turn| {
        seen.lock().unwrap().push(turn.batch.records.len());
        Ok(())
    });
    // The clock stands still and the source is never idle, so age and idleness close nothing.
    Job::new()
        .source("lines", values(crate::support::numbered("a", 20_000)).with_max_rows(16))
        .function("look", &["lines"], look, |node| node.parallelism = Parallelism(2))
        .finish();
    let sizes = sizes.lock().unwrap();
    assert_eq!(sizes.iter().sum::<usize>(), 20_000);
    assert!(sizes.len() <= 8, "{} batches: {sizes:?}", sizes.len());
}
