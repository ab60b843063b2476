//! A manifest from a savepoint.

use std::collections::BTreeMap;
use std::path::Path;

use checkpoint::JobStore;
use checkpoint::savepoint::{Metadata, Reader};
use contract::{Randomness, SnapshotStore, StateBackend, gather_objects};
use model::job::JobSpec;
use model::{Generation, KeyGroup, KeyGroupRange, LineageId, OperatorUid, SubtaskIndex};
use protocol::key_group;
use protocol::manifest::{
    CheckpointKind, Manifest, OperatorState, Part, PartKind, Rewound, SinkState, SourceState, SplitState,
};
use protocol::retention::ObjectName;
use state::MemoryBackend;

use super::whole;
use crate::report::{CliError, Problem};

/// What a job is started from.
pub(crate) struct Start<'a> {
    pub(crate) spec: &'a JobSpec,
    pub(crate) store: &'a JobStore,
    /// The newest checkpoint of the storage.
    pub(crate) newest: Option<&'a Manifest>,
    pub(crate) randomness: &'a dyn Randomness,
    /// Who starts it, for a person.
    pub(crate) owner: &'a str,
    /// Whether going back behind what was published is meant.
    pub(crate) may_rewind: bool,
}

/// Makes the savepoint in `folder` the newest checkpoint of the storage, in a new lineage. `None`: the storage goes on
/// from it already, so there is nothing to do.
///
/// # Errors
/// When the savepoint does not fit the job, or the storage holds something newer and a rewind was not asked for.
pub(crate) fn start_from(folder: &Path, start: &Start<'_>) -> Result<Option<Manifest>, CliError> {
    let reader = Reader::open(folder).map_err(contract::Error::from)?;
    let savepoint = reader.metadata();
    check_fits(savepoint, start.spec, folder)?;
    let left = match start.newest {
        None => savepoint.lineage,
        Some(newest) if began_with(newest, savepoint) => return Ok(None),
        Some(newest) if start.may_rewind => newest.lineage,
        Some(newest) if (newest.lineage, newest.epoch) == (savepoint.lineage, savepoint.epoch) => return Ok(None),
        Some(newest) => return Err(newer(newest, savepoint, folder)),
    };
    let lineage = LineageId(start.randomness.draw());
    let manifest = |generation| {
        let mut operators = BTreeMap::new();
        for uid in savepoint.operators.keys() {
            operators.insert(uid.clone(), operator(&reader, uid, start.store.objects.as_ref(), generation)?);
        }
        Ok(Manifest {
            job: savepoint.job.clone(),
            lineage,
            generation,
            epoch: savepoint.epoch,
            parent: None,
            kind: CheckpointKind::Restore,
            rewound: Some(Rewound { lineage: left, epoch: savepoint.epoch }),
            key_groups: savepoint.key_groups,
            key_hash: savepoint.key_hash.clone(),
            host_clock: savepoint.host_clock,
            watermark: savepoint.watermark,
            sources: sources(savepoint),
            operators,
            sinks: sinks(savepoint),
        })
    };
    let (log, job) = (start.store.log.as_ref(), &savepoint.job);
    runtime::adopt(log, start.randomness, job, start.owner, lineage, manifest).map(Some)
}

/// Whether the newest checkpoint came from a start with the savepoint.
fn began_with(newest: &Manifest, savepoint: &Metadata) -> bool {
    newest.rewound == Some(Rewound { lineage: savepoint.lineage, epoch: savepoint.epoch })
}

fn newer(newest: &Manifest, savepoint: &Metadata, folder: &Path) -> CliError {
    CliError::of(Problem {
        code: Some("E0474".to_owned()),
        message: format!(
            "the storage holds checkpoint {} of lineage {}: savepoint `{}` is of checkpoint {} of lineage {}, so what was \
             published after it would be published again",
            newest.epoch,
            newest.lineage,
            folder.display(),
            savepoint.epoch,
            savepoint.lineage
        ),
        help: Some(
            "leave --from-savepoint out to resume from the newest checkpoint; if going back is meant, add --rewind"
                .to_owned(),
        ),
        ..Problem::default()
    })
}

fn check_fits(savepoint: &Metadata, spec: &JobSpec, folder: &Path) -> Result<(), CliError> {
    let why = if savepoint.job != spec.name {
        format!("is of job `{}`: expected `{}`", savepoint.job, spec.name)
    } else if savepoint.key_groups != spec.key_groups {
        format!(
            "has {} key groups: the job has {}, and their number never changes",
            savepoint.key_groups, spec.key_groups
        )
    } else if savepoint.key_hash != key_group::ALGORITHM {
        format!("spreads keys by `{}`: this program does by `{}`", savepoint.key_hash, key_group::ALGORITHM)
    } else {
        return Ok(());
    };
    Err(CliError::of(Problem {
        code: Some("E0475".to_owned()),
        message: format!("savepoint `{}` {why}", folder.display()),
        ..Problem::default()
    }))
}

fn operator(
    reader: &Reader,
    uid: &OperatorUid,
    objects: &dyn SnapshotStore,
    generation: Generation,
) -> Result<OperatorState, CliError> {
    let savepoint = reader.metadata();
    let Some(described) = savepoint.operators.get(uid) else { return Ok(OperatorState::default()) };
    let mut state =
        OperatorState { module: described.module, key: None, states: described.states.clone(), parts: Vec::new() };
    if described.entries.entries == 0 {
        return Ok(state);
    }
    let mut table = MemoryBackend::default().open(whole(uid, savepoint.key_groups, &described.states))?;
    let mut entries = reader.entries(uid).map_err(contract::Error::from)?;
    while let Some(entry) = entries.next_entry().map_err(contract::Error::from)? {
        table.import(entry)?;
    }
    let mut kept = Vec::new();
    // Everything changed since the table was opened.
    for pieces in gather_objects(table.snapshot()?.segments.into_iter().map(Ok)) {
        let name = ObjectName {
            folder: "state".to_owned(),
            generation,
            epoch: savepoint.epoch,
            operator: uid.clone(),
            subtask: SubtaskIndex(0),
            number: u32::try_from(kept.len()).unwrap_or(u32::MAX),
        };
        kept.push(objects.put(&name.to_string(), &pieces?)?);
    }
    let key_groups = KeyGroupRange { first: KeyGroup(0), end: KeyGroup(savepoint.key_groups) };
    state.parts.push(Part { key_groups, kind: PartKind::Image, epoch: savepoint.epoch, objects: kept });
    Ok(state)
}

fn sources(savepoint: &Metadata) -> BTreeMap<OperatorUid, SourceState> {
    let sources = savepoint.sources.iter().map(|(uid, source)| {
        let splits = source.splits.iter().map(|split| SplitState {
            name: split.name.clone(),
            position: split.position,
            identity: split.identity.clone(),
            greatest_event_time: split.greatest_event_time,
            ended: split.ended,
        });
        (uid.clone(), SourceState { splits: splits.collect() })
    });
    sources.collect()
}

/// In the new lineage nothing is published yet, and nothing staged.
fn sinks(savepoint: &Metadata) -> BTreeMap<OperatorUid, SinkState> {
    let sink = |delivery| SinkState { delivery, published: None, pending: Vec::new() };
    savepoint.sinks.iter().map(|(uid, known)| (uid.clone(), sink(known.delivery))).collect()
}
