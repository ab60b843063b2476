use std::path::Path;

use model::JobName;
use tempfile::TempDir;

use crate::{JobStore, LocalStore};

mod collecting;
mod hostile;
mod log;
mod objects;
mod opening;

/// The job of these tests.
fn job() -> JobName {
    JobName::new("orders").unwrap()
}

/// Its place below `root`.
fn place(root: &Path) -> JobStore {
    LocalStore::open(root, &job()).unwrap()
}

/// A root that vanishes, with the job's place in it.
fn open() -> (TempDir, JobStore) {
    let root = tempfile::tempdir().unwrap();
    let store = place(root.path());
    (root, store)
}
