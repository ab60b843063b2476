use std::collections::BTreeMap;

use super::{job, parse};
use crate::{Descriptor, OperatorUid, PortDescriptor, Refresh, StateDescriptor, StateId, StateKind, Ttl, TtlClock};

fn ports(names: &[&str]) -> Vec<PortDescriptor> {
    let port = |(id, name): (u16, &&str)| PortDescriptor { id, name: (*name).to_owned(), fields: vec![], schema: None };
    (0..).zip(names).map(port).collect()
}

fn descriptor(inputs: &[&str], outputs: &[&str], keyed: bool) -> Descriptor {
    Descriptor { inputs: ports(inputs), outputs: ports(outputs), keyed, ..Descriptor::default() }
}

/// What a person is told when the function `f` is what `descriptor` says; empty when it fits.
fn told(functions: &str, descriptor: Descriptor) -> String {
    let spec = parse(&job(functions, "")).expect("the file is right");
    let descriptors = BTreeMap::from([(OperatorUid::new("f").expect("a name"), descriptor)]);
    spec.check_outputs(&descriptors).err().map(|errors| errors.to_string()).unwrap_or_default()
}

#[test]
fn an_output_that_is_not_there_is_named_with_the_nearest() {
    let functions = "  f: { input: orders, module: ./f }\n  g: { input: [orders, f.lat], module: ./f }";
    let found = told(functions, descriptor(&["in"], &["out", "late"], false));
    assert_eq!(
        found,
        "E0118 jobs/a.yaml:7:24: `functions.g.input[1]`: function `f` has no output `lat`\n  help: did you mean `late`?"
    );
    let functions = "  f: { input: orders, module: ./f }\n  g: { input: f, module: ./f }";
    assert!(
        told(functions, descriptor(&["in"], &[], false)).contains("`functions.g.input`: function `f` has no outputs")
    );
}

#[test]
fn one_output_by_two_names_is_refused() {
    for (input, place) in [("[f, f.out]", "7:19"), ("[f.out, orders, f]", "7:31")] {
        let functions = format!("  f: {{ input: orders, module: ./f }}\n  g: {{ input: {input}, module: ./f }}");
        let found = told(&functions, descriptor(&["in"], &["out", "late"], false));
        assert!(found.starts_with(&format!("E0110 jobs/a.yaml:{place}: ")), "{found}");
        assert!(found.contains("`f` and `f.out` are one output"), "{found}");
    }
    for input in ["[f, f.late]", "[f.late, f.out]", "[f, orders]"] {
        let functions = format!("  f: {{ input: orders, module: ./f }}\n  g: {{ input: {input}, module: ./f }}");
        assert_eq!(told(&functions, descriptor(&["in"], &["out", "late"], false)), "", "{input}");
    }
}

#[test]
fn one_output_may_lead_to_two_inputs() {
    let functions = "  g: { input: orders, module: ./f }\n  f: { inputs: { left: g, right: g.out }, module: ./f }\n  h: { input: f, module: ./f }";
    assert_eq!(told(functions, descriptor(&["left", "right"], &["out"], false)), "");
}

#[test]
fn only_keyed_functions_need_a_key_group_for_each_subtask() {
    let keyed = || descriptor(&["in"], &["out"], true);
    let own = "  f: { input: orders, module: ./f, key: /a, parallelism: 129 }";
    let found = told(own, keyed());
    assert!(
        found.starts_with("E0108 jobs/a.yaml:6:58: `functions.f.parallelism`: function `f` keeps state"),
        "{found}"
    );
    assert!(found.contains("at most `key_groups` (128)") && found.contains("found 129"), "{found}");
    assert_eq!(told(&own.replace(", key: /a", ""), descriptor(&["in"], &["out"], false)), "");
    assert_eq!(told(&own.replace("129", "128"), keyed()), "");
    let assigning = Descriptor { assigns: true, ..keyed() };
    assert!(told(&own.replace(", key: /a", ""), assigning).contains("E0108"));

    let of_the_job = job("  f: { input: orders, module: ./f, key: /a }", "parallelism: 200");
    let spec = parse(&of_the_job).expect("the file is right");
    let descriptors = BTreeMap::from([(OperatorUid::new("f").expect("a name"), keyed())]);
    let found = spec.check_outputs(&descriptors).expect_err("too many subtasks").to_string();
    assert!(found.contains("`parallelism`: function `f` keeps state by key") && found.contains("found 200"), "{found}");
}

#[test]
fn a_key_is_given_where_it_is_needed_and_only_there() {
    let (with, without) = ("  f: { input: orders, module: ./f, key: /a }", "  f: { input: orders, module: ./f }");
    let assigning = Descriptor { assigns: true, ..descriptor(&["in"], &["out"], true) };
    assert_eq!(told(with, descriptor(&["in"], &["out"], true)), "");
    assert_eq!(told(without, descriptor(&["in"], &["out"], false)), "");
    assert_eq!(told(without, assigning.clone()), "");
    assert!(told(without, descriptor(&["in"], &["out"], true)).contains("E0119 jobs/a.yaml:6:3: `functions.f`"));
    assert!(told(with, descriptor(&["in"], &["out"], false)).contains("has no use for a key"));
    assert!(told(with, assigning).contains("gives its keys itself"));
}

#[test]
fn inputs_are_named_as_the_function_names_them() {
    let two = || descriptor(&["left", "right"], &["out"], false);
    let plain = "  f: { input: orders, module: ./f }";
    assert!(told(plain, two()).contains("has several inputs: `left`, `right`"));
    assert_eq!(told("  f: { inputs: { left: orders, right: orders }, module: ./f }", two()), "");
    let found = told("  f: { inputs: { left: orders, rigth: orders }, module: ./f }", two());
    assert!(found.contains("no input `rigth`\n  help: did you mean `right`?"), "{found}");
    assert!(found.contains("input `right` of function `f` is not connected"), "{found}");
}

#[test]
fn functions_without_a_descriptor_are_passed_over() {
    let spec = parse(&job("  f: { input: orders, module: ./f }\n  g: { input: f.x, module: ./f }", "")).expect("right");
    assert!(spec.check_outputs(&BTreeMap::new()).is_ok());
}

fn source(text: &str, functions: &str, sink: &str) -> super::JobSpec {
    let text = format!(
        "name: a\nsources:\n  orders: {{ file: {{ path: a }}, {text} }}\nfunctions:\n{functions}\nsinks:\n  out: {{ {sink}, stdout: }}\n"
    );
    parse(&text).unwrap_or_else(|errors| panic!("{errors}"))
}

/// The format of the sink `out`, by its debug name, or what is refused.
fn sink_format(source_text: &str, sink: &str, descriptor: Descriptor) -> String {
    let spec = source(source_text, "  f: { input: orders, module: ./f }", sink);
    let descriptors = BTreeMap::from([(OperatorUid::new("f").expect("a name"), descriptor)]);
    match spec.check_outputs(&descriptors) {
        Ok(()) => format!("{:?}", spec.sink_formats(&descriptors).into_values().next().expect("there is a sink")),
        Err(errors) => errors.to_string(),
    }
}

#[test]
fn a_sink_takes_the_format_of_what_flows_into_it() {
    let forwards = || descriptor(&["in"], &["out"], false);
    let csv = r#"Csv(CsvSpec { delimiter: 59, columns: [], header: false })"#;
    assert_eq!(sink_format("format: { csv: { delimiter: ; } }", "input: f", forwards()), csv);
    assert_eq!(sink_format("format: { csv: { delimiter: ; } }", "input: [orders, f]", forwards()), csv);
    assert_eq!(sink_format("format: raw", "input: f", forwards()), "Raw");
    assert_eq!(sink_format("format: json", "input: f", forwards()), "Json");
    let mut described = forwards();
    described.outputs[0].schema = Some("{}".to_owned());
    assert_eq!(sink_format("format: csv", "input: f", described), "Json");
}

#[test]
fn a_format_that_cannot_be_what_flows_in_is_refused_naming_both() {
    let forwards = || descriptor(&["in"], &["out"], false);
    let found = sink_format("format: csv", "input: [f, orders], format: json", forwards());
    assert!(found.starts_with("E0124 jobs/a.yaml:7:"), "{found}");
    assert!(found.contains("records of `orders` are `csv` with the delimiter `,`"), "{found}");
    assert!(found.contains("the sink writes `json`"), "{found}");
    // What a function that declares nothing makes is its own affair.
    assert_eq!(sink_format("format: csv", "input: f, format: json", forwards()), "Json");
    let mut described = forwards();
    described.outputs[0].schema = Some("{}".to_owned());
    assert!(
        sink_format("format: csv", "input: f, format: csv", described.clone()).contains("records of `f` are `json`")
    );
    let found = sink_format("format: csv", "input: [orders, f]", described);
    assert!(found.contains("`sinks.out.input[0]`") && found.contains("a sink of its own"), "{found}");
}

#[test]
fn state_that_expires_by_event_time_needs_a_source_that_has_it() {
    let expiring = |clock| {
        let ttl = Some(Ttl { millis: 1000, clock, refresh: Refresh::OnWrite });
        let (name, schema) = ("seen".to_owned(), "{}".to_owned());
        let state = StateDescriptor { id: StateId(1), name, kind: StateKind::Value, schema, version: 1, ttl };
        Descriptor { states: vec![state], ..descriptor(&["in"], &["out"], true) }
    };
    let functions = "  f: { input: orders, module: ./f, key: /id }";
    let found = told(functions, expiring(TtlClock::EventTime));
    assert!(found.starts_with("E0105") && found.contains("`sources.orders`: state `seen` of function `f`"), "{found}");
    assert_eq!(told(functions, expiring(TtlClock::ProcessingTime)), "");
    let spec = source("event_time: { field: /ts, unit: ms }", functions, "input: f");
    let descriptors = BTreeMap::from([(OperatorUid::new("f").expect("a name"), expiring(TtlClock::EventTime))]);
    assert!(spec.check_outputs(&descriptors).is_ok());
}

#[test]
fn what_a_job_reads_is_missed_all_at_once_and_with_its_place() {
    let text = "name: a\nsources: { o: { file: { path: in.jsonl } } }\n\
                functions: { f: { input: o, module: ./gone } }\nsinks: { s: { input: f, stdout: } }";
    let spec = super::JobSpec::parse(text, "dir/job.yaml").expect("the job is well written");
    let told = spec.check_paths(|_| false).expect_err("nothing is there").to_string();
    assert!(told.contains("dir/in.jsonl") && told.contains("dir/gone"), "{told}");
    let only_input = |path: &std::path::Path| path.ends_with("in.jsonl");
    assert!(!spec.check_paths(only_input).expect_err("the module is missing").to_string().contains("in.jsonl"));
    assert!(spec.check_paths(|_| true).is_ok());
}
