//! What makes a job of the benchmarks outlive its process: a store on the local disk.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Context;
use checkpoint::{JobStore, LocalStore};
use contract::Randomness;
use model::JobName;
use protocol::manifest::{LogRecord, Manifest, decode};
use runtime::Durability;

/// Numbers that no other process draws either: the first comes from the system, the others follow.
struct Draws(AtomicU64);

impl Draws {
    fn new() -> Self {
        Self(AtomicU64::new(RandomState::new().build_hasher().finish()))
    }
}

impl Randomness for Draws {
    fn draw(&self) -> u64 {
        self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed)
    }
}

/// What every job here is called.
pub(crate) fn job_name() -> JobName {
    JobName::new("bench").expect("it is a name")
}

/// The store of the job below `root`.
///
/// # Errors
/// When the folder cannot be written.
pub(crate) fn open(root: &Path) -> anyhow::Result<JobStore> {
    LocalStore::open(root, &job_name()).with_context(|| format!("open a store in {}", root.display()))
}

/// Checkpoints to the store below `root`, every `interval`; without one there is only that at the end.
///
/// # Errors
/// When the store cannot be opened.
pub(crate) fn durability(root: &Path, interval: Option<Duration>) -> anyhow::Result<Durability> {
    /// All of a run are kept.
    const HISTORY: usize = 10_000;
    let store = open(root)?;
    let mut durability = Durability::new(store.log, store.objects, Arc::new(Draws::new()));
    durability.options.interval = interval;
    durability.options.min_pause = Duration::ZERO;
    durability.options.timeout = Duration::from_secs(600);
    durability.options.history = HISTORY;
    Ok(durability)
}

/// The newest manifest below `root`.
///
/// # Errors
/// When there is none, or it cannot be read.
pub(crate) fn newest_manifest(root: &Path) -> anyhow::Result<Manifest> {
    let log = open(root)?.log;
    for number in log.list()?.into_iter().rev() {
        let Some(object) = log.read(number)? else { continue };
        if let LogRecord::Complete(manifest) = decode(&object.body)? {
            return Ok(*manifest);
        }
    }
    anyhow::bail!("there is no manifest in {}", root.display())
}

/// The files of the state that `manifest` lists, each once.
pub(crate) fn state_files(root: &Path, manifest: &Manifest) -> Vec<PathBuf> {
    let parts = manifest.operators.values().flat_map(|operator| &operator.parts);
    let place = root.join("jobs").join(manifest.job.as_str());
    let mut files: Vec<PathBuf> = parts.flat_map(|part| &part.objects).map(|object| place.join(&object.name)).collect();
    files.sort_unstable();
    files.dedup();
    files
}
