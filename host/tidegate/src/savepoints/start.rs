//! A manifest from a savepoint.

use std::collections::BTreeMap;
use std::path::Path;

use checkpoint::JobStore;
use checkpoint::savepoint::{Metadata, Operator, Reader};
use contract::{Randomness, StateEntry};
use model::job::JobSpec;
use model::{Generation, JobName, KeyGroup, KeyGroupRange, LineageId, OperatorUid};
use protocol::key_group;
use protocol::manifest::{
    CheckpointKind, Manifest, OperatorState, Part, PartKind, Rewound, SinkState, SourceState, SplitState,
};
use runtime::{JobGraph, OnRewrite, TakeUp};

use super::Mapping;
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
    /// The job, with the modules that it is to go on with.
    pub(crate) graph: &'a JobGraph,
    /// What has another name in it.
    pub(crate) mapping: &'a Mapping,
    /// The job that the savepoint may be of, besides the one that is started.
    pub(crate) may_be_of: Option<&'a JobName>,
    /// State that may be dropped, under the names that the job would have for it.
    pub(crate) drop_state: &'a [String],
    /// Is told how far it is.
    pub(crate) on_rewrite: Option<OnRewrite>,
}

/// Makes the savepoint in `folder` the newest checkpoint of the storage, in a new lineage. `None`: the storage goes on
/// from it already, so there is nothing to do.
///
/// # Errors
/// When the savepoint does not fit the job, or the storage holds something newer and a rewind was not asked for.
pub(crate) fn start_from(folder: &Path, start: &Start<'_>) -> Result<Option<Manifest>, CliError> {
    let reader = Reader::open(folder).map_err(contract::Error::from)?;
    let savepoint = reader.metadata();
    if start.newest.is_some_and(|newest| began_with(newest, savepoint)) {
        return Ok(None);
    }
    check_fits(savepoint, start, folder)?;
    let is_point = |newest: &Manifest| (newest.lineage, newest.epoch) == (savepoint.lineage, savepoint.epoch);
    let left = match start.newest {
        None => savepoint.lineage,
        Some(newest) if start.may_rewind => newest.lineage,
        Some(newest) if is_point(newest) && start.mapping.is_empty() => return Ok(None),
        Some(newest) if is_point(newest) => newest.lineage,
        Some(newest) => return Err(newer(newest, savepoint, folder)),
    };
    start.mapping.check(savepoint, start.graph)?;
    let lineage = LineageId(start.randomness.draw());
    let described = described(savepoint, start, lineage, left);
    let fitted = runtime::judge(start.graph, &described, start.drop_state)?;
    let mut entries = |uid: &OperatorUid, visit: &mut dyn FnMut(StateEntry<'_>) -> Result<(), contract::Error>| {
        let mut entries = reader.entries(&start.mapping.of_savepoint(uid))?;
        while let Some(entry) = entries.next_entry()? {
            visit(entry)?;
        }
        Ok(())
    };
    let make = |generation| {
        let objects = start.store.objects.as_ref();
        let to = TakeUp { objects, generation, on_rewrite: start.on_rewrite.clone() };
        Ok::<_, CliError>(fitted.take_up(start.graph, &to, &mut entries)?)
    };
    let (log, job) = (start.store.log.as_ref(), &start.spec.name);
    runtime::adopt(log, start.randomness, job, start.owner, lineage, make).map(Some)
}

/// What the savepoint says, under the names of the job. Parts without objects stand for its entries.
fn described(savepoint: &Metadata, start: &Start<'_>, lineage: LineageId, left: LineageId) -> Manifest {
    let operator = |(uid, described): (&OperatorUid, &Operator)| {
        let key_groups = KeyGroupRange { first: KeyGroup(0), end: KeyGroup(savepoint.key_groups) };
        let part = Part { key_groups, kind: PartKind::Image, epoch: savepoint.epoch, objects: Vec::new() };
        let state = OperatorState {
            module: described.module,
            key: described.key.clone(),
            states: start.mapping.states(uid, &described.states),
            parts: if described.entries.entries == 0 { Vec::new() } else { vec![part] },
        };
        (start.mapping.of_job(uid), state)
    };
    Manifest {
        job: start.spec.name.clone(),
        lineage,
        generation: Generation(0),
        epoch: savepoint.epoch,
        parent: None,
        kind: CheckpointKind::Restore,
        rewound: Some(Rewound { lineage: left, epoch: savepoint.epoch }),
        key_groups: savepoint.key_groups,
        key_hash: savepoint.key_hash.clone(),
        host_clock: savepoint.host_clock,
        watermark: savepoint.watermark,
        sources: sources(savepoint, start.mapping),
        operators: savepoint.operators.iter().map(operator).collect(),
        sinks: sinks(savepoint, start.mapping),
    }
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

fn check_fits(savepoint: &Metadata, start: &Start<'_>, folder: &Path) -> Result<(), CliError> {
    let spec = start.spec;
    let is_allowed = savepoint.job == spec.name || start.may_be_of == Some(&savepoint.job);
    let why = if !is_allowed {
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

fn sources(savepoint: &Metadata, mapping: &Mapping) -> BTreeMap<OperatorUid, SourceState> {
    let sources = savepoint.sources.iter().map(|(uid, source)| {
        let splits = source.splits.iter().map(|split| SplitState {
            name: split.name.clone(),
            position: split.position,
            identity: split.identity.clone(),
            greatest_event_time: split.greatest_event_time,
            ended: split.ended,
        });
        (mapping.of_job(uid), SourceState { splits: splits.collect() })
    });
    sources.collect()
}

/// In the new lineage nothing is published yet, and nothing staged.
fn sinks(savepoint: &Metadata, mapping: &Mapping) -> BTreeMap<OperatorUid, SinkState> {
    let sink = |delivery| SinkState { delivery, published: None, pending: Vec::new() };
    savepoint.sinks.iter().map(|(uid, known)| (mapping.of_job(uid), sink(known.delivery))).collect()
}
