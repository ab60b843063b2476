//! A savepoint from a manifest.

use std::fs;
use std::path::Path;

use checkpoint::JobStore;
use checkpoint::savepoint::{Metadata, Operator, Sink, Source, Split, Writer, unfinished};
use contract::SnapshotStore;
use protocol::manifest::{Manifest, OperatorState, SinkState, SourceState};

use super::spill;
use crate::report::{CliError, Problem};
use crate::storage::newest_manifest;

/// How often it is begun anew because the job gave up the checkpoint meanwhile.
const MOST_TRIES: u32 = 5;

/// Makes a savepoint of the newest complete checkpoint in `folder`, which is made or is empty. The job may run: where
/// it gives up the checkpoint meanwhile, the next one is taken.
///
/// # Errors
/// When no checkpoint is complete, its objects cannot be read, or the folder cannot be written.
pub(crate) fn make(store: &JobStore, folder: &Path) -> Result<Metadata, CliError> {
    let mut tries = 0;
    loop {
        let manifest = newest_manifest(store)?.ok_or_else(nothing_complete)?;
        tries += 1;
        let failed = match made_of(store.objects.as_ref(), &manifest, folder) {
            Ok(metadata) => return Ok(metadata),
            Err(error) => error,
        };
        let is_over = newest_manifest(store)?.is_none_or(|newest| newest.epoch == manifest.epoch);
        if is_over || tries == MOST_TRIES {
            return Err(failed);
        }
    }
}

fn nothing_complete() -> CliError {
    CliError::of(Problem {
        code: Some("E0471".to_owned()),
        message: "the storage holds no complete checkpoint to make a savepoint of".to_owned(),
        help: Some("the first one is complete after the interval that the job file names".to_owned()),
        ..Problem::default()
    })
}

/// Makes a savepoint of `manifest` in `folder`. What was begun and not finished is removed again.
///
/// # Errors
/// When its objects cannot be read, or the folder cannot be written.
fn made_of(objects: &dyn SnapshotStore, manifest: &Manifest, folder: &Path) -> Result<Metadata, CliError> {
    let writer = Writer::create(folder, manifest.key_groups).map_err(contract::Error::from)?;
    let written = write(writer, objects, manifest, folder);
    if written.is_err() {
        // Only what a savepoint that is not finished consists of: another may have been finished here meanwhile. That it
        // stays is no reason to hide the failure.
        let begun = unfinished(folder).ok().flatten().unwrap_or_default();
        begun.iter().for_each(|path| drop(fs::remove_file(path)));
    }
    written
}

fn write(
    mut writer: Writer,
    objects: &dyn SnapshotStore,
    manifest: &Manifest,
    folder: &Path,
) -> Result<Metadata, CliError> {
    for (uid, operator) in &manifest.operators {
        let mut file = writer.operator(uid).map_err(contract::Error::from)?;
        spill::by_key_group(objects, folder, (uid, operator), manifest.key_groups, |table| {
            Ok(table.export(&mut |entry| Ok(file.write(&entry)?))?)
        })?;
        file.finish().map_err(contract::Error::from)?;
    }
    Ok(writer.finish(metadata(manifest)).map_err(contract::Error::from)?)
}

fn metadata(manifest: &Manifest) -> Metadata {
    let operator = |operator: &OperatorState| Operator {
        module: operator.module,
        key: operator.key.clone(),
        states: operator.states.clone(),
        ..Operator::default()
    };
    Metadata {
        job: manifest.job.clone(),
        lineage: manifest.lineage,
        generation: manifest.generation,
        epoch: manifest.epoch,
        key_groups: manifest.key_groups,
        key_hash: manifest.key_hash.clone(),
        host_clock: manifest.host_clock,
        watermark: manifest.watermark,
        sources: manifest.sources.iter().map(|(uid, state)| (uid.clone(), source(state))).collect(),
        operators: manifest.operators.iter().map(|(uid, state)| (uid.clone(), operator(state))).collect(),
        sinks: manifest.sinks.iter().map(|(uid, state)| (uid.clone(), sink(state))).collect(),
    }
}

fn source(state: &SourceState) -> Source {
    let splits = state.splits.iter().map(|split| Split {
        name: split.name.clone(),
        position: split.position,
        identity: split.identity.clone(),
        greatest_event_time: split.greatest_event_time,
        ended: split.ended,
    });
    Source { splits: splits.collect() }
}

fn sink(state: &SinkState) -> Sink {
    Sink {
        delivery: state.delivery,
        published: state.published,
        pending: state.pending.iter().map(|pending| pending.epoch).collect(),
    }
}
