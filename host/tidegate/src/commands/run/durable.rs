//! What makes a job of a job file outlive its process: its place in a storage root, and what it goes on from.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use checkpoint::JobStore;
use contract::Clock;
use model::job::{CheckpointSpec, JobSpec};
use model::{JobName, LineageId};
use protocol::coordinator::Options;
use protocol::manifest::{CheckpointKind, Manifest};
use runtime::{Durability, JobGraph, JobIdentity, OnRewrite, RewriteProgress};

use crate::args::Run;
use crate::figures::{count, stretch, time_text};
use crate::randomness::SystemRandomness;
use crate::report::CliError;
use crate::savepoints::{Mapping, Start, start_from};
use crate::storage::{StorageRoot, newest_manifest};

/// A job's place, and the newest checkpoint in it.
pub(super) struct Place {
    pub(super) root: StorageRoot,
    pub(super) store: JobStore,
    pub(super) newest: Option<Manifest>,
}

/// Opens the place of a job in its storage root.
///
/// # Errors
/// When the root cannot be used, or the log cannot be read.
pub(super) fn open_place(spec: &JobSpec, args: &Run) -> Result<Place, CliError> {
    let root = StorageRoot::of_run(args.storage.as_ref(), spec.directory())?;
    let store = root.open(&spec.name)?;
    let newest = newest_manifest(&store)?;
    Ok(Place { root, store, newest })
}

impl Place {
    /// The lineage whose place in the targets is taken: a rewind began another, and its sinks may not know yet.
    pub(super) fn takes_over(&self) -> Option<LineageId> {
        self.newest.as_ref().and_then(|manifest| manifest.rewound).map(|rewound| rewound.lineage)
    }

    /// Makes a savepoint what the job goes on from.
    ///
    /// # Errors
    /// When it does not fit, or the storage holds something newer and a rewind was not asked for.
    pub(super) fn start_from(
        &mut self,
        folder: &Path,
        spec: &JobSpec,
        graph: &JobGraph,
        args: &Run,
    ) -> Result<(), CliError> {
        let randomness = SystemRandomness::open()?;
        let mapping = Mapping::parse(&args.map_operator, &args.map_state)?;
        let may_be_of = args
            .savepoint_of
            .as_deref()
            .map(|name| JobName::new(name).map_err(|error| CliError::usage(format!("--savepoint-of {name}: {error}"))))
            .transpose()?;
        let owner = owner();
        let start = Start {
            spec,
            store: &self.store,
            newest: self.newest.as_ref(),
            randomness: &randomness,
            owner: &owner,
            may_rewind: args.rewind,
            graph,
            mapping: &mapping,
            may_be_of: may_be_of.as_ref(),
            drop_state: &args.allow_dropped_state,
            on_rewrite: on_rewrite(args),
        };
        if let Some(manifest) = start_from(folder, &start)? {
            self.newest = Some(manifest);
        }
        Ok(())
    }

    /// What the runtime is told.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub(super) fn durability(&self, checkpoint: &CheckpointSpec, args: &Run) -> Result<Durability, CliError> {
        let randomness = Arc::new(SystemRandomness::open()?);
        let mut durability = Durability::new(Arc::clone(&self.store.log), Arc::clone(&self.store.objects), randomness);
        durability.options = Options {
            interval: Some(checkpoint.interval),
            timeout: checkpoint.timeout,
            min_pause: checkpoint.min_pause,
            tolerable_failures: checkpoint.tolerable_failures,
            ..Options::default()
        };
        durability.retain = checkpoint.retain;
        durability.owner = owner();
        durability.drop_state.clone_from(&args.allow_dropped_state);
        durability.ledger_behind = args.allow_emptied_target;
        durability.on_rewrite = on_rewrite(args);
        Ok(durability)
    }

    /// What a person is told when the job has started.
    pub(super) fn says(&self, identity: &JobIdentity, clock: &dyn Clock) -> String {
        let JobIdentity { lineage, generation, restored } = identity;
        let root = &self.root;
        let Some(epoch) = restored else {
            return format!("storage `{root}`: begins lineage {lineage}, generation {generation}\n");
        };
        let taken = self.newest.as_ref().filter(|manifest| manifest.epoch == *epoch);
        // What a start made says nothing of when the job was last at work.
        let taken = taken.filter(|manifest| manifest.kind != CheckpointKind::Restore).map(|manifest| {
            let ago = clock.now().0.saturating_sub(manifest.host_clock.0);
            let ago = u64::try_from(ago).map(Duration::from_millis).unwrap_or_default();
            let at = time_text(manifest.host_clock.0).unwrap_or_default();
            format!(", taken {} ago ({at})", stretch(ago))
        });
        let taken = taken.unwrap_or_default();
        format!(
            "storage `{root}`: resumes from checkpoint {epoch} of lineage {lineage}{taken}, generation {generation}\n"
        )
    }
}

/// Says how far state is that is written anew.
fn on_rewrite(args: &Run) -> Option<OnRewrite> {
    let say = |progress: &RewriteProgress| {
        let RewriteProgress { operator, entries, migrated, is_done } = progress;
        let (entries, migrated) = (count(*entries), count(*migrated));
        let so_far = if *is_done { "is as the job wants it" } else { "is being taken over" };
        let text = format!("state of `{operator}` {so_far}: {entries} entries, {migrated} of them migrated\n");
        // A note that nobody can read is no reason to stop.
        drop(std::io::stderr().write_all(text.as_bytes()));
    };
    (!args.quiet).then(|| Arc::new(say) as OnRewrite)
}

/// Who runs the job, for a person who finds it in a claim.
pub(super) fn owner() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = host.trim();
    let host = if host.is_empty() { "unknown host" } else { host };
    format!("{host}, process {}", std::process::id())
}
