//! `tidegate run`: one job in this process.

mod durable;
mod fresh;
mod lead;
mod progress;
mod stopping;
mod summary;
mod tally;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use cpu_time::ProcessTime;
use model::job::{JobSpec, SinkConnector};
use model::{LineageId, MAX_PARALLELISM, Parallelism, StateDescriptor, TtlClock};
use runtime::Outcome;

use self::stopping::Stopping;
use crate::args::{OutputFormat, Run};
use crate::commands::texts::print;
use crate::files::read_bounded;
use crate::report::{CliError, Problem, SourceText};
use crate::storage::{DEFAULT_FOLDER, StorageRoot, check_savepoint_folder};
use crate::wiring::modules::{LoadOptions, Modules};
use crate::wiring::{self, Wired};

/// The folder in a storage root that state on disk lies in.
const STATE_FOLDER: &str = "state";

/// Exit code of a job that was cancelled: what a shell gives a program that Ctrl-C ended.
const CANCELLED: u8 = 130;

/// Runs the job.
pub(crate) fn run(args: &Run, output: OutputFormat) -> Result<ExitCode, CliError> {
    let spec = read_spec(&args.job, args.parallelism.map(Parallelism))?;
    if args.until_end {
        wiring::check_ends(&spec)?;
    }
    for folder in args.from_savepoint.iter().chain(&args.stop_with_savepoint) {
        check_savepoint_folder(folder)?;
    }
    let quiet = args.quiet || output == OutputFormat::Json;
    // What cannot run begins no lineage.
    let tried = match args.fresh || args.from_savepoint.is_some() {
        true => Some(wire(&spec, args, quiet, None)?),
        false => None,
    };
    let mut place = match &spec.checkpoint {
        Some(_) if !args.check => Some(durable::open_place(&spec, args)?),
        _ => None,
    };
    if let (true, Some(place)) = (args.fresh, &mut place) {
        fresh::begin(place, &spec, args.yes)?;
    }
    if let (Some(folder), Some(place), Some(tried)) = (&args.from_savepoint, &mut place, &tried) {
        place.start_from(folder, &spec, &tried.graph, args)?;
    }
    let wired = wire(&spec, args, quiet, place.as_ref().and_then(durable::Place::takes_over))?;
    if !quiet {
        say_what_is_kept(&spec, &wired);
    }
    if args.check {
        return say_checked(&wired, output);
    }
    let started = ProcessTime::now();
    let stopping = Stopping::on_signals()?;
    let led = match (&spec.checkpoint, &place) {
        (Some(checkpoint), Some(place)) => {
            let durability = place.durability(checkpoint, args)?;
            lead::durable(&lead::Durable { wired: &wired, place, durability, restart: spec.restart }, &stopping, quiet)?
        }
        _ => {
            refuse_without_checkpoint(args)?;
            lead::plain(&wired, &stopping, quiet)?
        }
    };
    let Some(ended) = led else { return Ok(ExitCode::SUCCESS) };
    if let (Some(folder), Some(place)) = (&args.stop_with_savepoint, &place) {
        let metadata = crate::savepoints::make(&place.store, folder)?;
        // Whoever asked for it reads it on standard error: standard output has the summary.
        drop(std::io::stderr().write_all(crate::commands::savepoint::made(folder, &metadata).as_bytes()));
    }
    let dead_letters = spec.dead_letters.as_ref().map(|connector| dead_letters_at(&spec, connector));
    let report = summary::Report {
        graph: &wired.graph,
        ended: &ended,
        cpu: started.elapsed(),
        dead_letters: dead_letters.as_deref(),
    };
    match output {
        OutputFormat::Human => print_report(&report.text(), wired.writes_stdout)?,
        OutputFormat::Json => print_report(&json_line(&report.document())?, wired.writes_stdout)?,
    }
    Ok(match ended.summary.outcome {
        Outcome::Finished => ExitCode::SUCCESS,
        Outcome::Cancelled => ExitCode::from(CANCELLED),
    })
}

/// Where dead letters go.
fn dead_letters_at(spec: &JobSpec, connector: &SinkConnector) -> String {
    match connector {
        SinkConnector::File(file) => format!("`{}`", spec.resolve(&file.path).display()),
        SinkConnector::Stdout => "the standard output".to_owned(),
        SinkConnector::Blackhole => "a blackhole".to_owned(),
    }
}

/// `1 source`, `2 sources`.
fn several(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// Says of which functions nothing is purged, for want of a watermark.
fn say_what_is_kept(spec: &JobSpec, wired: &Wired) {
    let unbounded: Vec<_> =
        spec.sources.iter().filter(|source| source.watermark.is_none()).map(|source| source.uid.as_str()).collect();
    let by_event_time = |state: &StateDescriptor| state.ttl.is_some_and(|ttl| ttl.clock == TtlClock::EventTime);
    let expiring =
        wired.graph.functions.iter().filter(|node| node.factory.descriptor().states.iter().any(by_event_time));
    let (Some(source), Some(function)) = (unbounded.first(), expiring.map(|node| node.uid.as_str()).next()) else {
        return;
    };
    let text = format!(
        "note: what expires in `{function}` is not purged, since source `{source}` has no `watermark`: say how far its records are out of order, `watermark: {{ max_out_of_orderness: 1h }}`\n"
    );
    // A note that cannot be written is no reason to stop.
    drop(std::io::stderr().write_all(text.as_bytes()));
}

/// Refuses options that only a job with checkpoints can follow.
fn refuse_without_checkpoint(args: &Run) -> Result<(), CliError> {
    let given = [
        ("--fresh", args.fresh),
        ("--from-savepoint", args.from_savepoint.is_some()),
        ("--stop-with-savepoint", args.stop_with_savepoint.is_some()),
        ("--allow-dropped-state", !args.allow_dropped_state.is_empty()),
        ("--allow-emptied-target", args.allow_emptied_target),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((option, _)) => {
            Err(CliError::usage(format!("{option}: the job has no `checkpoint`, so nothing is kept of it"))
                .with_help("add `checkpoint: {}` to the job file"))
        }
    }
}

/// Reads and checks a job file.
fn read_spec(path: &Path, parallelism: Option<Parallelism>) -> Result<JobSpec, CliError> {
    if let Some(given) = parallelism
        && !(1..=MAX_PARALLELISM).contains(&given.0)
    {
        return Err(CliError::usage(format!("--parallelism {given}: expected 1 to {MAX_PARALLELISM}")));
    }
    let bytes = read_bounded(path, "job file", model::job::MAX_FILE_BYTES as u64)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        CliError::failed(format!("read job file `{}`: {}", path.display(), error.utf8_error()))
            .with_help("a job file is YAML or JSON in UTF-8")
    })?;
    JobSpec::parse_with(&text, &path.display().to_string(), parallelism).map_err(job_file_error)
}

/// Everything that is wrong with a job file, pointing into it.
pub(crate) fn job_file_error(errors: model::job::JobFileErrors) -> CliError {
    let problems = errors.problems.into_iter().map(|problem| Problem {
        code: Some(problem.code.to_owned()),
        message: if problem.path.is_empty() {
            problem.message
        } else {
            format!("`{}`: {}", problem.path, problem.message)
        },
        help: problem.help,
        line: Some(problem.line),
        column: Some(problem.column),
        span: Some(problem.span),
        ..Problem::default()
    });
    let source = SourceText { name: errors.file_name, text: errors.text };
    CliError::in_text(problems.collect(), source)
}

/// Where state on disk lies: in the storage root, if that is a folder.
fn state_folder(spec: &JobSpec, args: &Run) -> PathBuf {
    if let Some(named) = &args.state_dir {
        return named.clone();
    }
    match &args.storage {
        Some(StorageRoot::Folder(root)) => root.join(STATE_FOLDER),
        _ => spec.directory().join(DEFAULT_FOLDER).join(STATE_FOLDER),
    }
}

fn wire(spec: &JobSpec, args: &Run, quiet: bool, takes_over: Option<LineageId>) -> Result<Wired, CliError> {
    let modules = Modules::new(&LoadOptions {
        cache: args.cache.as_deref(),
        in_process: args.compile_in_process,
        fuel: !args.no_fuel,
        quiet: quiet || !std::io::stderr().is_terminal(),
    })?;
    wiring::wire(spec, &modules, &state_folder(spec, args), takes_over)
}

fn say_checked(wired: &Wired, output: OutputFormat) -> Result<ExitCode, CliError> {
    let graph = &wired.graph;
    match output {
        OutputFormat::Human => print(
            format!(
                "`{}` is ready to run: {}, {}, {}\n",
                graph.name,
                several(graph.sources.len(), "source"),
                several(graph.functions.len(), "function"),
                several(graph.sinks.len(), "sink")
            )
            .as_bytes(),
        ),
        OutputFormat::Json => print(json_line(&serde_json::json!({ "job": graph.name, "ready": true }))?.as_bytes()),
    }
}

/// The summary goes to standard output, unless a sink of the job writes its records there.
fn print_report(text: &str, stdout_is_taken: bool) -> Result<(), CliError> {
    if !stdout_is_taken {
        return print(text.as_bytes()).map(drop);
    }
    // The records are out; a closed standard error is no reason to fail.
    drop(std::io::stderr().write_all(text.as_bytes()));
    Ok(())
}

/// A document on one line.
pub(crate) fn json_line(document: &impl serde::Serialize) -> Result<String, CliError> {
    let text = serde_json::to_string(document).map_err(|error| CliError::failed(format!("write JSON: {error}")))?;
    Ok(text + "\n")
}

/// The failure of a job as a problem to print.
pub(crate) fn failure_problem(failure: &runtime::JobFailure) -> Problem {
    let place = format!("`{}`/{}", failure.operator, failure.subtask);
    let record = failure.record.as_ref().map(|record| format!(" (record: {record})")).unwrap_or_default();
    Problem {
        code: failure.code.clone(),
        message: format!("{place}: {}{record}", failure.message),
        blame: Some(failure.blame.to_string()),
        retry: Some(failure.retry.to_string()),
        causes: failure.causes.clone(),
        ..Problem::default()
    }
}
