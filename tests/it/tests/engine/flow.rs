//! Records take every way that the graph draws, once, in order.

use contract::doubles::{MemoryItem, MemoryRecord, MemorySink, MemorySource};
use model::{EventTime, FieldKind, Parallelism};
use runtime::Outcome;

use crate::support::{
    Job, Out, descriptor, field, numbered, pass, per_record, port_with, push_fields, record, sorted, values,
};

#[test]
fn records_flow_from_source_through_function_to_sink() {
    let sink = MemorySink::default();
    let job = Job::new()
        .source("lines", values(numbered("a", 10_000)))
        .function("pass", &["lines"], pass(), |_| ())
        .sink("out", &["pass"], sink.clone());
    let summary = job.finish();
    assert_eq!(sink.texts(), numbered("a", 10_000));
    assert_eq!(summary.outcome, Outcome::Finished);
    let pass = summary.operator("pass").unwrap();
    assert_eq!((pass.records_in, pass.records_out, pass.outputs["out"]), (10_000, 10_000, 10_000));
    assert_eq!(pass.bytes_in, summary.operator("out").unwrap().bytes_in);
    assert_eq!(summary.positions[0].position.0, 10_000);
    assert_eq!(sink.opened_and_closed(), (1, 1));
}

#[test]
fn a_job_without_functions_copies_its_source() {
    let sink = MemorySink::default();
    Job::new().source("lines", values(numbered("a", 100))).sink("out", &["lines"], sink.clone()).finish();
    assert_eq!(sink.texts(), numbered("a", 100));
}

#[test]
fn an_empty_source_is_an_empty_result() {
    let sink = MemorySink::default();
    let summary = Job::new().source("lines", values::<&str>([])).sink("out", &["lines"], sink.clone()).finish();
    assert_eq!(summary.outcome, Outcome::Finished);
    assert_eq!(sink.opened_and_closed(), (1, 1));
    assert!(sink.records().is_empty());
}

#[test]
fn fan_out_gives_every_consumer_every_record() {
    let sinks = [MemorySink::default(), MemorySink::default(), MemorySink::default()];
    Job::new()
        .source("lines", values(numbered("a", 500)))
        .function("pass", &["lines"], pass(), |_| ())
        .sink("one", &["lines"], sinks[0].clone())
        .sink("two", &["pass"], sinks[1].clone())
        .sink("three", &["pass"], sinks[2].clone())
        .finish();
    for sink in sinks {
        assert_eq!(sink.texts(), numbered("a", 500));
    }
}

#[test]
fn fan_in_gathers_every_source_in_its_own_order() {
    let sink = MemorySink::default();
    Job::new()
        .source("left", values(numbered("l", 3_000)))
        .source("right", values(numbered("r", 3_000)))
        .function("pass", &["left", "right"], pass(), |_| ())
        .sink("out", &["pass"], sink.clone())
        .batch_rows(64)
        .finish();
    let of = |prefix: &str| sink.texts().into_iter().filter(|text| text.starts_with(prefix)).collect::<Vec<_>>();
    assert_eq!(of("l-"), numbered("l", 3_000));
    assert_eq!(of("r-"), numbered("r", 3_000));
    assert_eq!(sink.texts().len(), 6_000);
}

#[test]
fn ways_that_part_and_meet_again_deliver_twice() {
    let sink = MemorySink::default();
    Job::new()
        .source("lines", values(numbered("a", 1_000)))
        .function("left", &["lines"], pass(), |_| ())
        .function("right", &["lines"], pass(), |node| node.parallelism = Parallelism(2))
        .sink("out", &["left", "right"], sink.clone())
        .finish();
    let twice = numbered("a", 1_000).into_iter().flat_map(|text| [text.clone(), text]).collect();
    assert_eq!(sorted(sink.texts()), sorted(twice));
}

#[test]
fn outputs_have_their_own_readers_and_an_unread_one_is_counted() {
    let (even, odd) = (MemorySink::default(), MemorySink::default());
    let split = per_record(descriptor(&["even", "odd", "unread"]), |record| {
        Ok(vec![Out::Forward(u16::from(record.row % 2 == 1)), Out::Push(2, "unread".to_owned())])
    });
    let summary = Job::new()
        .source("lines", values(numbered("a", 10)))
        .function("split", &["lines"], split, |_| ())
        .sink("evens", &["split.even"], even.clone())
        .sink("odds", &["split.odd"], odd.clone())
        .finish();
    assert_eq!(even.texts(), ["a-0", "a-2", "a-4", "a-6", "a-8"]);
    assert_eq!(odd.texts(), ["a-1", "a-3", "a-5", "a-7", "a-9"]);
    assert_eq!(summary.operator("split").unwrap().outputs["unread"], 10);
}

#[test]
fn forwards_and_pushes_leave_by_row_and_then_by_call() {
    let sink = MemorySink::default();
    // Emits row by row in three shapes: nothing, itself between two new ones, itself alone.
    let mixed = per_record(descriptor(&["out"]), |record| {
        Ok(match record.row % 3 {
            0 => vec![],
            1 => vec![
                Out::Push(0, format!("before {}", record.text)),
                Out::Forward(0),
                Out::Push(0, format!("after {}", record.text)),
            ],
            _ => vec![Out::Forward(0)],
        })
    });
    Job::new()
        .source("lines", values(numbered("a", 6)))
        .function("mixed", &["lines"], mixed, |_| ())
        .sink("out", &["mixed"], sink.clone())
        .finish();
    let expected = ["before a-1", "a-1", "after a-1", "a-2", "before a-4", "a-4", "after a-4", "a-5"];
    assert_eq!(sink.texts(), expected);
}

#[test]
fn a_pushed_record_inherits_key_time_headers_and_origin_of_its_row() {
    let sink = MemorySink::default();
    let mut one = MemoryRecord::new("one").with_key("k").at(17);
    one.headers = vec![("trace".to_owned(), Some(b"t".to_vec())), ("none".to_owned(), None)];
    let source = MemorySource::default().with_split([record("zero"), MemoryItem::Record(one)]);
    let push = per_record(descriptor(&["out"]), |record| {
        Ok(if record.text == "one" { vec![Out::Push(0, "made".to_owned())] } else { vec![] })
    });
    Job::new()
        .source("lines", source)
        .function("push", &["lines"], push, |_| ())
        .sink("out", &["push"], sink.clone())
        .finish();
    let records = sink.records();
    let made = &records[0];
    assert_eq!((made.text().as_str(), made.key.as_deref(), made.timestamp), ("made", Some(&b"k"[..]), EventTime(17)));
    assert_eq!(made.origin.2.0, 1);
    assert_eq!(made.headers, [(b"trace".to_vec(), Some(b"t".to_vec())), (b"none".to_vec(), None)]);
}

#[test]
fn pushed_fields_are_written_as_each_sink_asks_and_read_again_by_functions() {
    let (json, csv, names) = (MemorySink::default(), MemorySink::default(), MemorySink::default());
    let fields = vec![field("name", "/name", FieldKind::Text, true), field("size", "/size", FieldKind::Integer, false)];
    let mut measure = descriptor(&[]);
    measure.outputs = vec![port_with(0, "out", fields.clone())];
    let measure = push_fields(measure);
    let mut name_of = descriptor(&["out"]);
    name_of.inputs = vec![port_with(0, "in", vec![fields[0].clone()])];
    let name_of = per_record(name_of, |record| Ok(vec![Out::Push(0, record.texts_of(0)[record.row as usize].clone())]));
    let csv_format = format::CsvFormat { delimiter: b',', columns: vec!["name".to_owned(), "size".to_owned()] };
    Job::new()
        .source("lines", values(["ab", "cde"]))
        .function("measure", &["lines"], measure, |_| ())
        .function("name-of", &["measure"], name_of, |_| ())
        .sink("json", &["measure"], json.clone())
        .sink_node("csv", &["measure"], csv.clone(), |node| node.format = format::Format::Csv(csv_format))
        .sink("names", &["name-of"], names.clone())
        .finish();
    assert_eq!(json.texts(), [r#"{"name":"ab","size":2}"#, r#"{"name":"cde","size":3}"#]);
    assert_eq!(csv.texts(), ["ab,2", "cde,3"]);
    assert_eq!(names.texts(), ["ab", "cde"]);
}

#[test]
fn a_batch_above_the_limit_reaches_the_next_function_in_pieces() {
    let sink = MemorySink::default();
    let burst = per_record(descriptor(&["out"]), |record| {
        Ok((0..100).map(|copy| Out::Push(0, format!("{}/{copy}", record.text))).collect())
    });
    let look = per_record(descriptor(&["out"]), |record| {
        assert!(record.batch.records.len() <= 64, "{} rows in one batch", record.batch.records.len());
        Ok(vec![Out::Forward(0)])
    });
    Job::new()
        .source("lines", values(numbered("a", 50)))
        .function("burst", &["lines"], burst, |_| ())
        .function("look", &["burst"], look, |_| ())
        .sink("out", &["look"], sink.clone())
        .batch_rows(64)
        .finish();
    let expected: Vec<String> =
        numbered("a", 50).iter().flat_map(|a| (0..100).map(move |copy| format!("{a}/{copy}"))).collect();
    assert_eq!(sink.texts(), expected);
}
