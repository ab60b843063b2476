//! What becomes of a record that cannot be handled.

use model::job::OnError;

/// What to do with a bad record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The job fails with it.
    Fail,
    /// It is counted and dropped.
    Skip,
    /// It is counted and written to the dead letters.
    DeadLetter,
}

/// The fate of a bad record. A job without dead letters cannot keep one: it fails rather than lose it
/// silently.
#[must_use]
pub fn fate(policy: OnError, job_has_dead_letters: bool) -> Fate {
    match policy {
        OnError::Fail => Fate::Fail,
        OnError::Skip => Fate::Skip,
        OnError::DeadLetter if job_has_dead_letters => Fate::DeadLetter,
        OnError::DeadLetter => Fate::Fail,
    }
}

#[cfg(test)]
mod tests;
