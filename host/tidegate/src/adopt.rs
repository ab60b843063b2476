//! Putting a manifest into a job's log that no running job made: what a job is to go on from.
//!
//! The job is claimed for it, so whoever runs it is fenced, and the manifest is the next record.

use contract::{CheckpointStore, Creation, Nonce, Randomness};
use model::{Generation, JobName, LineageId, ObjectNumber, Retry};
use protocol::manifest::{self, LogRecord, Manifest, encode};
use protocol::ownership::{ClaimStep, Claiming, Content, LineageChoice, LogEntry, Outcome, OwnerStep, Ownership};

use crate::report::CliError;

/// How often an attempt whose outcome nobody knows is repeated.
const MOST_TRIES: u32 = 8;

/// Claims the job of `manifest` and makes it the newest record. Returns it with the generation that was claimed.
///
/// # Errors
/// When the log does not answer, or somebody else claims the job at the same time.
pub(crate) fn adopt(
    log: &dyn CheckpointStore,
    randomness: &dyn Randomness,
    owner: &str,
    manifest: Manifest,
) -> Result<Manifest, CliError> {
    let (job, lineage) = (manifest.job.clone(), manifest.lineage);
    adopt_with(log, randomness, &job, owner, lineage, |generation| Ok(Manifest { generation, ..manifest }))
}

/// As [`adopt`], with a manifest that is made once the generation is known: names of objects begin with it.
///
/// # Errors
/// As those of [`adopt`]; what `make` says.
pub(crate) fn adopt_with(
    log: &dyn CheckpointStore,
    randomness: &dyn Randomness,
    job: &JobName,
    owner: &str,
    lineage: LineageId,
    make: impl FnOnce(Generation) -> Result<Manifest, CliError>,
) -> Result<Manifest, CliError> {
    let mut ownership = claim(log, randomness, owner, job, lineage)?;
    let manifest = make(ownership.generation())?;
    let body = encode(&LogRecord::Complete(Box::new(manifest.clone())));
    let number = ownership.next_number().map_err(|fenced| CliError::failed(fenced.to_string()))?;
    match ownership.after_create(create(log, randomness, number, &body)?) {
        OwnerStep::Listed => Ok(manifest),
        OwnerStep::Fenced | OwnerStep::CreateAgain => Err(CliError::failed(format!(
            "somebody else claimed job `{}` at the same moment: record {number} of its log is theirs",
            manifest.job
        ))
        .with_help("make sure that nobody runs the job, and try again")),
    }
}

fn claim(
    log: &dyn CheckpointStore,
    randomness: &dyn Randomness,
    owner: &str,
    job: &JobName,
    lineage: LineageId,
) -> Result<Ownership, CliError> {
    let mut claiming = Claiming::new(job.clone(), owner.to_owned(), LineageChoice::Begin(lineage));
    loop {
        let entries = read(log)?;
        let (number, claim) = claiming.propose(&entries).map_err(|error| CliError::failed(error.to_string()))?;
        let outcome = create(log, randomness, number, &encode(&LogRecord::Claim(claim)))?;
        if let ClaimStep::Own(ownership) = claiming.after_create(outcome) {
            return Ok(ownership);
        }
    }
}

/// Creates a record; one whose outcome is not known is created again, the same.
fn create(
    log: &dyn CheckpointStore,
    randomness: &dyn Randomness,
    number: ObjectNumber,
    body: &[u8],
) -> Result<Outcome, CliError> {
    let nonce = Nonce(u128::from(randomness.draw()) << 64 | u128::from(randomness.draw()));
    let mut tries = 0;
    loop {
        tries += 1;
        match log.create(number, nonce, body) {
            Ok(Creation::Created) => return Ok(Outcome::Created),
            Ok(Creation::Taken) => return Ok(Outcome::Taken),
            Err(error) if error.retry() == Retry::Backoff && tries < MOST_TRIES => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// The log from the newest manifest that can be read to its end.
fn read(log: &dyn CheckpointStore) -> Result<Vec<LogEntry>, CliError> {
    let mut entries = Vec::new();
    for number in log.list()?.into_iter().rev() {
        let content = match log.read(number) {
            Ok(None) => continue,
            Err(error) if error.retry() == Retry::Backoff => return Err(error.into()),
            Err(error) => Content::Damaged(error.to_string()),
            Ok(Some(object)) => match manifest::decode(&object.body) {
                Ok(record) => Content::Record(record),
                Err(error @ manifest::Error::Newer { .. }) => Content::Newer(error.to_string()),
                Err(error) => Content::Damaged(error.to_string()),
            },
        };
        let is_manifest = matches!(content, Content::Record(LogRecord::Complete(_)));
        entries.push(LogEntry { number, content });
        if is_manifest {
            break;
        }
    }
    entries.reverse();
    Ok(entries)
}
