use std::path::Path;
use std::time::Duration;

use super::super::*;
use super::{FULL, job, parse};
use crate::{BatchLimits, DEFAULT_KEY_GROUPS, DEFAULT_QUEUE_BYTES, Delivery, OperatorUid, Parallelism};

#[test]
fn every_key_is_read() {
    insta::assert_debug_snapshot!(parse(FULL).expect("the file is right"));
}

#[test]
fn what_is_not_said_has_its_documented_default() {
    let spec = parse(&job("  f: { input: orders, module: ./f }", "")).expect("the file is right");
    assert_eq!((spec.parallelism, spec.key_groups), (Parallelism(1), DEFAULT_KEY_GROUPS));
    assert_eq!((spec.batch, spec.queue_bytes), (BatchLimits::default(), DEFAULT_QUEUE_BYTES));
    assert_eq!(spec.functions[0].limits, DEFAULT_LIMITS);
    assert_eq!(spec.functions[0].config, "{}");
    assert_eq!(spec.functions[0].on_error, OnError::Fail);
    assert_eq!(spec.sources[0].format, FormatSpec::Json);
    assert_eq!(spec.sources[0].event_time, None);
    assert_eq!(spec.checkpoint, None);
}

#[test]
fn bad_records_go_to_the_dead_letters_when_there_are_some() {
    let spec = parse(&job("  f: { input: orders, module: ./f }", "dead_letters: { blackhole: }")).expect("right");
    assert_eq!(spec.sources[0].on_error, OnError::DeadLetter);
    assert_eq!(spec.functions[0].on_error, OnError::DeadLetter);
}

#[test]
fn json_is_read_as_yaml_is() {
    let json = "{\"name\":\"a\",\n\t\"sources\":{\"o\":{\"file\":{\"path\":\"x\\/y \\ud83d\\ude00\"}}},\r\n\"sinks\":{\"s\":{\"input\":\"o\",\"stdout\":{}}}}";
    let yaml = "name: a\nsources: {o: {file: {path: x/y 😀}}}\nsinks: {s: {input: o, stdout: {}}}";
    assert_eq!(parse(json).expect("JSON"), parse(yaml).expect("YAML"));
}

#[test]
fn a_byte_order_mark_and_comments_are_nothing() {
    let text = format!("\u{feff}# a job\n---\n{}", job("", "# the end"));
    assert!(parse(&text).is_ok(), "{:?}", parse(&text));
}

#[test]
fn paths_are_relative_to_the_job_file() {
    let spec = parse(FULL).expect("the file is right");
    assert_eq!(spec.resolve(Path::new("/in")), Path::new("/in"));
    for (job, path, resolved) in [
        ("jobs/a.yaml", "./in", "jobs/in"),
        ("./jobs/a.yaml", "./in/./x", "jobs/in/x"),
        ("a.yaml", "./in/", "in/"),
        ("./a.yaml", "in", "in"),
        ("a.yaml", ".", "."),
        ("jobs/a.yaml", "../in", "jobs/../in"),
        ("/jobs/a.yaml", "./in", "/jobs/in"),
    ] {
        let spec = JobSpec::parse(FULL, job).expect("the file is right");
        // Paths compare by their steps; the texts must be the same.
        assert_eq!(spec.resolve(Path::new(path)).to_str(), Some(resolved), "{path} in {job}");
    }
}

#[test]
fn config_keeps_every_digit_and_every_kind() {
    let spec = parse(FULL).expect("the file is right");
    assert_eq!(
        spec.functions[0].config,
        r#"{"ttl":"7d","limit":18446744073709551616,"names":["a",true,null,1.50,16]}"#
    );
}

#[test]
fn numbers_of_yaml_become_numbers_of_json() {
    for (yaml, json) in [
        ("+1", "1"),
        (".5", "0.5"),
        ("-007", "-7"),
        ("1.", "1"),
        ("-.5e+3", "-0.5e+3"),
        ("0o17", "15"),
        ("'1'", "\"1\""),
        ("yes", "\"yes\""),
        ("1_000", "\"1_000\""),
        ("", "null"),
        ("1e400", "1e400"),
    ] {
        let function = format!("  f: {{ input: orders, module: ./f, config: {{ x: {yaml} }} }}");
        let spec = parse(&job(&function, "")).expect("the file is right");
        assert_eq!(spec.functions[0].config, format!("{{\"x\":{json}}}"), "{yaml}");
        serde_json::from_str::<Box<serde_json::value::RawValue>>(&spec.functions[0].config).expect("JSON");
    }
}

#[test]
fn an_alias_stands_for_what_it_names() {
    let functions =
        "  f: { input: orders, module: ./f, limits: &l { memory: 2MiB } }\n  g: { input: f, module: ./f, limits: *l }";
    let spec = parse(&job(functions, "")).expect("the file is right");
    assert_eq!(spec.functions[1].limits.memory_bytes, 2 << 20);
}

#[test]
fn a_secret_reference_is_a_text_like_any_other() {
    let function = "  f: { input: orders, module: ./f, config: { token: '${env:TOKEN}' } }";
    let spec = parse(&job(function, "")).expect("the file is right");
    assert_eq!(spec.functions[0].config, r#"{"token":"${env:TOKEN}"}"#);
}

#[test]
fn a_csv_sink_needs_no_columns_and_writes_no_header_line() {
    let sink = |format: &str| {
        let text = format!(
            "name: a\nsources: {{ o: {{ file: {{ path: a }} }} }}\nsinks: {{ s: {{ input: o, stdout: , format: {format} }} }}"
        );
        parse(&text).unwrap_or_else(|errors| panic!("{errors}")).sinks.remove(0).format.expect("it is said")
    };
    let plain = CsvSpec { delimiter: b',', columns: Vec::new(), header: false };
    assert_eq!(sink("csv"), FormatSpec::Csv(plain.clone()));
    assert_eq!(sink("{ csv: {} }"), FormatSpec::Csv(plain.clone()));
    assert_eq!(sink("{ csv: { header: false } }"), FormatSpec::Csv(plain));
}

#[test]
fn a_checkpoint_without_options_has_every_default() {
    for text in ["checkpoint:", "checkpoint: {}"] {
        let spec = parse(&job("", text)).expect("the file is right");
        let seconds = Duration::from_secs;
        let expected = CheckpointSpec {
            interval: seconds(10),
            timeout: seconds(60),
            min_pause: seconds(1),
            tolerable_failures: 3,
            retain: 3,
        };
        assert_eq!(spec.checkpoint, Some(expected));
        let restart = RestartSpec { attempts: 10, first_backoff: seconds(1), most_backoff: seconds(60) };
        assert_eq!(spec.restart, restart);
    }
}

#[test]
fn a_short_interval_is_not_stretched_by_the_default_pause() {
    let spec = parse(&job("", "checkpoint: { interval: 100ms }")).expect("the file is right");
    assert_eq!(spec.checkpoint.expect("it has checkpoints").min_pause, Duration::from_millis(50));
}

#[test]
fn a_backoff_is_a_first_and_a_longest_wait_or_one() {
    for (text, first, most) in [("1s..60s", 1000, 60_000), ("250ms .. 1m 30s", 250, 90_000), ("2s", 2000, 2000)] {
        let spec = parse(&job("", &format!("checkpoint:\nrestart: {{ backoff: {text} }}"))).expect("right");
        let millis = (spec.restart.first_backoff.as_millis(), spec.restart.most_backoff.as_millis());
        assert_eq!(millis, (first, most), "{text}");
    }
}

fn file_sink(job: &str, options: &str) -> FileSinkSpec {
    let text = format!(
        "name: a\n{job}\nsources: {{ o: {{ file: {{ path: a }} }} }}\nsinks: {{ s: {{ input: o, file: {{ {options} }} }} }}"
    );
    let spec = parse(&text).unwrap_or_else(|errors| panic!("{errors}"));
    match &spec.sinks[0].connector {
        SinkConnector::File(file) => file.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_sink_is_exactly_once_where_the_job_has_checkpoints() {
    assert_eq!(file_sink("", "path: out").delivery, Delivery::AtLeastOnce);
    let plain = file_sink("checkpoint:", "path: out");
    assert_eq!((plain.delivery, plain.layout, plain.roll_bytes), (Delivery::ExactlyOnce, FileLayout::Plain, 128 << 20));
    let said = file_sink("checkpoint:", "path: out.jsonl, delivery: at-least-once, overwrite: true");
    assert_eq!(said.delivery, Delivery::AtLeastOnce);
    let commits = file_sink("checkpoint:", "path: out, layout: commits, roll_bytes: 1MiB");
    assert_eq!((commits.layout, commits.roll_bytes), (FileLayout::Commits, 1 << 20));
}

#[test]
fn limits_are_read_in_the_units_people_write() {
    let function = "  f: { input: orders, module: ./f, limits: { memory: 100 MB, time_per_batch: 1m 30s } }";
    let limits = parse(&job(function, "")).expect("the file is right").functions[0].limits;
    assert_eq!((limits.memory_bytes, limits.time_per_batch), (100_000_000, Duration::from_secs(90)));
}

#[test]
fn functions_are_found_by_name() {
    let spec = parse(FULL).expect("the file is right");
    assert!(spec.function(&OperatorUid::new("dedup").expect("a name")).is_some());
    assert!(spec.function(&OperatorUid::new("orders").expect("a name")).is_none());
}

#[test]
fn a_sink_path_with_the_ending_of_a_file_is_one_file() {
    for (path, is_one) in [("out", false), ("./out/", false), ("out.jsonl", true), ("a/b.csv", true), ("v1.2", false)] {
        assert_eq!(FileSinkSpec::is_one_file(Path::new(path)), is_one, "{path}");
    }
}
