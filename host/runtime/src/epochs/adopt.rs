//! Putting a manifest into a job's log that no running job made: what a job is to go on from.
//!
//! The job is claimed for it, so whoever runs it is fenced, and the manifest is the next record.

use contract::{CheckpointStore, Error, Randomness};
use model::{Blame, Generation, JobName, LineageId, Retry};
use protocol::manifest::{LogRecord, Manifest, encode};
use protocol::ownership::{Fenced, LineageChoice, OwnerStep};

use super::own::{claim, create};

/// Claims `job` for a new lineage and makes what `make` gives the newest record of its log: names of objects begin with
/// the generation that `make` is told. Returns the record.
///
/// # Errors
/// When the log does not answer, is another job's or a newer program's, or somebody else claims the job at the same
/// time; what `make` says. After an error of `make` the job is claimed and goes on from what was there before.
pub fn adopt<E: From<Error>>(
    log: &dyn CheckpointStore,
    randomness: &dyn Randomness,
    job: &JobName,
    owner: &str,
    lineage: LineageId,
    make: impl FnOnce(Generation) -> Result<Manifest, E>,
) -> Result<Manifest, E> {
    let (mut ownership, _) = claim(log, randomness, job, owner, LineageChoice::Begin(lineage))?;
    let manifest = make(ownership.generation())?;
    let body = encode(&LogRecord::Complete(Box::new(manifest.clone())));
    let number = ownership.next_number().map_err(|fenced| overtaken(&fenced))?;
    match ownership.after_create(create(log, number, randomness, &body)?) {
        OwnerStep::Listed => Ok(manifest),
        OwnerStep::Fenced | OwnerStep::CreateAgain => {
            let (job, generation) = (job.clone(), manifest.generation);
            Err(overtaken(&Fenced { job, generation, number }).into())
        }
    }
}

pub(super) fn overtaken(fenced: &Fenced) -> Error {
    Error::new(Blame::Config, Retry::No, fenced.to_string()).with_code(Fenced::CODE)
}
