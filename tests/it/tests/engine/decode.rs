//! What cannot be decoded meets the `on_error` of who asked for it, and nobody else is troubled.

use contract::doubles::{MemoryItem, MemoryRecord, MemorySink, MemorySource};
use contract::{Error, Polled, Source, SourceReader, Split, SplitAssignment};
use format::{Format, TimeUnit};
use model::job::{KeySpec, OnError};
use model::{Descriptor, EventTime, FieldKind, Position, SourceId, SplitIndex};
use runtime::EventTimeCut;

use crate::support::{Job, Out, dedup, descriptor, field, pass, per_record, port_with, record, values};

const RECORDS: [&str; 7] = [
    r#"{"id":"a","n":1}"#,
    r#"{"id":null,"n":2}"#,
    r#"{"n":3}"#,
    r#"{"id":"b","n":"four"}"#,
    r#"{"id":"c","#,
    r#"{"id":7,"n":9007199254740993}"#,
    r#"{"id":"a","n":8}"#,
];

fn letters_of(sink: &MemorySink) -> Vec<(String, String, u64)> {
    let letter = |text: String| {
        let letter: serde_json::Value = serde_json::from_str(&text).unwrap();
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        (text(&letter["operator"]), text(&letter["error"]["kind"]), letter["origin"]["position"].as_u64().unwrap())
    };
    sink.texts().into_iter().map(letter).collect()
}

fn expected(letters: &[(&str, &str, u64)]) -> Vec<(String, String, u64)> {
    letters.iter().map(|(operator, kind, at)| ((*operator).to_owned(), (*kind).to_owned(), *at)).collect()
}

#[test]
fn a_record_without_its_key_or_a_field_is_a_dead_letter_of_that_function_alone() {
    for rows in [1, 3, 4096] {
        let (keyed_out, plain_out, letters) = (MemorySink::default(), MemorySink::default(), MemorySink::default());
        let mut numbers = descriptor(&["out"]);
        numbers.inputs = vec![port_with(0, "in", vec![field("n", "/n", FieldKind::Integer, true)])];
        let numbers = per_record(numbers, |_| Ok(vec![Out::Forward(0)]));
        let summary = Job::new()
            .source_node("orders", values(RECORDS), |node| node.format = Format::Json)
            .function("dedup", &["orders"], dedup(), |node| {
                node.key = Some(KeySpec::Field("/id".to_owned()));
                node.on_error = OnError::DeadLetter;
            })
            .function("numbers", &["orders"], numbers, |node| node.on_error = OnError::Skip)
            .function("plain", &["orders"], pass(), |_| ())
            .sink("keyed-out", &["dedup"], keyed_out.clone())
            .sink("plain-out", &["plain"], plain_out.clone())
            .dead_letters(&letters)
            .batch_rows(rows)
            .finish();
        assert_eq!(keyed_out.texts(), [RECORDS[0], RECORDS[3], RECORDS[5]], "batches of {rows}");
        assert_eq!(plain_out.texts(), RECORDS);
        let found = letters_of(&letters);
        assert_eq!(
            found,
            expected(&[("dedup", "null-key", 1), ("dedup", "missing-field", 2), ("dedup", "broken-json", 4)])
        );
        let numbers = summary.operator("numbers").unwrap();
        assert_eq!((numbers.records_in, numbers.records_out, numbers.skipped), (7, 5, 2));
        let dedup = summary.operator("dedup").unwrap();
        assert_eq!((dedup.records_in, dedup.records_out, dedup.dead_letters), (7, 3, 3));
    }
}

#[test]
fn a_bad_key_fails_the_job_where_the_policy_says_so() {
    let failure = Job::new()
        .source_node("orders", values(RECORDS), |node| node.format = Format::Json)
        .function("dedup", &["orders"], dedup(), |node| node.key = Some(KeySpec::Field("/id".to_owned())))
        .sink("out", &["dedup"], MemorySink::default())
        .run()
        .unwrap_err();
    assert_eq!(failure.operator.as_str(), "dedup");
    assert_eq!(failure.code.as_deref(), Some("E0704"));
    assert_eq!(failure.record.unwrap().position.0, 1);
}

#[test]
fn a_record_without_a_record_key_has_no_key() {
    let (sink, letters) = (MemorySink::default(), MemorySink::default());
    let items = [record("no key"), MemoryItem::Record(MemoryRecord::new("key").with_key("k"))];
    Job::new()
        .source("lines", MemorySource::default().with_split(items))
        .function("dedup", &["lines"], dedup(), |node| {
            node.key = Some(KeySpec::RecordKey);
            node.on_error = OnError::DeadLetter;
        })
        .sink("out", &["dedup"], sink.clone())
        .dead_letters(&letters)
        .finish();
    assert_eq!(sink.texts(), ["key"]);
    assert_eq!(letters_of(&letters), expected(&[("dedup", "null-key", 0)]));
}

#[test]
fn event_time_is_cut_once_and_its_faults_are_the_sources() {
    let (sink, letters) = (MemorySink::default(), MemorySink::default());
    let input =
        [r#"{"id":"a","ts":5}"#, r#"{"id":"b"}"#, r#"{"id":"c","ts":"x"}"#, "{", r#"{"ts":9}"#, r#"{"id":"e","ts":7}"#];
    let summary = Job::new()
        .source_node("orders", values(input), |node| {
            node.format = Format::Json;
            node.event_time = Some(EventTimeCut { path: "/ts".to_owned(), unit: TimeUnit::S });
            node.on_error = OnError::DeadLetter;
        })
        .function("dedup", &["orders"], dedup(), |node| {
            node.key = Some(KeySpec::Field("/id".to_owned()));
            node.on_error = OnError::DeadLetter;
        })
        .sink("out", &["dedup"], sink.clone())
        .dead_letters(&letters)
        .finish();
    let times: Vec<_> = sink.records().iter().map(|record| record.timestamp).collect();
    assert_eq!(times, [EventTime(5_000), EventTime(7_000)]);
    let found = letters_of(&letters);
    assert_eq!(
        found,
        expected(&[
            ("orders", "missing-field", 1),
            ("orders", "wrong-type", 2),
            ("orders", "broken-json", 3),
            ("dedup", "missing-field", 4),
        ])
    );
    let orders = summary.operator("orders").unwrap();
    assert_eq!((orders.records_in, orders.records_out, orders.dead_letters), (6, 3, 3));
    let sent: usize = [0, 4, 5].map(|row: usize| input[row].len()).iter().sum();
    assert_eq!(orders.bytes_out, sent as u64);
}

#[test]
fn what_the_source_rejects_meets_the_policy_of_the_source() {
    for (policy, dead, skipped) in [(OnError::DeadLetter, 1, 0), (OnError::Skip, 0, 1)] {
        let (sink, letters) = (MemorySink::default(), MemorySink::default());
        let items = [record("a"), MemoryItem::Rejected("\u{1}far too long".to_owned()), record("b")];
        let summary = Job::new()
            .source_node("lines", MemorySource::default().with_split(items), |node| node.on_error = policy)
            .sink("out", &["lines"], sink.clone())
            .dead_letters(&letters)
            .finish();
        assert_eq!(sink.texts(), ["a", "b"]);
        let lines = summary.operator("lines").unwrap();
        assert_eq!((lines.records_in, lines.dead_letters, lines.skipped), (3, dead, skipped));
        assert_eq!(lines.faults["not-a-record"], 1);
        assert_eq!(letters.texts().len() as u64, dead);
    }
}

#[test]
fn empty_lines_are_passed_over_for_json_and_are_records_for_raw() {
    for (format, expected, skipped) in [(Format::Json, vec!["{}", "1"], 2), (Format::Raw, vec!["{}", "", "1", ""], 0)] {
        let sink = MemorySink::default();
        let summary = Job::new()
            .source_node("lines", values(["{}", "", "1", ""]), |node| node.format = format)
            .sink("out", &["lines"], sink.clone())
            .finish();
        assert_eq!(sink.texts(), expected);
        assert_eq!(summary.operator("lines").unwrap().skipped, skipped);
    }
}

/// Values, of which some things were passed over.
struct PassingOver(MemorySource);

struct PassedOver(Box<dyn SourceReader>);

impl Source for PassingOver {
    fn splits(&self) -> Result<Vec<Split>, Error> {
        self.0.splits()
    }

    fn open(&self, id: SourceId, splits: Vec<SplitAssignment>) -> Result<Box<dyn SourceReader>, Error> {
        Ok(Box::new(PassedOver(self.0.open(id, splits)?)))
    }
}

impl SourceReader for PassedOver {
    fn poll(&mut self, max_rows: usize, max_bytes: usize) -> Result<Polled, Error> {
        self.0.poll(max_rows, max_bytes)
    }

    fn positions(&self) -> Vec<(SplitIndex, Position)> {
        self.0.positions()
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("empty-lines", 2), ("byte-order-marks", 1)]
    }
}

#[test]
fn a_byte_order_mark_is_no_record() {
    let summary = Job::new()
        .source("lines", PassingOver(values(["{}", "1"])))
        .sink("out", &["lines"], MemorySink::default())
        .finish();
    let lines = summary.operator("lines").unwrap();
    assert_eq!((lines.records_in, lines.records_out, lines.skipped), (4, 2, 2));
    assert_eq!((lines.faults["empty-lines"], lines.faults["byte-order-marks"]), (2, 1));
}

#[test]
fn bytes_that_are_no_text_are_kept_in_base64() {
    let letters = MemorySink::default();
    let refuse =
        contract::doubles::ClosureFactory::new(Descriptor { wants_values: true, ..descriptor(&["out"]) }, |_| {
            Err(contract::ProcessError::Function(contract::Failure {
                kind: contract::FailureKind::Rejected,
                row: None,
                message: "no".to_owned(),
            }))
        });
    Job::new()
        .source("lines", values([vec![0xff, 0x00, 0x7f]]))
        .function("refuse", &["lines"], refuse, |node| node.on_error = OnError::DeadLetter)
        .sink("out", &["refuse"], MemorySink::default())
        .dead_letters(&letters)
        .finish();
    let letter: serde_json::Value = serde_json::from_str(&letters.texts()[0]).unwrap();
    assert_eq!(letter["value_base64"], "/wB/");
    assert!(letter.get("value").is_none());
}
