//! What must hold, while the job runs and in the end.

use std::collections::BTreeMap;
use std::fmt;

use model::Epoch;

use crate::input::Input;
use crate::target::Line;

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// Output of an epoch was made visible before a manifest said that the epoch is.
    VisibleBeforeManifest {
        /// The epoch.
        epoch: Epoch,
        /// The newest manifest.
        newest: Option<Epoch>,
    },
    /// A manifest lists an object that is not there.
    StagedOutputGone {
        /// The epoch.
        epoch: Epoch,
    },
    /// A manifest lists a part of state that is not there.
    StateGone {
        /// The object.
        name: String,
    },
    /// What is visible is not what must be.
    WrongOutput {
        /// The key.
        key: String,
        /// What must be visible, in order.
        expected: Vec<u64>,
        /// What is.
        found: Vec<u64>,
    },
    /// The job was refused a start, or failed, for a reason that nothing in the run explains.
    Refused {
        /// What was said.
        why: String,
    },
    /// The job did not come to its end.
    Stuck {
        /// After how many steps.
        steps: u64,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::VisibleBeforeManifest { epoch, newest } => {
                write!(f, "epoch {epoch} is visible, the newest manifest is {newest:?}")
            }
            Self::StagedOutputGone { epoch } => write!(f, "staged output of epoch {epoch} is gone"),
            Self::StateGone { name } => write!(f, "object {name} is listed and gone"),
            Self::WrongOutput { key, expected, found } => {
                write!(f, "key {key}: expected {expected:?}, found {found:?}")
            }
            Self::Refused { why } => write!(f, "refused: {why}"),
            Self::Stuck { steps } => write!(f, "not at its end after {steps} steps"),
        }
    }
}

/// Compares what is visible with what must be, key by key and in order. Counts alone would not do: a loss and a
/// repeat cancel out.
pub(crate) fn check_output(input: &Input, visible: &[Line]) -> Result<(), Violation> {
    let mut found: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for (key, count) in visible {
        found.entry(key).or_default().push(*count);
    }
    let expected = input.expected();
    for (key, expected) in &expected {
        let found = found.remove(key.as_str()).unwrap_or_default();
        if found != *expected {
            return Err(Violation::WrongOutput { key: key.clone(), expected: expected.clone(), found });
        }
    }
    match found.into_iter().next() {
        Some((key, found)) => Err(Violation::WrongOutput { key: key.to_owned(), expected: Vec::new(), found }),
        None => Ok(()),
    }
}
