//! Why a job failed: the first failure of any subtask, with everything a person needs to act.

use std::error::Error as StdError;
use std::fmt;

use model::{Blame, OperatorUid, Position, Retry, SubtaskIndex};
use serde::Serialize;

/// Where a record stands, in words of the user.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Coordinates {
    /// The source.
    pub source: OperatorUid,
    /// The name of the split: a file's path, a topic and partition.
    pub split: String,
    /// Where it stands in the split.
    pub position: Position,
}

impl fmt::Display for Coordinates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` split `{}`, position {}", self.source, self.split, self.position)
    }
}

/// The failure that stopped a job: the first one, whatever followed from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JobFailure {
    /// Where it happened.
    pub operator: OperatorUid,
    /// In which of its subtasks.
    pub subtask: SubtaskIndex,
    /// The record it is about, if it is about one.
    pub record: Option<Coordinates>,
    /// The code of its page.
    pub code: Option<String>,
    /// Whose fault it is.
    pub blame: Blame,
    /// What helps now.
    pub retry: Retry,
    /// What happened: names things and values.
    pub message: String,
    /// What caused it, nearest first.
    pub causes: Vec<String>,
}

impl JobFailure {
    /// A failure that crossed a seam.
    pub(crate) fn from_seam(operator: &OperatorUid, subtask: SubtaskIndex, error: &contract::Error) -> Self {
        let full = error.to_string();
        let message = match error.code() {
            Some(code) => full.strip_prefix(code).map_or(full.as_str(), str::trim_start).to_owned(),
            None => full,
        };
        let mut causes = Vec::new();
        let mut next = error.source();
        while let Some(cause) = next {
            causes.push(cause.to_string());
            next = cause.source();
        }
        Self {
            operator: operator.clone(),
            subtask,
            record: None,
            code: error.code().map(str::to_owned),
            blame: error.blame(),
            retry: error.retry(),
            message,
            causes,
        }
    }

    /// A fault of the engine itself.
    pub(crate) fn host(operator: &OperatorUid, subtask: SubtaskIndex, code: &str, message: String) -> Self {
        Self {
            operator: operator.clone(),
            subtask,
            record: None,
            code: Some(code.to_owned()),
            blame: Blame::Host,
            retry: Retry::RestoreFirst,
            message,
            causes: Vec::new(),
        }
    }
}

impl fmt::Display for JobFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(code) = &self.code {
            write!(f, "{code} ")?;
        }
        write!(f, "`{}`/{}: {}", self.operator, self.subtask, self.message)?;
        if let Some(record) = &self.record {
            write!(f, " (record: {record})")?;
        }
        self.causes.iter().try_for_each(|cause| write!(f, ": {cause}"))
    }
}

impl StdError for JobFailure {}
