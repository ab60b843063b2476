//! Who owns a job.
//!
//! Owning is a row in the manifest log: whoever creates a claim owns the job until somebody else creates the
//! next one. The owner creates every later record at its last known number plus one; meeting a record of somebody
//! else there is how it learns that it is *fenced*. This needs nothing but a log whose numbers are created once.
//!
//! # Words
//! - *entry*: a record of the log as it was read; *damaged*: what cannot be read
//! - *outcome*: how an attempt to create a record ended
//!
//! # Invariants
//! 1. Generations rise along the log, whatever can be read of it.
//! 2. [`Ownership`] is made by the creation of a claim and by nothing else; it ends with the first number that
//!    is taken, for good.
//! 3. An attempt of unknown outcome is made again, as the same record under the same number, before anything else.
//!
//! # Absent on purpose
//! Leases and clocks: an owner that sleeps for a week wakes up fenced.

use std::fmt;

use model::{Creation, Generation, JobName, LineageId, ObjectNumber};

use crate::manifest::{Claim, LogRecord};

#[cfg(test)]
mod tests;

/// How often the log is read again because a number was taken, before its listing is not believed any more.
/// Each time somebody else claimed the job or finished a checkpoint in the moment between; that many in a row means
/// that the listing does not show what is there.
pub const MAX_READS: u32 = 16;

/// A record of the log as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Its number.
    pub number: ObjectNumber,
    /// What it says.
    pub content: Content,
}

/// What an entry says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A record.
    Record(LogRecord),
    /// Nothing that can be read, and why.
    Damaged(String),
    /// A newer program wrote it.
    Newer(String),
}

/// How an attempt to create a record ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is there and it is ours.
    Created,
    /// Somebody else's record has the number.
    Taken,
    /// Nobody knows.
    Unknown,
}

impl From<Creation> for Outcome {
    fn from(creation: Creation) -> Self {
        match creation {
            Creation::Created => Self::Created,
            Creation::Taken => Self::Taken,
        }
    }
}

/// Why a job cannot be claimed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The log is another job's.
    #[error("the log belongs to job `{found}`: expected `{expected}` (record {number})")]
    Foreign {
        /// The job that was to be claimed.
        expected: JobName,
        /// The job that the log belongs to.
        found: JobName,
        /// The record that says so.
        number: ObjectNumber,
    },
    /// A newer program owned the job last.
    #[error("record {number} of the log was written by a newer program: {why}")]
    Newer {
        /// The record.
        number: ObjectNumber,
        /// What is newer.
        why: String,
    },
    /// The listing does not show what is there.
    #[error("the number after the newest listed record was taken {reads} times in a row, the last was {number}")]
    ListingStale {
        /// How often the log was read.
        reads: u32,
        /// The number that was tried last.
        number: ObjectNumber,
    },
}

impl Error {
    /// Names its page.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Foreign { .. } => "E0430",
            Self::Newer { .. } => "E0431",
            Self::ListingStale { .. } => "E0432",
        }
    }
}

/// The lineage that a claim names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineageChoice {
    /// That of the log; where it has none, this one, which was drawn.
    Continue(LineageId),
    /// This one, which was drawn: a rewind.
    Begin(LineageId),
}

/// On the way to owning a job.
#[derive(Clone, Debug)]
pub struct Claiming {
    job: JobName,
    owner: String,
    lineage: LineageChoice,
    reads: u32,
    proposed: Option<(ObjectNumber, Claim)>,
}

/// What follows from an attempt to create a claim.
#[derive(Debug)]
#[must_use]
pub enum ClaimStep {
    /// The job is ours.
    Own(Ownership),
    /// Create the same claim again, with the same nonce.
    CreateAgain,
    /// Read the log again and propose anew.
    ReadAgain,
}

impl Claiming {
    /// Somebody wants to own `job`. `owner` says who, for a person.
    #[must_use]
    pub fn new(job: JobName, owner: String, lineage: LineageChoice) -> Self {
        Self { job, owner, lineage, reads: 0, proposed: None }
    }

    /// The claim to create, and its number. `entries` are what was read, by rising number: the newest record, and
    /// those before it back to the newest manifest that can be read.
    ///
    /// # Errors
    /// When the log is not one that this program may add to.
    pub fn propose(&mut self, entries: &[LogEntry]) -> Result<(ObjectNumber, Claim), Error> {
        self.check(entries)?;
        let number = entries.last().map_or(ObjectNumber(0), |entry| ObjectNumber(entry.number.0 + 1));
        self.reads += 1;
        if self.reads > MAX_READS {
            return Err(Error::ListingStale { reads: MAX_READS, number });
        }
        let lineage = match self.lineage {
            LineageChoice::Begin(lineage) => lineage,
            LineageChoice::Continue(drawn) => lineage_of(entries).unwrap_or(drawn),
        };
        let generation = next_generation(entries);
        let claim = Claim { job: self.job.clone(), generation, lineage, owner: self.owner.clone() };
        self.proposed = Some((number, claim.clone()));
        Ok((number, claim))
    }

    /// What follows from how the creation of the proposed claim ended.
    pub fn after_create(&mut self, outcome: Outcome) -> ClaimStep {
        match (outcome, self.proposed.take()) {
            (Outcome::Created, Some((number, claim))) => {
                ClaimStep::Own(Ownership { claim, last: number, fenced: false })
            }
            (Outcome::Unknown, Some(proposed)) => {
                self.proposed = Some(proposed);
                ClaimStep::CreateAgain
            }
            (Outcome::Taken, _) | (_, None) => ClaimStep::ReadAgain,
        }
    }

    fn check(&self, entries: &[LogEntry]) -> Result<(), Error> {
        for entry in entries {
            let number = entry.number;
            match &entry.content {
                Content::Record(record) if *record.job() != self.job => {
                    let (expected, found) = (self.job.clone(), record.job().clone());
                    return Err(Error::Foreign { expected, found, number });
                }
                Content::Newer(why) => return Err(Error::Newer { number, why: why.clone() }),
                Content::Record(_) | Content::Damaged(_) => {}
            }
        }
        Ok(())
    }
}

/// The right to add to the log of a job.
#[derive(Debug, PartialEq, Eq)]
pub struct Ownership {
    claim: Claim,
    last: ObjectNumber,
    fenced: bool,
}

/// What follows from an attempt of an owner to create a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum OwnerStep {
    /// The record is in the log.
    Listed,
    /// Create the same record again, with the same nonce.
    CreateAgain,
    /// Somebody else claimed the job: stop writing.
    Fenced,
}

/// Somebody else claimed the job.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("generation {generation} of job `{job}` is fenced: record {number} of its log belongs to a newer claim")]
pub struct Fenced {
    /// The job.
    pub job: JobName,
    /// The incarnation that has to stop.
    pub generation: Generation,
    /// The number at which it met the other.
    pub number: ObjectNumber,
}

impl Fenced {
    /// Names its page.
    pub const CODE: &'static str = "E0433";
}

impl Ownership {
    /// The job.
    #[must_use]
    pub fn job(&self) -> &JobName {
        &self.claim.job
    }

    /// The generation that owns it.
    #[must_use]
    pub fn generation(&self) -> Generation {
        self.claim.generation
    }

    /// The lineage that was claimed.
    #[must_use]
    pub fn lineage(&self) -> LineageId {
        self.claim.lineage
    }

    /// The number of the next record.
    ///
    /// # Errors
    /// When the right has ended.
    pub fn next_number(&self) -> Result<ObjectNumber, Fenced> {
        let number = ObjectNumber(self.last.0 + 1);
        if self.fenced {
            return Err(Fenced { job: self.claim.job.clone(), generation: self.claim.generation, number });
        }
        Ok(number)
    }

    /// What follows from how the creation of a record at [`Ownership::next_number`] ended.
    pub fn after_create(&mut self, outcome: Outcome) -> OwnerStep {
        match outcome {
            _ if self.fenced => OwnerStep::Fenced,
            Outcome::Created => {
                self.last = ObjectNumber(self.last.0 + 1);
                OwnerStep::Listed
            }
            Outcome::Unknown => OwnerStep::CreateAgain,
            Outcome::Taken => {
                self.fenced = true;
                OwnerStep::Fenced
            }
        }
    }
}

impl fmt::Display for Ownership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "generation {} of job `{}`, lineage {}", self.claim.generation, self.claim.job, self.claim.lineage)
    }
}

/// The lineage that the log goes on with: that of the newest manifest; without one, that of the newest claim.
#[must_use]
pub fn lineage_of(entries: &[LogEntry]) -> Option<LineageId> {
    let records = || {
        entries.iter().rev().filter_map(|entry| match &entry.content {
            Content::Record(record) => Some(record),
            Content::Damaged(_) | Content::Newer(_) => None,
        })
    };
    let of_manifest = records().find_map(|record| match record {
        LogRecord::Complete(manifest) => Some(manifest.lineage),
        LogRecord::Claim(_) => None,
    });
    of_manifest.or_else(|| {
        records().find_map(|record| match record {
            LogRecord::Claim(claim) => Some(claim.lineage),
            LogRecord::Complete(_) => None,
        })
    })
}

/// A generation above all in the log. A record that cannot be read raised the generation by one at most, and
/// every number holds one record at most.
fn next_generation(entries: &[LogEntry]) -> Generation {
    let Some(newest) = entries.last().map(|entry| entry.number.0) else { return Generation(1) };
    let readable = entries.iter().rev().find_map(|entry| match &entry.content {
        Content::Record(record) => Some((entry.number.0, record.generation().0)),
        Content::Damaged(_) | Content::Newer(_) => None,
    });
    match readable {
        Some((number, generation)) => Generation(generation + (newest - number) + 1),
        None => Generation(newest + 2),
    }
}
