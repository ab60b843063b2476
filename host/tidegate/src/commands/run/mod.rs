//! `tidegate run`: one job in this process.

mod figures;
mod progress;
mod summary;

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use connectors::stdout::READER_GONE;
use cpu_time::ProcessTime;
use model::job::JobSpec;
use model::{MAX_PARALLELISM, Parallelism};
use runtime::{JobHandle, Outcome, SystemClock};

use crate::args::{OutputFormat, Run};
use crate::commands::texts::print;
use crate::files::read_bounded;
use crate::report::{CliError, Problem, SourceText};
use crate::wiring::modules::{LoadOptions, Modules};
use crate::wiring::{self, Wired};

/// Exit code of a job that was cancelled: what a shell gives a program that Ctrl-C ended.
const CANCELLED: u8 = 130;

/// Runs the job.
pub(crate) fn run(args: &Run, output: OutputFormat) -> Result<ExitCode, CliError> {
    let spec = read_spec(&args.job, args.parallelism.map(Parallelism))?;
    if args.until_end {
        wiring::check_ends(&spec)?;
    }
    let quiet = args.quiet || output == OutputFormat::Json;
    let wired = wire(&spec, args, quiet)?;
    if !quiet {
        say_notes(&wired);
    }
    if args.check {
        return say_checked(&wired, output);
    }
    let name = wired.graph.name.clone();
    let started = ProcessTime::now();
    let job = runtime::start(&wired.graph, Arc::new(SystemClock::new()))?;
    cancel_on_signal(&job)?;
    progress::follow(&job, quiet);
    let summary = match job.wait() {
        Ok(summary) => summary,
        // `tidegate run … | head`: whoever read our records has enough of them, and there are no others.
        Err(failure) if wired.writes_only_stdout && failure.code.as_deref() == Some(READER_GONE) => {
            return Ok(ExitCode::SUCCESS);
        }
        Err(failure) => return Err(CliError::of(failure_problem(&failure))),
    };

    let report = summary::Report { job: name.as_str(), summary: &summary, cpu: started.elapsed() };
    match output {
        OutputFormat::Human => print_report(&report.text(), wired.writes_stdout)?,
        OutputFormat::Json => print_report(&json_line(&report.document())?, wired.writes_stdout)?,
    }
    Ok(match summary.outcome {
        Outcome::Finished => ExitCode::SUCCESS,
        Outcome::Cancelled => ExitCode::from(CANCELLED),
    })
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

fn wire(spec: &JobSpec, args: &Run, quiet: bool) -> Result<Wired, CliError> {
    let modules = Modules::new(&LoadOptions {
        cache: args.cache.as_deref(),
        in_process: args.compile_in_process,
        fuel: !args.no_fuel,
        quiet: quiet || !std::io::stderr().is_terminal(),
    })?;
    wiring::wire(spec, &modules)
}

/// What a function declares and this version does not do yet.
fn say_notes(wired: &Wired) {
    for function in &wired.graph.functions {
        for state in function.factory.descriptor().states.iter().filter(|state| state.ttl.is_some()) {
            let note = format!(
                "note: `{}`: the time to live of state `{}` is recorded; entries do not expire yet\n",
                function.uid, state.name
            );
            // A note that nobody can read is no reason to stop.
            drop(std::io::stderr().write_all(note.as_bytes()));
        }
    }
}

fn say_checked(wired: &Wired, output: OutputFormat) -> Result<ExitCode, CliError> {
    let graph = &wired.graph;
    match output {
        OutputFormat::Human => print(
            format!(
                "`{}` is ready to run: {} sources, {} functions, {} sinks\n",
                graph.name,
                graph.sources.len(),
                graph.functions.len(),
                graph.sinks.len()
            )
            .as_bytes(),
        ),
        OutputFormat::Json => print(json_line(&serde_json::json!({ "job": graph.name, "ready": true }))?.as_bytes()),
    }
}

/// Ctrl-C and SIGTERM end the job in good order; a second one ends the process at once.
fn cancel_on_signal(job: &JobHandle) -> Result<(), CliError> {
    let canceller = job.canceller();
    let mut asked = false;
    let handler = move || {
        if asked {
            std::process::exit(i32::from(CANCELLED));
        }
        asked = true;
        canceller.cancel();
    };
    ctrlc::set_handler(handler).map_err(|error| CliError::failed(format!("handle Ctrl-C: {error}")))
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
