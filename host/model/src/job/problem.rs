//! What is wrong with a job file.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::tree::line_of;

/// Everything that is wrong with a job file; at least one problem, in the order of the file.
#[derive(Clone, Debug)]
pub struct JobFileErrors {
    /// The file, as it was named.
    pub file_name: String,
    /// Its text, for showing the lines.
    pub text: Arc<str>,
    /// What is wrong.
    pub problems: Vec<Problem>,
}

/// One thing that is wrong with a job file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The code of its page `docs/errors/E####.md`.
    pub code: &'static str,
    /// Which value: `sources.orders.format`; empty for the whole file.
    pub path: String,
    /// The bytes of the text that it is about.
    pub span: Range<usize>,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// What was expected and found.
    pub message: String,
    /// What to do, where we know.
    pub help: Option<String>,
}

impl fmt::Display for JobFileErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{} {}:{}:{}: ", problem.code, self.file_name, problem.line, problem.column)?;
            if !problem.path.is_empty() {
                write!(f, "`{}`: ", problem.path)?;
            }
            f.write_str(&problem.message)?;
            if let Some(help) = &problem.help {
                write!(f, "\n  help: {help}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for JobFileErrors {}

/// The most problems that are kept: a person repairs a few at a time, and a file of a million wrong
/// keys must not fill the memory.
const MAX_PROBLEMS: usize = 100;

/// Problems as they are found, in any order.
#[derive(Debug)]
pub(super) struct Problems {
    text: Arc<str>,
    found: Vec<Problem>,
    dropped: usize,
}

impl Problems {
    pub(super) fn new(text: Arc<str>) -> Self {
        Self { text, found: Vec::new(), dropped: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Whether what is added is only counted.
    pub(super) fn is_full(&self) -> bool {
        self.found.len() >= MAX_PROBLEMS
    }

    pub(super) fn add(&mut self, code: &'static str, path: &str, span: Range<usize>, message: impl Into<String>) {
        self.add_with_help(code, path, span, message, None);
    }

    pub(super) fn add_with_help(
        &mut self,
        code: &'static str,
        path: &str,
        span: Range<usize>,
        message: impl Into<String>,
        help: Option<String>,
    ) {
        if self.is_full() {
            self.dropped += 1;
            return;
        }
        let (line, column) = self.line_and_column(span.start);
        self.found.push(Problem { code, path: path.to_owned(), span, line, column, message: message.into(), help });
    }

    /// Takes back what was found, where something else turns out to be the reason.
    pub(super) fn retract(&mut self, code: &str, path: &str, message: &str) {
        self.found.retain(|it| (it.code, it.path.as_str(), it.message.as_str()) != (code, path, message));
    }

    /// All problems in the order of the file.
    pub(super) fn into_errors(mut self, file_name: &str) -> JobFileErrors {
        self.found.sort_by_key(|problem| problem.span.start);
        if self.dropped > 0
            && let Some(last) = self.found.last_mut()
        {
            last.help = Some(format!("{} more problems are not shown", self.dropped));
        }
        JobFileErrors { file_name: file_name.to_owned(), text: self.text, problems: self.found }
    }

    fn line_and_column(&self, at: usize) -> (usize, usize) {
        let before = self.text.get(..at).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
        (line_of(&self.text, at), column)
    }
}
