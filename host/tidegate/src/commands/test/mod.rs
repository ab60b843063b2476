//! `tidegate test`: a function over records, the same in every batch size and with its instance thrown
//! away in between.
//!
//! A record that the function rejects never ends the run: all of them are found, and `--on-error` says what they mean
//! for the result.

mod collect;
mod compare;
mod rejected;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use contract::FunctionFactory;
use model::job::{InputRef, KeySpec, OnError};
use model::{InputId, JobName, OperatorUid, Parallelism};
use runtime::{FunctionInput, FunctionNode, JobGraph, SinkNode, SystemClock};

use crate::args::{OutputFormat, Test, TestOnError};
use crate::commands::run::json_line;
use crate::commands::texts::print;
use crate::files::read_bounded;
use crate::report::CliError;
use crate::wiring::modules::{LoadOptions, Modules};
use crate::wiring::test_source;
use collect::{Collect, Records};
use compare::first_difference;
use rejected::Rejected;

/// Batch sizes that a function must not be able to tell apart: one record, an odd few, many.
const BATCH_ROWS: [usize; 3] = [1, 7, 512];

/// The largest file of expected records.
const EXPECT_BYTES: u64 = 1 << 30;

/// What must come out of one output.
struct Expectation {
    output: String,
    file: String,
    bytes: Vec<u8>,
}

/// Runs the function and compares.
pub(crate) fn run(args: &Test, output: OutputFormat) -> Result<ExitCode, CliError> {
    check_config(&args.config)?;
    let modules = Modules::new(&LoadOptions::default())?;
    let factory = modules.open(&args.path, &model::job::DEFAULT_LIMITS)?;
    check_event_time(args, factory.descriptor())?;
    let names: Vec<String> = factory.descriptor().outputs.iter().map(|port| port.name.clone()).collect();
    if args.print {
        let results = run_once(args, &factory, 512)?;
        let first = names.first().and_then(|name| results.outputs.get(name));
        let lines = first.into_iter().flatten().flatten().flat_map(|value| [value.as_slice(), b"\n"].concat());
        print(&lines.collect::<Vec<u8>>())?;
        return judge(args, &results.rejected, output).map(|()| ExitCode::SUCCESS);
    }
    let expectations = read_expectations(args, &names)?;
    let mut checked = 0;
    let first = run_once(args, &factory, BATCH_ROWS[0])?;
    judge(args, &first.rejected, output)?;
    for rows in BATCH_ROWS {
        let results = if rows == BATCH_ROWS[0] { None } else { Some(run_once(args, &factory, rows)?) };
        let results = results.as_ref().unwrap_or(&first);
        for expectation in &expectations {
            let found = results.outputs.get(&expectation.output).map(Vec::as_slice).unwrap_or_default();
            checked += compare_output(expectation, found, rows)?;
        }
        // Outputs that nothing is expected of must still not depend on the batch size.
        compare_runs(&first, results, rows)?;
    }
    let rejected = first.rejected;
    match output {
        OutputFormat::Human => print(
            format!(
                "ok: {} records as expected, {} times: in batches of {}, with fresh instances{}\n",
                checked / BATCH_ROWS.len(),
                BATCH_ROWS.len(),
                BATCH_ROWS.map(|rows| rows.to_string()).join(", "),
                if rejected.is_empty() { String::new() } else { format!("; {} rejected", rejected.len()) }
            )
            .as_bytes(),
        ),
        OutputFormat::Json => {
            let document = serde_json::json!({
                "ok": true, "records_compared": checked, "batch_rows": BATCH_ROWS, "rejected": rejected,
            });
            print(json_line(&document)?.as_bytes())
        }
    }
}

/// What rejected records mean: they are shown, and fail the test unless `--on-error` lets a job pass them.
fn judge(args: &Test, rejected: &[Rejected], output: OutputFormat) -> Result<(), CliError> {
    if rejected.is_empty() {
        return Ok(());
    }
    let text = rejected::text(rejected);
    if args.on_error == TestOnError::Fail {
        return Err(CliError::failed(text).with_help(
            "a job stops at the first with `on_error: fail`; if they are meant to be rejected, say --on-error skip or \
             --on-error dead-letter, as the job file does",
        ));
    }
    if output == OutputFormat::Human {
        // A note that nobody can read is no reason to fail.
        drop(writeln!(std::io::stderr(), "{text}"));
    }
    Ok(())
}

/// The text of `--config` is a JSON object, as that of a job file always is.
fn check_config(text: &str) -> Result<(), CliError> {
    let found = match serde_json::from_str::<serde_json::Value>(text) {
        Ok(serde_json::Value::Object(_)) => return Ok(()),
        Ok(_) => "another JSON value".to_owned(),
        Err(error) => format!("{error}"),
    };
    let shown: String = text.chars().take(60).collect();
    Err(CliError::usage(format!("--config `{shown}`: expected a JSON object, found {found}"))
        .with_help("quote it for the shell: `--config '{\"limit\": 3}'`"))
}

fn read_expectations(args: &Test, outputs: &[String]) -> Result<Vec<Expectation>, CliError> {
    let mut expectations = Vec::new();
    for text in &args.expect {
        let named = text.split_once('=').filter(|(name, _)| outputs.iter().any(|output| output == name));
        let (output, file) = match (named, outputs.first()) {
            (Some((name, file)), _) => (name.to_owned(), file.to_owned()),
            (None, Some(first)) => (first.clone(), text.clone()),
            (None, None) => return Err(CliError::usage("--expect: the function has no output")),
        };
        let bytes = read_bounded(Path::new(&file), "--expect", EXPECT_BYTES)
            .map_err(|error| error.with_help(format!("outputs of the function: {}", outputs.join(", "))))?;
        expectations.push(Expectation { output, file, bytes });
    }
    Ok(expectations)
}

fn compare_output(expectation: &Expectation, found: &[Option<Vec<u8>>], rows: usize) -> Result<usize, CliError> {
    let text = expectation.bytes.strip_suffix(b"\n").unwrap_or(&expectation.bytes);
    let lines = text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let expected: Vec<&[u8]> = if expectation.bytes.is_empty() { Vec::new() } else { lines.collect() };
    match first_difference(expected.iter().copied(), found.iter().map(shown)) {
        None => Ok(expected.len()),
        Some(difference) => Err(CliError::failed(format!(
            "output `{}` differs at record {} of `{}`, in batches of {rows}\n  {}",
            expectation.output,
            difference.record,
            expectation.file,
            difference.describe()
        ))),
    }
}

/// A record as one line; a tombstone has no bytes and is the word a person would write for it.
fn shown(record: &Option<Vec<u8>>) -> &[u8] {
    record.as_deref().unwrap_or(b"(tombstone)")
}

/// Refuses a function whose output, or whose verdict on a record, depends on how its records were batched.
fn compare_runs(first: &Results, later: &Results, rows: usize) -> Result<(), CliError> {
    let help = "a function must not keep anything between records but its declared state";
    let between = format!("between batches of {} and of {rows}", BATCH_ROWS[0]);
    for (output, records) in &first.outputs {
        let found = later.outputs.get(output).map(Vec::as_slice).unwrap_or_default();
        if let Some(difference) = first_difference(records.iter().map(shown), found.iter().map(shown)) {
            return Err(CliError::failed(format!(
                "output `{output}` differs at record {} {between}\n  {}",
                difference.record,
                difference.describe()
            ))
            .with_help(help));
        }
    }
    match rejected::first_of_one(&first.rejected, &later.rejected) {
        None => Ok(()),
        Some(one) => Err(CliError::failed(format!(
            "whether a record is rejected differs {between}: {}",
            rejected::text(std::slice::from_ref(one))
        ))
        .with_help(help)),
    }
}

/// What a run came to.
struct Results {
    /// What came out of each output.
    outputs: BTreeMap<String, Records>,
    rejected: Vec<Rejected>,
}

/// Runs the function over the whole input.
fn run_once(args: &Test, factory: &Arc<dyn FunctionFactory>, rows: usize) -> Result<Results, CliError> {
    let (mut graph, sinks) = graph(args, factory, rows)?;
    let letters = Collect::default();
    graph.dead_letters = Some(Arc::new(letters.clone()));
    let job = runtime::start(&graph, Arc::new(SystemClock::new()))?;
    job.wait().map_err(|failure| CliError::of(crate::commands::run::failure_problem(&failure)))?;
    let outputs = sinks.into_iter().map(|(name, sink)| (name, sink.take())).collect();
    Ok(Results { outputs, rejected: rejected::of_letters(&letters.take()) })
}

fn graph(
    args: &Test,
    factory: &Arc<dyn FunctionFactory>,
    rows: usize,
) -> Result<(JobGraph, Vec<(String, Collect)>), CliError> {
    let uid = |name: &str| OperatorUid::new(name).map_err(|error| CliError::failed(error.to_string()));
    let name = JobName::new("test").map_err(|error| CliError::failed(error.to_string()))?;
    let descriptor = factory.descriptor();
    let mut graph = JobGraph::new(name);
    graph.settings.batch.max_rows = rows;
    graph.settings.renew_instances = true;
    graph.sources.push(test_source(uid("input")?, &args.input, args.format, args.event_time.clone())?);
    graph.functions.push(FunctionNode {
        uid: uid("function")?,
        inputs: vec![FunctionInput { input: InputId(0), from: InputRef { from: uid("input")?, output: None } }],
        key: key_spec(args, descriptor)?,
        factory: Arc::clone(factory),
        config: args.config.clone(),
        on_error: OnError::DeadLetter,
        parallelism: Parallelism(1),
        state: Some(Arc::new(state::MemoryBackend::default())),
    });
    let mut sinks = Vec::new();
    for (index, port) in descriptor.outputs.iter().enumerate() {
        let sink = Collect::default();
        graph.sinks.push(SinkNode {
            uid: uid(&format!("output-{index}"))?,
            inputs: vec![InputRef { from: uid("function")?, output: Some(port.name.clone()) }],
            sink: Arc::new(sink.clone()),
            // Fields that a function leaves to the host are written as JSON, whatever was read.
            format: format::Format::Json,
            parallelism: Parallelism(1),
        });
        sinks.push((port.name.clone(), sink));
    }
    Ok((graph, sinks))
}

/// State that expires by event time needs records that have one.
fn check_event_time(args: &Test, descriptor: &model::Descriptor) -> Result<(), CliError> {
    let by_event_time = |ttl: model::Ttl| ttl.clock == model::TtlClock::EventTime;
    let expiring = descriptor.states.iter().find(|state| state.ttl.is_some_and(by_event_time));
    match expiring {
        Some(state) if args.event_time.is_none() && !descriptor.assigns => {
            let message = format!("state `{}` expires by event time: --event-time is missing", state.name);
            Err(CliError::usage(message)
                .with_help("say where the time stands and what it means: `--event-time /at:ms`"))
        }
        _ => Ok(()),
    }
}

fn key_spec(args: &Test, descriptor: &model::Descriptor) -> Result<Option<KeySpec>, CliError> {
    match (&args.key, descriptor.keyed && !descriptor.assigns) {
        (None, false) => Ok(None),
        (None, true) => Err(CliError::usage("the function is keyed: --key is missing")
            .with_help("say where the key stands: `--key /id`, or `--key '$value'` for the whole value")),
        (Some(key), false) => Err(CliError::usage(format!("--key {key}: the function takes no key"))),
        (Some(key), true) if key == "$value" => Ok(Some(KeySpec::WholeValue)),
        (Some(key), true) if key.starts_with('/') => Ok(Some(KeySpec::Field(key.clone()))),
        (Some(key), true) => {
            Err(CliError::usage(format!("--key {key}: expected a JSON pointer such as `/id`, or `$value`")))
        }
    }
}
