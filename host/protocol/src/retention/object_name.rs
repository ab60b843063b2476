//! The names of objects.

use std::fmt;

use model::{Epoch, Generation, OperatorUid, SubtaskIndex};

/// The name of an object of a job: who made it, and when. No two are made with the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectName {
    /// What it is, and the folder it lies in: `state`, `staged`.
    pub folder: String,
    /// The incarnation that made it.
    pub generation: Generation,
    /// The epoch it belongs to.
    pub epoch: Epoch,
    /// The operator.
    pub operator: OperatorUid,
    /// The subtask.
    pub subtask: SubtaskIndex,
    /// Which one of the same epoch.
    pub number: u32,
}

impl ObjectName {
    /// The object that is named so; `None` for a name that is none of ours.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (folder, name) = text.split_once('/')?;
        let (generation, rest) = name.split_once('-')?;
        let (epoch, rest) = rest.split_once('-')?;
        let (rest, number) = rest.rsplit_once('-')?;
        let (operator, subtask) = rest.rsplit_once('-')?;
        let parsed = Self {
            folder: folder.to_owned(),
            generation: Generation(generation.parse().ok()?),
            epoch: Epoch(epoch.parse().ok()?),
            operator: OperatorUid::new(operator).ok()?,
            subtask: SubtaskIndex(subtask.parse().ok()?),
            number: number.parse().ok()?,
        };
        (parsed.to_string() == text).then_some(parsed)
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { folder, generation, epoch, operator, subtask, number } = self;
        write!(f, "{folder}/{generation}-{epoch}-{operator}-{subtask}-{number}")
    }
}
