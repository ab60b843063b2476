//! Wherever something fails, everything stops, and that is what is reported.

use std::sync::Arc;

use contract::doubles::{ClosureFactory, MemoryItem, MemorySink, MemorySource};
use contract::{KeyedState, ProcessError, StateBackend, StatePart, StateScope};
use model::{Blame, Parallelism, Retry};
use runtime::JobFailure;

use crate::support::{Job, dedup, descriptor, numbered, pass, record, values};

/// A source that never ends by itself: only the failure can end the job.
fn endless() -> MemorySource {
    MemorySource::default().with_items(|index| Some(record(&format!("value-{}", index % 1_000))))
}

/// A job of four chains: two sources, a keyed function in three subtasks, a sink.
fn job(source: MemorySource, function: ClosureFactory, sink: MemorySink) -> Job {
    Job::new()
        .source("failing", source)
        .source("endless", endless())
        .function("pass", &["failing"], pass(), |_| ())
        .function("keyed", &["pass", "endless"], function, |node| node.parallelism = Parallelism(3))
        .sink("out", &["keyed"], sink)
        .dead_letters(&MemorySink::default())
}

fn fails(job: &Job) -> JobFailure {
    *job.run().unwrap_err()
}

fn failing_function(fail: impl Fn() -> Result<(), ProcessError> + Send + Sync + 'static) -> ClosureFactory {
    let keyed = model::Descriptor { keyed: true, ..descriptor(&["out"]) };
    ClosureFactory::new(keyed, move |_turn| fail())
}

#[test]
fn a_source_that_cannot_be_opened() {
    let failure = fails(&job(endless().failing_to_open("no such topic"), dedup(), MemorySink::default()));
    assert_eq!((failure.operator.as_str(), failure.message.as_str()), ("failing", "no such topic"));
    assert_eq!((failure.blame, failure.retry), (Blame::External, Retry::Backoff));
}

#[test]
fn a_source_whose_medium_fails() {
    let items = numbered("a", 5_000).into_iter().map(|text| record(&text));
    let source = MemorySource::default().with_split(items.chain([MemoryItem::Fail("the disk is gone".to_owned())]));
    let failure = fails(&job(source, dedup(), MemorySink::default()));
    assert_eq!((failure.operator.as_str(), failure.message.as_str()), ("failing", "the disk is gone"));
}

#[test]
fn a_source_that_panics() {
    let source = MemorySource::default().with_split([record("a"), MemoryItem::Panic("index out of range".to_owned())]);
    let failure = fails(&job(source, dedup(), MemorySink::default()));
    assert_eq!(failure.operator.as_str(), "failing");
    assert_eq!(failure.code.as_deref(), Some("E0520"));
    assert_eq!((failure.blame, failure.message.as_str()), (Blame::Host, "the subtask panicked: index out of range"));
}

#[test]
fn a_function_that_cannot_be_instantiated() {
    let failure = fails(&job(endless(), dedup().failing_to_open("config: ttl is missing"), MemorySink::default()));
    assert_eq!((failure.operator.as_str(), failure.message.as_str()), ("keyed", "config: ttl is missing"));
}

#[test]
fn a_function_whose_host_fails() {
    let function = failing_function(|| {
        Err(ProcessError::Host(contract::Error::new(Blame::Host, Retry::No, "no memory for an instance")))
    });
    let failure = fails(&job(endless(), function, MemorySink::default()));
    assert_eq!((failure.operator.as_str(), failure.message.as_str()), ("keyed", "no memory for an instance"));
}

#[test]
fn a_function_that_panics() {
    let failure = fails(&job(endless(), failing_function(|| panic!("a native bug")), MemorySink::default()));
    assert_eq!((failure.operator.as_str(), failure.code.as_deref()), ("keyed", Some("E0520")));
}

#[test]
fn a_table_that_cannot_be_opened() {
    struct Broken;
    impl StateBackend for Broken {
        fn open(&self, _scope: StateScope) -> Result<Box<dyn KeyedState>, contract::Error> {
            Err(contract::Error::new(Blame::External, Retry::No, "the state directory is read-only"))
        }

        fn restore(
            &self,
            scope: StateScope,
            _parts: &mut dyn Iterator<Item = Result<StatePart, contract::Error>>,
        ) -> Result<Box<dyn KeyedState>, contract::Error> {
            self.open(scope)
        }
    }
    let mut job = job(endless(), dedup(), MemorySink::default());
    job.0.functions[1].state = Some(Arc::new(Broken));
    let failure = fails(&job);
    assert_eq!((failure.operator.as_str(), failure.message.as_str()), ("keyed", "the state directory is read-only"));
}

#[test]
fn a_sink_that_cannot_be_opened_is_known_before_anything_is_read() {
    let source = endless();
    let delivered = source.delivered();
    let failure = fails(&job(source, dedup(), MemorySink::default().failing_to_open("part-0 is there already")));
    assert_eq!((failure.operator.as_str(), failure.message.as_str()), ("out", "part-0 is there already"));
    assert_eq!(delivered.load(std::sync::atomic::Ordering::SeqCst), 0);
}

#[test]
fn a_sink_that_refuses_a_batch() {
    let failure = fails(&job(endless(), dedup(), MemorySink::default().failing_after(10, "disk full")));
    assert_eq!((failure.operator.as_str(), failure.message.as_str()), ("out", "disk full"));
}

#[test]
fn a_sink_that_cannot_be_closed() {
    let failure = fails(&Job::new().source("lines", values(numbered("a", 10))).sink(
        "out",
        &["lines"],
        MemorySink::default().failing_to_close("no room for the footer"),
    ));
    assert_eq!((failure.operator.as_str(), failure.message.as_str()), ("out", "no room for the footer"));
}

#[test]
fn dead_letters_that_cannot_be_written() {
    let rejecting = per_value_rejection();
    let job = Job::new()
        .source("endless", endless())
        .function("reject", &["endless"], rejecting, |node| node.on_error = model::job::OnError::DeadLetter)
        .sink("out", &["reject"], MemorySink::default())
        .dead_letters(&MemorySink::default().failing_after(100, "dead letters are full"));
    let failure = fails(&job);
    assert_eq!((failure.operator.as_str(), failure.message.as_str()), ("dead-letters", "dead letters are full"));
}

fn per_value_rejection() -> ClosureFactory {
    crate::support::per_record(descriptor(&["out"]), |record| {
        record.fail(contract::FailureKind::Rejected, "never liked it")
    })
}

#[test]
fn causes_are_kept() {
    let function = failing_function(|| {
        let cause = std::io::Error::other("errno 5");
        Err(ProcessError::Host(
            contract::Error::new(Blame::External, Retry::No, "read the cache").with_code("E0299").with_source(cause),
        ))
    });
    let failure = fails(&job(endless(), function, MemorySink::default()));
    assert_eq!(failure.causes, ["errno 5"]);
    assert!(failure.to_string().starts_with("E0299 `keyed`/"), "{failure}");
    assert!(failure.to_string().ends_with(": read the cache: errno 5"), "{failure}");
}

#[test]
fn a_record_that_cannot_be_read_is_nobodys_code_and_one_that_traps_is_the_functions() {
    let broken = Job::new()
        .source_node("lines", values([r#"{"id":"#]), |node| node.format = format::Format::Json)
        .function("dedup", &["lines"], dedup(), |node| {
            node.key = Some(model::job::KeySpec::Field("/id".to_owned()));
        })
        .sink("out", &["dedup"], MemorySink::default());
    let failure = fails(&broken);
    assert_eq!((failure.code.as_deref(), failure.blame), (Some("E0701"), Blame::External));
    let trapping = Job::new()
        .source("lines", values(["poison-trap"]))
        .function("picky", &["lines"], crate::support::picky(), |_| ())
        .sink("out", &["picky"], MemorySink::default());
    let failure = fails(&trapping);
    assert_eq!((failure.code.as_deref(), failure.blame), (Some("E0511"), Blame::Guest));
}
