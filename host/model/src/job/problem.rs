//! What is wrong with a job file.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

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
