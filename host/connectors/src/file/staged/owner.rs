//! Whom a directory belongs to: one lineage of one sink, which others are told about by name.
//!
//! Who publishes holds the owner's file, shared; who takes a directory over holds it alone, so that nothing of
//! the old lineage becomes visible after the new one has it, wherever its publisher was stopped. Where a file
//! system knows no locks, a publisher that was stopped within an epoch may still finish that one.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use model::LineageId;

use super::disk::{self, Disk};
use super::error::Error;
use super::formats::{self, FileLayout, Owner};
use super::{StagedFileSinkOptions, plain};

/// The hidden directory of what is not for readers.
pub(in crate::file) const HIDDEN: &str = ".tidegate";
const NAME: &str = "owner.json";

pub(super) fn hidden(directory: &Path) -> PathBuf {
    directory.join(HIDDEN)
}

/// The owner of a directory; `None`: nobody.
pub(super) fn read(directory: &Path) -> Result<Option<Owner>, Error> {
    let path = hidden(directory).join(NAME);
    disk::read(&path)?.map(|bytes| formats::parse_file(&bytes, &path)).transpose()
}

/// Makes the directory ours, unless it is another's.
pub(super) fn claim(options: &StagedFileSinkOptions, disk: &Disk, lineage: LineageId) -> Result<(), Error> {
    let directory = &options.path;
    let ours = Owner::new(lineage, &options.owner, options.layout);
    let Some(there) = read(directory)? else {
        if options.layout == FileLayout::Plain
            && let Some(part) = disk::names(directory)?.into_iter().find(|name| name.starts_with(plain::PART))
        {
            return Err(Error::OtherParts { path: directory.join(part) });
        }
        disk.ensure_dir(&hidden(directory))?;
        if disk.create_whole(&hidden(directory), NAME, &formats::encode(&ours))? {
            return Ok(());
        }
        return match read(directory)? {
            Some(there) => check(options, &there, &ours),
            None => Err(gone(directory)),
        };
    };
    if there.lineage != ours.lineage && options.takes_over == Some(there.lineage.0) && there.owner == ours.owner {
        check_layout(options, &there)?;
        let _alone = hold_alone(directory)?;
        // Another may have taken it over before we had it alone.
        match read(directory)? {
            Some(still) if still == there => {}
            Some(other) => return check(options, &other, &ours),
            None => return Err(gone(directory)),
        }
        return disk.replace_whole(&hidden(directory), NAME, &formats::encode(&ours));
    }
    check(options, &there, &ours)
}

fn check(options: &StagedFileSinkOptions, there: &Owner, ours: &Owner) -> Result<(), Error> {
    if (there.lineage, &there.owner) != (ours.lineage, &ours.owner) {
        return Err(Error::OwnedByAnother {
            path: options.path.clone(),
            owner: there.owner.clone(),
            lineage: there.lineage.0,
            ours: ours.owner.clone(),
            our_lineage: ours.lineage.0,
        });
    }
    check_layout(options, there)
}

fn check_layout(options: &StagedFileSinkOptions, there: &Owner) -> Result<(), Error> {
    let (expected, found) = (options.layout, there.layout);
    if expected != found {
        return Err(Error::OtherLayout { path: options.path.clone(), expected, found });
    }
    Ok(())
}

/// Checks that nobody took the directory over; nobody does while what is returned is there.
pub(super) fn hold_open(options: &StagedFileSinkOptions, lineage: LineageId) -> Result<File, Error> {
    let held = open(&options.path)?;
    // Not waited for: a publisher returns within a bound, and is asked again.
    let locked = held.try_lock_shared().map_err(io::Error::from);
    ignore_unsupported(locked).map_err(|source| cannot_lock(&options.path, source))?;
    check_open(options, lineage)?;
    Ok(held)
}

fn hold_alone(directory: &Path) -> Result<File, Error> {
    let held = open(directory)?;
    match held.try_lock() {
        Ok(()) => Ok(held),
        Err(TryLockError::WouldBlock) => Err(Error::BeingPublished { path: directory.to_owned() }),
        Err(TryLockError::Error(source)) => {
            ignore_unsupported(Err(source)).map(|()| held).map_err(|source| cannot_lock(directory, source))
        }
    }
}

/// Some network file systems know no locks.
fn ignore_unsupported(locked: io::Result<()>) -> io::Result<()> {
    match locked {
        Err(source) if source.kind() == io::ErrorKind::Unsupported => Ok(()),
        locked => locked,
    }
}

fn open(directory: &Path) -> Result<File, Error> {
    let path = hidden(directory).join(NAME);
    File::open(&path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => gone(directory),
        _ => Error::Io { doing: "open", path, source },
    })
}

fn cannot_lock(directory: &Path, source: io::Error) -> Error {
    Error::Io { doing: "lock", path: hidden(directory).join(NAME), source }
}

fn gone(directory: &Path) -> Error {
    Error::Unreadable { path: hidden(directory).join(NAME), why: "is gone".to_owned() }
}

/// Checks that nobody took the directory over.
pub(super) fn check_open(options: &StagedFileSinkOptions, lineage: LineageId) -> Result<(), Error> {
    let path = options.path.clone();
    match read(&options.path)? {
        Some(there) if there.lineage.0 == lineage => Ok(()),
        Some(there) => Err(Error::Closed { path, closed: lineage, owner: there.owner, lineage: there.lineage.0 }),
        None => Err(gone(&path)),
    }
}
