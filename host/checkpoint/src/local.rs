//! The store on a local disk.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::JobName;
use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;

use crate::error::Error;
use crate::medium::{Medium, sync_folder};
use crate::{JOBS_FOLDER, JobStore, LOG_FOLDER, place_of};

/// What a root is tried out with: more than a file system keeps in the entry of a file.
const PROBE_BYTES: usize = 64 * 1024;

/// A store in a folder of this machine. Files and folders are synced before an object counts as stored.
///
/// Its calls do their input and output on the calling thread.
#[derive(Debug)]
pub struct LocalStore;

impl LocalStore {
    /// Opens the place of `job` below `root`, which is tried out first: a file is made, synced, read back and
    /// removed. The root has to exist: a disk that is not mounted must not look like a job that never ran.
    ///
    /// # Errors
    /// When the root is missing, is no folder, cannot be written, or has no room.
    pub fn open(root: &Path, job: &JobName) -> Result<JobStore, Error> {
        try_out(root).map_err(|source| Error::root(root, source))?;
        let at_root = |source| Error::root(root, source);
        let mut folder = root.to_owned();
        for name in [JOBS_FOLDER, job.as_str(), LOG_FOLDER] {
            let parent = folder.clone();
            folder.push(name);
            make_folder(&folder).and_then(|()| sync_folder(&parent)).map_err(at_root)?;
        }
        let opened = LocalFileSystem::new_with_prefix(root);
        let files = opened.map_err(|source| Error::medium("open a folder", source))?.with_fsync(true);
        Ok(place_of(Medium::of_folder(Arc::new(files), root), &ObjectPath::default(), job))
    }

    /// The jobs that have a place below `root`, by name.
    ///
    /// # Errors
    /// When the root is missing or cannot be read.
    pub fn list_jobs(root: &Path) -> Result<Vec<JobName>, Error> {
        let entries = fs::read_dir(root).and_then(|_| match fs::read_dir(root.join(JOBS_FOLDER)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            other => other.map(Some),
        });
        let mut jobs = Vec::new();
        for entry in entries.map_err(|source| Error::root(root, source))?.into_iter().flatten() {
            let entry = entry.map_err(|source| Error::root(root, source))?;
            let is_folder = entry.file_type().is_ok_and(|it| it.is_dir());
            jobs.extend(entry.file_name().to_str().filter(|_| is_folder).and_then(|name| JobName::new(name).ok()));
        }
        jobs.sort_unstable();
        Ok(jobs)
    }
}

/// Makes a file in `root`, syncs it, reads it back and removes it.
fn try_out(root: &Path) -> io::Result<()> {
    static TRIED: AtomicU64 = AtomicU64::new(0);
    if !fs::metadata(root)?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    let number = TRIED.fetch_add(1, Ordering::Relaxed);
    let probe = root.join(format!(".tidegate-probe-{}-{number}", process::id()));
    let tried = write_and_read(&probe).and_then(|()| sync_folder(root));
    let removed = fs::remove_file(&probe);
    tried.and(removed)
}

fn write_and_read(probe: &PathBuf) -> io::Result<()> {
    let written = vec![0xA5; PROBE_BYTES];
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(probe)?;
    file.write_all(&written)?;
    file.sync_all()?;
    file.rewind()?;
    let mut read = Vec::with_capacity(PROBE_BYTES);
    file.read_to_end(&mut read)?;
    if read == written { Ok(()) } else { Err(io::Error::other("what is read is not what was written")) }
}

fn make_folder(folder: &Path) -> io::Result<()> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}
