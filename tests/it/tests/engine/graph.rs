//! A graph that cannot run is refused before anything is opened, and says why.

use contract::doubles::MemorySink;
use format::{CsvFormat, Format};
use model::job::KeySpec;
use model::{Blame, Descriptor, FieldKind, InputId, MAX_PARALLELISM, Parallelism};

use crate::support::{Job, dedup, descriptor, field, from, pass, per_record, port_with, push_fields, values};

fn refused(job: &Job) -> (String, String) {
    let error = job.0.check().unwrap_err();
    // What leaves the runtime says the same, with the same page.
    let seam = contract::Error::from(error.clone());
    assert_eq!(seam.code(), Some(error.code()));
    assert_eq!(seam.blame(), Blame::Config);
    (error.code().to_owned(), error.to_string())
}

fn lines() -> Job {
    Job::new().source("lines", values(["a"]))
}

fn check(job: &Job, code: &str, text: &str) {
    assert_eq!(refused(job), (code.to_owned(), text.to_owned()));
}

#[test]
fn dangling_edges() {
    let out = MemorySink::default;
    check(
        &lines().sink("out", &["line"], out()),
        "E0501",
        "operator `out` reads `line`: there is no source or function of that name",
    );
    check(
        &lines().function("pass", &["lines"], pass(), |_| ()).sink("out", &["pass.late"], out()),
        "E0501",
        "operator `out` reads `pass.late`: the outputs of `pass` are `out`",
    );
    check(
        &lines().sink("out", &["lines.late"], out()),
        "E0501",
        "operator `out` reads `lines.late`: the outputs of `lines` are its records alone",
    );
    check(&lines().sink("out", &[], out()), "E0501", "operator `out` has nothing to read: its input is not connected");
    check(
        &lines().function("pass", &["lines"], pass(), |node| node.inputs[0].input = InputId(3)),
        "E0501",
        "function `pass` has no input 3: its inputs are `in`",
    );
    check(
        &lines().function("pass", &[], pass(), |_| ()),
        "E0501",
        "operator `pass` has nothing to read: its input `in` is not connected",
    );
}

#[test]
fn cycles() {
    let job = lines()
        .function("one", &["lines", "two"], pass(), |_| ())
        .function("two", &["one"], pass(), |_| ())
        .function("three", &["lines"], pass(), |_| ());
    check(&job, "E0502", "operators `one`, `two` form a cycle");
}

#[test]
fn names_that_stand_twice_or_are_taken() {
    let job = lines().function("lines", &["lines"], pass(), |_| ());
    check(&job, "E0504", "operator `lines`: the name is that of another operator");
    let job = lines().sink("dead-letters", &["lines"], MemorySink::default());
    check(&job, "E0504", "operator `dead-letters`: the name is that of the dead letters of the job");
}

#[test]
fn keys_that_do_not_fit_the_function() {
    let job = lines().function("dedup", &["lines"], dedup(), |node| node.key = None);
    check(&job, "E0503", "function `dedup` is keyed: it needs a `key`");
    let job = lines().function("pass", &["lines"], pass(), |node| node.key = Some(KeySpec::WholeValue));
    check(&job, "E0503", "function `pass` is not keyed: it takes no `key`");
    let job = lines().function("dedup", &["lines"], dedup(), |node| node.state = None);
    check(&job, "E0506", "function `dedup` declares state or timers: it needs a state backend");
}

#[test]
fn numbers_out_of_range() {
    let job = lines().function("dedup", &["lines"], dedup(), |node| node.parallelism = Parallelism(129));
    check(&job, "E0505", "operator `dedup`: parallelism 129: expected 1 to 128, the number of key groups");
    let job = lines().function("pass", &["lines"], pass(), |node| node.parallelism = Parallelism(0));
    check(&job, "E0505", "operator `pass`: parallelism 0: expected 1 to 256");
    // What a job file may say is what the engine takes.
    let job = lines().function("pass", &["lines"], pass(), |node| node.parallelism = Parallelism(MAX_PARALLELISM + 1));
    check(&job, "E0505", "operator `pass`: parallelism 257: expected 1 to 256");
    let job = lines().function("pass", &["lines"], pass(), |node| node.parallelism = Parallelism(MAX_PARALLELISM));
    assert!(job.0.check().is_ok());
}

#[test]
fn cuts_that_the_format_does_not_know() {
    let job = lines().function("dedup", &["lines"], dedup(), |node| node.key = Some(KeySpec::Field("/id".to_owned())));
    let (code, text) = refused(&job);
    assert_eq!(code, "E0731");
    assert!(text.starts_with("operator `dedup` reads `lines`: path `/id` cannot be cut out of raw values"), "{text}");
}

#[test]
fn columns_that_a_csv_source_does_not_have() {
    for (path, why) in [
        ("/a/b", "path `/a/b` has 2 steps: a CSV column is named by one, like `/name`"),
        ("/missing", "path `/missing` names no column: the columns are `id`, `v`"),
    ] {
        let mut job =
            lines().function("dedup", &["lines"], dedup(), |node| node.key = Some(KeySpec::Field(path.to_owned())));
        let columns = ["id", "v"].map(str::to_owned).to_vec();
        job.0.sources[0].format = Format::Csv(CsvFormat { delimiter: b',', columns });
        check(&job, "E0732", &format!("operator `dedup` reads `lines`: {why}"));
    }
}

#[test]
fn fields_that_the_sink_cannot_write() {
    let mut measure = descriptor(&[]);
    measure.outputs = vec![port_with(0, "out", vec![field("name", "/name", FieldKind::Text, true)])];
    let job = lines().function("measure", &["lines"], push_fields(measure), |_| ()).sink_node(
        "out",
        &["measure"],
        MemorySink::default(),
        |node| node.format = Format::Raw,
    );
    let (code, text) = refused(&job);
    assert_eq!(code, "E0731");
    assert!(text.starts_with("output `out` of `measure`: field `name`: raw values have no fields"), "{text}");
}

#[test]
fn what_a_function_forwards_has_the_format_of_what_it_reads() {
    let mut fields = Descriptor { ..descriptor(&["out"]) };
    fields.inputs = vec![port_with(0, "in", vec![field("id", "/id", FieldKind::Text, true)])];
    let reader = || per_record(fields.clone(), |_| Ok(vec![]));
    let json = Job::new().source_node("lines", values(["{}"]), |node| node.format = Format::Json);
    let job = json.function("pass", &["lines"], pass(), |_| ()).function("reader", &["pass"], reader(), |_| ());
    assert!(job.0.check().is_ok());
    let job = lines().function("pass", &["lines"], pass(), |_| ()).function("reader", &["pass"], reader(), |_| ());
    assert_eq!(refused(&job).0, "E0731");
    assert_eq!(from("pass.late").output.as_deref(), Some("late"));
}
