//! A new lineage over an old place: `--fresh`.
//!
//! The old checkpoints stay where they are. What begins is a manifest of a new lineage that keeps nothing; the job
//! then goes on from it as from any other, and whoever still runs the old lineage is fenced by the claim.

use std::collections::BTreeMap;

use contract::{Clock, Randomness};
use model::job::JobSpec;
use model::{EventTime, LineageId};
use protocol::key_group;
use protocol::manifest::{CheckpointKind, Manifest, Rewound};
use runtime::SystemClock;

use super::durable::{Place, owner};
use crate::randomness::SystemRandomness;
use crate::report::{CliError, Problem};

/// Begins a new lineage where the place holds one; nothing is to be done where it does not. The number of key groups
/// is that of the job file, and the host's clock begins with that of the machine: nothing is kept that either decides on.
///
/// # Errors
/// Without `is_confirmed`, what it would mean; when the log cannot be added to.
pub(super) fn begin(place: &mut Place, spec: &JobSpec, is_confirmed: bool) -> Result<(), CliError> {
    let Some(newest) = &place.newest else { return Ok(()) };
    if !is_confirmed {
        return Err(CliError::of(Problem {
            code: Some("E0472".to_owned()),
            message: format!(
                "--fresh leaves checkpoint {} of lineage {} behind: the job reads everything again with empty state, and \
                 its sinks publish everything again beside what they have published",
                newest.epoch, newest.lineage
            ),
            help: Some("say --fresh --yes if that is meant; without --fresh the job resumes".to_owned()),
            ..Problem::default()
        }));
    }
    let randomness = SystemRandomness::open()?;
    let lineage = LineageId(randomness.draw());
    let manifest = |generation| {
        Ok::<_, CliError>(Manifest {
            lineage,
            generation,
            kind: CheckpointKind::Restore,
            rewound: Some(Rewound { lineage: newest.lineage, epoch: newest.epoch }),
            key_groups: spec.key_groups,
            key_hash: key_group::ALGORITHM.to_owned(),
            host_clock: SystemClock::new().now(),
            watermark: EventTime::UNKNOWN,
            parent: None,
            sources: BTreeMap::new(),
            operators: BTreeMap::new(),
            sinks: BTreeMap::new(),
            ..newest.clone()
        })
    };
    let log = place.store.log.as_ref();
    place.newest = Some(runtime::adopt(log, &randomness, &newest.job, &owner(), lineage, manifest)?);
    Ok(())
}
