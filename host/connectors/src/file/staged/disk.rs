//! The steps that publishing takes on a disk, each of which a test can stop before.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fail::fail_point;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::error::Error;

/// How a name ends that is not yet what it will be.
pub(super) const UNFINISHED: &str = ".tmp";

/// How often a file is written again because somebody removed it unfinished: once for each who starts at the same moment.
const MOST_TRIES: u32 = 8;

/// Tells the unfinished files of one process apart.
static UNFINISHED_FILES: AtomicU64 = AtomicU64::new(0);

type Hook = Arc<dyn Fn(&'static str, &Path) -> io::Result<()> + Send + Sync>;

/// Changes a disk, step by step.
#[derive(Clone, Default)]
pub(super) struct Disk {
    /// Asked before each step; an error stands for the process ending there.
    pub(super) before_step: Option<Hook>,
}

impl Disk {
    fn step<T>(&self, doing: &'static str, path: &Path, act: impl FnOnce() -> io::Result<T>) -> Result<T, Error> {
        self.try_step(doing, path, act).map_err(|source| Error::Io { doing, path: path.to_owned(), source })
    }

    /// A step of a writer, which knows what its failure means.
    pub(super) fn try_step<T>(
        &self,
        doing: &'static str,
        path: &Path,
        act: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        self.before_step.as_ref().map_or(Ok(()), |hook| hook(doing, path))?;
        act()
    }

    /// Makes a directory that outlives a loss of power, as far as `path` is not there.
    pub(super) fn ensure_dir(&self, path: &Path) -> Result<(), Error> {
        if path.is_dir() {
            return Ok(());
        }
        if let Some(parent) = parent(path) {
            self.ensure_dir(parent)?;
        }
        self.step("make the directory", path, || match fs::create_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            made => made,
        })?;
        self.sync_dir(parent(path).unwrap_or(Path::new(".")))
    }

    /// As [`Disk::ensure_dir`], though whoever made the directories below `root` ended before they were durable.
    pub(super) fn ensure_durable_dir(&self, root: &Path, path: &Path) -> Result<(), Error> {
        self.ensure_dir(path)?;
        let mut below = path.ancestors().skip(1).take_while(|above| above.starts_with(root));
        below.try_for_each(|above| self.sync_dir(above))
    }

    pub(super) fn sync_dir(&self, path: &Path) -> Result<(), Error> {
        self.step("sync the directory", path, || File::open(path)?.sync_all())
    }

    /// Creates a file that is whole and durable as soon as it has its name. `false`: the name is taken.
    pub(super) fn create_whole(&self, directory: &Path, name: &str, bytes: &[u8]) -> Result<bool, Error> {
        let path = directory.join(name);
        let (unfinished, is_created) = self.name_whole(directory, name, bytes, |unfinished| {
            fail_point!("mid-create");
            self.rename_new(unfinished, &path)
        })?;
        if !is_created {
            self.remove(&unfinished)?;
        }
        self.sync_dir(directory)?;
        Ok(is_created)
    }

    /// As [`Disk::create_whole`], in the place of what is there.
    pub(super) fn replace_whole(&self, directory: &Path, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let path = directory.join(name);
        self.name_whole(directory, name, bytes, |unfinished| {
            self.step("replace", &path, || fs::rename(unfinished, &path))
        })?;
        self.sync_dir(directory)
    }

    /// Writes an unfinished file and names it. Whoever starts beside us removes what is unfinished: then once more.
    fn name_whole<T>(
        &self,
        directory: &Path,
        name: &str,
        bytes: &[u8],
        give_name: impl Fn(&Path) -> Result<T, Error>,
    ) -> Result<(PathBuf, T), Error> {
        let mut tries = 1;
        loop {
            let unfinished = self.write_unfinished(directory, name, bytes)?;
            match give_name(&unfinished) {
                Err(Error::Io { source, .. })
                    if source.kind() == io::ErrorKind::NotFound
                        && tries < MOST_TRIES
                        && length_bytes(&unfinished)?.is_none() =>
                {
                    tries += 1;
                }
                named => return Ok((unfinished.clone(), self.or_remove(&unfinished, named)?)),
            }
        }
    }

    fn write_unfinished(&self, directory: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf, Error> {
        let number = UNFINISHED_FILES.fetch_add(1, Ordering::Relaxed);
        let path = directory.join(format!(".{name}-{}-{number}{UNFINISHED}", std::process::id()));
        let written = self.step("write", &path, || {
            let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&path)?;
            file.write_all(bytes)?;
            file.sync_all()
        });
        self.or_remove(&path, written)?;
        Ok(path)
    }

    /// Publishing is tried again without limit, under another unfinished name each time: on a full disk they would
    /// heap up.
    fn or_remove<T>(&self, unfinished: &Path, result: Result<T, Error>) -> Result<T, Error> {
        // The first error is the one to report; what stays is removed with the orphans.
        result.inspect_err(|_| drop(self.remove(unfinished)))
    }

    /// Gives a file a name that nothing has. `false`: something has it, and nothing changed.
    pub(super) fn rename_new(&self, from: &Path, to: &Path) -> Result<bool, Error> {
        self.step("rename to", to, || match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            // Some file systems cannot do it in one step.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => link_new(from, to),
            Err(error) => Err(error.into()),
        })
    }

    /// Removes a file. `false`: it was not there.
    pub(super) fn remove(&self, path: &Path) -> Result<bool, Error> {
        self.step("remove", path, || match fs::remove_file(path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        })
    }
}

/// Gives a file a second name that nothing has, and takes the first away. A file system that knows no links refuses: there
/// is no way to it that nobody could come between. Whoever ended in between finds the file under both names.
pub(super) fn link_new(from: &Path, to: &Path) -> io::Result<bool> {
    match fs::hard_link(from, to) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let (there, ours) = (fs::symlink_metadata(to)?, fs::symlink_metadata(from)?);
            if (there.dev(), there.ino()) != (ours.dev(), ours.ino()) {
                return Ok(false);
            }
        }
        linked => linked?,
    }
    fs::remove_file(from).map(|()| true)
}

fn parent(path: &Path) -> Option<&Path> {
    path.parent().filter(|parent| !parent.as_os_str().is_empty())
}

/// The names in a directory, sorted; none where there is no directory.
pub(super) fn names(directory: &Path) -> Result<Vec<String>, Error> {
    let cannot_list = |source| Error::Io { doing: "list", path: directory.to_owned(), source };
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(cannot_list)?,
    };
    let mut names = Vec::new();
    for entry in entries {
        // A name that is not UTF-8 is none of ours.
        names.extend(entry.map_err(cannot_list)?.file_name().into_string());
    }
    names.sort_unstable();
    Ok(names)
}

/// The bytes of a file; `None` where there is none.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Io { doing: "read", path: path.to_owned(), source }),
    }
}

/// The length of a file; `None` where there is none.
pub(super) fn length_bytes(path: &Path) -> Result<Option<u64>, Error> {
    match fs::symlink_metadata(path) {
        Ok(there) => Ok(Some(there.len())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Io { doing: "look at", path: path.to_owned(), source }),
    }
}
