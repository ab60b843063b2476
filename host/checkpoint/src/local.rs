//! The store on a local disk.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use model::JobName;
use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;

use crate::error::Error;
use crate::medium::{Medium, sync_folder};
use crate::{JOBS_FOLDER, JobStore, LOG_FOLDER, place_of};

/// What a root is tried out with: more than a file system keeps in the entry of a file.
const PROBE_BYTES: usize = 64 * 1024;

/// How long after its last byte an unfinished file is left alone: above the longest sync of a slow disk.
const UNFINISHED_FOR: Duration = Duration::from_secs(600);

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
        let at_root = |source| Error::root(root, source);
        let now = try_out(root).map_err(at_root)?;
        let mut folder = root.to_owned();
        for name in [JOBS_FOLDER, job.as_str(), LOG_FOLDER] {
            let parent = folder.clone();
            folder.push(name);
            make_folder(&folder).and_then(|()| sync_folder(&parent)).map_err(at_root)?;
        }
        remove_unfinished(&root.join(JOBS_FOLDER).join(job.as_str()), now).map_err(at_root)?;
        place_below(root, job)
    }

    /// Opens the place of `job` below `root` to look at it: nothing is made, tried out or removed, so a disk that is
    /// read-only is enough.
    ///
    /// # Errors
    /// When the root is missing, is no folder, or cannot be read.
    pub fn inspect(root: &Path, job: &JobName) -> Result<JobStore, Error> {
        fs::read_dir(root).map_err(|source| Error::root(root, source))?;
        place_below(root, job)
    }

    /// Makes the folder `root` where it is not there. What it lies in has to exist.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn make_root(root: &Path) -> Result<(), Error> {
        let is_new = !root.exists();
        make_folder(root).map_err(|source| Error::root(root, source))?;
        match root.parent().filter(|parent| is_new && !parent.as_os_str().is_empty()) {
            Some(parent) => sync_folder(parent).map_err(|source| Error::root(root, source)),
            None => Ok(()),
        }
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

fn place_below(root: &Path, job: &JobName) -> Result<JobStore, Error> {
    let opened = LocalFileSystem::new_with_prefix(root);
    let files = opened.map_err(|source| Error::medium("open a folder", source))?.with_fsync(true);
    Ok(place_of(Medium::of_folder(Arc::new(files), root), &ObjectPath::default(), job))
}

/// Makes a file in `root`, syncs it, reads it back and removes it. Returns the time by the clock of the medium.
fn try_out(root: &Path) -> io::Result<SystemTime> {
    static TRIED: AtomicU64 = AtomicU64::new(0);
    if !fs::metadata(root)?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    let number = TRIED.fetch_add(1, Ordering::Relaxed);
    let probe = root.join(format!(".tidegate-probe-{}-{number}", process::id()));
    let tried = write_and_read(&probe).and_then(|now| sync_folder(root).map(|()| now));
    let removed = fs::remove_file(&probe);
    tried.and_then(|now| removed.map(|()| now))
}

fn write_and_read(probe: &Path) -> io::Result<SystemTime> {
    let written = vec![0xA5; PROBE_BYTES];
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(probe)?;
    file.write_all(&written)?;
    file.sync_all()?;
    file.rewind()?;
    let mut read = Vec::with_capacity(PROBE_BYTES);
    file.read_to_end(&mut read)?;
    if read != written {
        return Err(io::Error::other("what is read is not what was written"));
    }
    file.metadata()?.modified()
}

/// Removes the files below `place` that interrupted writes left, where they are old. Were one still being written, its
/// writer would be told that the write failed, and would write again.
fn remove_unfinished(place: &Path, now: SystemTime) -> io::Result<()> {
    let mut folders = vec![place.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() && entry.file_name().to_str().is_some_and(is_unfinished) {
                unless_gone(remove_if_old(&entry.path(), now))?;
            }
        }
    }
    Ok(())
}

fn remove_if_old(path: &Path, now: SystemTime) -> io::Result<()> {
    let written = fs::metadata(path)?.modified()?;
    if now.duration_since(written).is_ok_and(|age| age > UNFINISHED_FOR) { fs::remove_file(path) } else { Ok(()) }
}

/// A file that somebody else finished or removed in the meantime is no error.
fn unless_gone(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Whether a file is called as `object_store` calls what it has not finished: `name#1`.
fn is_unfinished(file: &str) -> bool {
    file.rsplit_once('#').is_some_and(|(_, number)| number.bytes().all(|it| it.is_ascii_digit()))
}

fn make_folder(folder: &Path) -> io::Result<()> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}
