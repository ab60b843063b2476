//! Where bases lie: a folder of this process in a folder that processes share.
//!
//! ```text
//! SHARED/                   what `Options::folder` names
//!   lock                    held by who looks for left folders and makes its own
//!   p0001/                  of one process, as long as it lives
//!     lock                  held while it does
//!     t0001/                of one table
//! ```
//!
//! A base is made anew from a checkpoint by whoever needs it, so nothing here is worth more than the process that
//! wrote it: what a killed process left is removed by the next that starts, and what a table leaves is removed
//! with it. Two processes that share the folder, as the owner of a job and the one that it took over from, do not
//! touch each other's.
//!
//! # Invariants
//! 1. Only what holds the lock of a process folder writes in it.
//! 2. A folder whose lock can be had belongs to nobody, and is removed.
//! 3. One process at a time removes and makes folders: what another has just made is not taken for left.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::error::Error;

/// Process folders that are tried before one is found: more processes than this do not share a folder.
const MOST_PROCESSES: u32 = 10_000;
const LOCK: &str = "lock";

/// The folder of this process.
#[derive(Debug)]
pub(super) struct ProcessFolder {
    path: PathBuf,
    _lock: File,
    tables: AtomicU32,
}

fn failed(verb: &'static str, folder: &Path) -> impl FnOnce(io::Error) -> Error {
    move |reason| Error::Folder { verb, folder: folder.to_owned(), reason: Arc::new(reason) }
}

impl ProcessFolder {
    /// Takes a folder in `shared`, which is made, and removes what others left.
    ///
    /// # Errors
    /// [`Error::Folder`].
    pub(super) fn open(shared: &Path) -> Result<Self, Error> {
        fs::create_dir_all(shared).map_err(failed("make", shared))?;
        let starting = File::create(shared.join(LOCK)).map_err(failed("lock", shared))?;
        starting.lock().map_err(failed("lock", shared))?;
        let mut own = None;
        for entry in fs::read_dir(shared).map_err(failed("read", shared))? {
            let path = entry.map_err(failed("read", shared))?.path();
            let is_ours = path.file_name().and_then(|name| name.to_str()).is_some_and(is_process_name);
            if is_ours && let Some(lock) = lock(&path)? {
                fs::remove_dir_all(&path).or_else(gone).map_err(failed("remove", &path))?;
                drop(lock);
            }
        }
        for number in 1..=MOST_PROCESSES {
            let path = shared.join(format!("p{number:04}"));
            match fs::create_dir(&path) {
                Ok(()) => {
                    own = lock(&path)?.map(|lock| Self { path, _lock: lock, tables: AtomicU32::new(0) });
                    if own.is_some() {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed("make", &path)(error)),
            }
        }
        let none = || io::Error::other(format!("{MOST_PROCESSES} processes use it"));
        own.ok_or_else(|| failed("make", shared)(none()))
    }

    /// A folder for one more table, which is empty.
    ///
    /// # Errors
    /// [`Error::Folder`].
    pub(super) fn table(self: &Arc<Self>) -> Result<TableFolder, Error> {
        let number = self.tables.fetch_add(1, Ordering::Relaxed) + 1;
        let path = self.path.join(format!("t{number:04}"));
        fs::create_dir(&path).map_err(failed("make", &path))?;
        Ok(TableFolder { path, _process: Arc::clone(self) })
    }
}

impl Drop for ProcessFolder {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next process that starts here.
        drop(fs::remove_dir_all(&self.path));
    }
}

/// The folder of one table, removed with it.
#[derive(Debug)]
pub(super) struct TableFolder {
    pub(super) path: PathBuf,
    _process: Arc<ProcessFolder>,
}

impl Drop for TableFolder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.path));
    }
}

/// `p` and digits, as this module names them: nothing else is touched.
fn is_process_name(name: &str) -> bool {
    name.strip_prefix('p').is_some_and(|rest| rest.len() >= 4 && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The lock of a process folder; `None` while somebody else has it, or where the folder is gone.
fn lock(path: &Path) -> Result<Option<File>, Error> {
    let file = match File::create(path.join(LOCK)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("lock", path)(error)),
    };
    take(file, path)
}

/// Locks the lock file of `path`, if it is that still: its owner may just have removed it.
fn take(file: File, path: &Path) -> Result<Option<File>, Error> {
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(failed("lock", path)(error)),
    }
    let id = |file: &fs::Metadata| (file.dev(), file.ino());
    match fs::metadata(path.join(LOCK)) {
        Ok(there) => {
            let held = file.metadata().map_err(failed("lock", path))?;
            Ok((id(&there) == id(&held)).then_some(file))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("lock", path)(error)),
    }
}

/// What is gone already need not be removed.
fn gone(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

#[cfg(test)]
mod tests;
