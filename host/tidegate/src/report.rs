//! What a person or a program sees when a command fails.
//!
//! A [`CliError`] is one or several problems, each with a code (its page is `docs/errors/E####.md`, which
//! `tidegate explain` prints), a message, where there is a text to point at a place in it, and help. It is rendered once, in
//! [`CliError::print`].

mod wrap;

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::ops::Range;
use std::process::ExitCode;
use std::sync::Arc;

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, NamedSource, Report, Severity};
use serde::Serialize;

use crate::args::OutputFormat;
use crate::report::wrap::wrapped;

/// Exit code of a command that failed.
const FAILED: u8 = 1;
/// Exit code of a command that was used wrongly; also what the argument parser returns.
const USAGE: u8 = 2;

/// Columns before the lines of a message.
const MESSAGE_INDENT: usize = 4;
/// Columns before the lines of help.
const HELP_INDENT: usize = 8;

/// A text that problems point into.
#[derive(Debug, Clone)]
pub(crate) struct SourceText {
    /// The file's name as the user gave it.
    pub(crate) name: String,
    /// The whole text.
    pub(crate) text: Arc<str>,
}

/// One thing that is wrong.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Problem {
    /// The code of its page, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<String>,
    /// What is wrong, where, expected and found.
    pub(crate) message: String,
    /// Whose fault it is, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) blame: Option<String>,
    /// What helps now, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retry: Option<String>,
    /// What led to it, outermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) causes: Vec<String>,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) help: Option<String>,
    /// Line and column, from 1, in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<usize>,
    /// Column, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<usize>,
    /// Bytes of the text it is about.
    #[serde(skip)]
    pub(crate) span: Option<Range<usize>>,
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct CliError {
    problems: Vec<Problem>,
    source: Option<SourceText>,
    exit: u8,
}

impl CliError {
    /// A failure with one message.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::of(Problem { message: message.into(), ..Problem::default() })
    }

    /// Wrong usage with one message.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { exit: USAGE, ..Self::failed(message) }
    }

    /// A failure that is one problem.
    pub(crate) fn of(problem: Problem) -> Self {
        Self { problems: vec![problem], source: None, exit: FAILED }
    }

    /// A failure that is several problems of one text.
    pub(crate) fn in_text(problems: Vec<Problem>, source: SourceText) -> Self {
        Self { problems, source: Some(source), exit: FAILED }
    }

    /// Says what to do next about the last problem.
    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        if let Some(problem) = self.problems.last_mut() {
            problem.help = Some(help.into());
        }
        self
    }

    /// Says what the problems are about.
    pub(crate) fn about(mut self, subject: &str) -> Self {
        for problem in &mut self.problems {
            problem.message = format!("{subject}: {}", problem.message);
        }
        self
    }

    /// What is wrong, in short.
    pub(crate) fn first_line(&self) -> String {
        let first = self.problems.first();
        let code = first.and_then(|problem| problem.code.as_ref()).map(|code| format!("{code} ")).unwrap_or_default();
        let message = first.map(|problem| problem.message.lines().next().unwrap_or_default()).unwrap_or_default();
        format!("{code}{message}")
    }

    /// Prints it on standard error and says how the process ends.
    pub(crate) fn print(&self, output: OutputFormat) -> ExitCode {
        let text = match output {
            OutputFormat::Human => self.for_people(),
            OutputFormat::Json => self.for_programs(),
        };
        // Standard error may be closed; there is nowhere left to say so.
        drop(std::io::stderr().write_all(text.as_bytes()));
        ExitCode::from(self.exit)
    }

    fn for_programs(&self) -> String {
        let file = self.source.as_ref().map(|source| source.name.as_str());
        let document = serde_json::json!({ "error": { "file": file, "problems": self.problems } });
        format!("{document}\n")
    }

    fn for_people(&self) -> String {
        let theme = if std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
            GraphicalTheme::unicode()
        } else {
            GraphicalTheme::unicode_nocolor()
        };
        let handler = GraphicalReportHandler::new_themed(theme).with_width(terminal_width()).with_wrap_lines(false);
        let mut text = String::new();
        for problem in &self.problems {
            let report = self.as_report(problem);
            if !text.is_empty() {
                text.push('\n');
            }
            if handler.render_report(&mut text, report.as_ref()).is_err() {
                // The renderer only fails when the span lies outside the text; the message still matters.
                text.clear();
                let _infallible = writeln!(text, "{}", problem.message);
            }
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text
    }

    fn as_report(&self, problem: &Problem) -> Report {
        let said = |cause: &str| problem.message.to_lowercase().contains(&cause.to_lowercase());
        let mut message = problem.message.clone();
        for cause in problem.causes.iter().filter(|cause| !said(cause)) {
            let _infallible = write!(message, "\n  because: {cause}");
        }
        if let Some(blame) = &problem.blame {
            let _infallible = write!(message, "\n  blame: {blame}");
        }
        if let Some(retry) = &problem.retry {
            let _infallible = write!(message, "\n  retry: {retry}");
        }
        let message = wrapped(&message, terminal_width().saturating_sub(MESSAGE_INDENT));
        let mut diagnostic = MietteDiagnostic::new(message).with_severity(Severity::Error);
        if let Some(code) = &problem.code {
            diagnostic = diagnostic.with_code(code.clone());
        }
        let page = problem.code.as_ref().map(|code| format!("tidegate explain {code}"));
        let help = match (&problem.help, page) {
            (Some(help), Some(page)) => Some(format!("{help}; more: `{page}`")),
            (help, page) => help.clone().or(page),
        };
        if let Some(help) = help {
            diagnostic = diagnostic.with_help(wrapped(&help, terminal_width().saturating_sub(HELP_INDENT)));
        }
        match (&self.source, &problem.span) {
            (Some(source), Some(span)) => {
                let label = LabeledSpan::at(span.clone(), "here");
                Report::new(diagnostic.with_label(label))
                    .with_source_code(NamedSource::new(&source.name, source.text.to_string()))
            }
            _ => Report::new(diagnostic),
        }
    }
}

/// Prints what the argument parser has to say: help as it is, a complaint as a document where the
/// arguments ask for documents.
pub(crate) fn print_usage(error: &clap::Error) -> ExitCode {
    let mut arguments = std::env::args();
    let wants_json = arguments.any(|argument| argument == "--output=json")
        || std::env::args().zip(std::env::args().skip(1)).any(|pair| pair.0 == "--output" && pair.1 == "json");
    if error.use_stderr() && wants_json {
        return CliError::usage(error.render().to_string().trim_end().to_owned()).print(OutputFormat::Json);
    }
    // Nobody may be reading; the exit code tells.
    drop(error.print());
    ExitCode::from(if error.use_stderr() { USAGE } else { 0 })
}

impl From<contract::Error> for CliError {
    fn from(error: contract::Error) -> Self {
        Self::of(Problem {
            code: error.code().map(str::to_owned),
            message: without_code(&error.to_string(), error.code()),
            help: error.help().map(str::to_owned),
            blame: Some(error.blame().to_string()),
            retry: Some(error.retry().to_string()),
            causes: causes_of(&error),
            ..Problem::default()
        })
    }
}

/// The chain of sources of an error, leaving out those whose text the one before already says.
pub(crate) fn causes_of(error: &dyn std::error::Error) -> Vec<String> {
    let mut said = error.to_string();
    let mut causes = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !said.contains(&text) {
            causes.push(text.clone());
        }
        said = text;
        next = cause.source();
    }
    causes
}

/// The message without the code that its display begins with.
fn without_code(message: &str, code: Option<&str>) -> String {
    let stripped = code.and_then(|code| message.strip_prefix(code));
    stripped.map_or(message, str::trim_start).to_owned()
}

fn terminal_width() -> usize {
    let columns = usize::from(console::Term::stderr().size().1);
    columns.clamp(60, 120)
}

impl From<state::Error> for CliError {
    fn from(error: state::Error) -> Self {
        contract::Error::from(error).into()
    }
}

impl From<toolchain::Error> for CliError {
    fn from(error: toolchain::Error) -> Self {
        let causes = causes_of(&error);
        Self::of(Problem {
            code: Some(error.code().to_owned()),
            message: error.to_string(),
            causes,
            ..Problem::default()
        })
    }
}
