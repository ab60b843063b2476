//! Writes lines into files that nobody reads yet.
//!
//! # Flow
//! The first record of an epoch opens a file; whole lines are gathered and written in large pieces; a file
//! that is long enough is followed by another. At a barrier the open file and what is gathered for it go
//! into the closure that makes them durable.
//!
//! # Invariants
//! 1. A batch is taken whole or not at all: all that may lack room or handles is done before its first value is
//!    appended, or left to a later call.
//! 2. What waits in memory is what is gathered for one file: a buffer, a piece on its way, and a batch.
//! 3. So many files are open as [`MOST_OPEN`], and the current one: what is long enough is synced before it is closed.
//! 4. A file that could not be synced is lost: the system forgets what it did not write.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::mem;
use std::path::{Path, PathBuf};

use contract::{SinkWriter, StagedOutput, Staging, WriterTask};
use fail::fail_point;
use model::job::SinkCompression;
use model::{Epoch, RecordBatch};
use xxhash_rust::xxh3::Xxh3;

use super::disk::Disk;
use super::error::Error as StagedError;
use super::formats::{self, Checksum, StagedFile};
use super::publisher::staged_directory;
use super::{FileLayout, StagedFileSinkOptions, header};
use crate::failure::SharedFailure;
use crate::file::error::Error;
use crate::file::error::is_out_of_handles;
use crate::file::gathered::Gathered;
use crate::file::sink::{LineStyle, ending};

/// Files of an epoch that stay open, to be synced beside the writer: more are closed by the writer, which then waits for
/// the disk.
const MOST_OPEN: usize = 8;

/// Writes for one subtask.
pub(super) struct StagedWriter {
    task: WriterTask,
    target: Target,
    compression: SinkCompression,
    lines: LineStyle,
    /// What every file begins with.
    header: Vec<u8>,
    roll_bytes: u64,
    disk: Disk,
    /// The number of the next file.
    number: u64,
    current: Option<OpenFile>,
    /// Files of this epoch that are long enough.
    rolled: Vec<OpenFile>,
    failure: SharedFailure,
}

/// Where files go.
#[derive(Clone)]
struct Target {
    directory: PathBuf,
    layout: FileLayout,
    ending: &'static str,
}

impl StagedWriter {
    pub(super) fn new(options: &StagedFileSinkOptions, disk: &Disk, task: WriterTask) -> Self {
        Self {
            target: Target {
                directory: staged_directory(&options.path, options.layout, task.lineage),
                layout: options.layout,
                ending: ending(&options.format, options.compression),
            },
            task,
            compression: options.compression,
            lines: LineStyle::of(&options.format),
            header: header::line(&options.format),
            roll_bytes: options.roll_bytes.max(1),
            disk: disk.clone(),
            number: 0,
            current: None,
            rolled: Vec::new(),
            failure: SharedFailure::default(),
        }
    }

    fn append(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        self.make_way()?;
        let Some(open) = &mut self.current else {
            // Only the first record begins a file.
            if batch.is_empty() {
                return Ok(());
            }
            self.current = Some(self.open_next()?);
            return self.append(batch);
        };
        for value in batch.values.iter() {
            if let Err(value) = self.lines.append(value, open.gathered.lines()) {
                return Err(Error::line_break(&open.path, value));
            }
            open.records += 1;
        }
        match open.write_if_due(&self.disk) {
            // The batch is taken: what there is no room for now is written before the next one is.
            Err(Error::NoRoom { .. }) => Ok(()),
            written => written,
        }
    }

    /// Writes what is due, and leaves a file that is long enough.
    fn make_way(&mut self) -> Result<(), Error> {
        let Some(open) = &mut self.current else { return Ok(()) };
        open.write_if_due(&self.disk)?;
        if open.bytes < self.roll_bytes {
            return Ok(());
        }
        open.write(&self.disk)?;
        self.rolled.extend(self.current.take());
        let first_open = self.rolled.len().saturating_sub(MOST_OPEN);
        self.rolled.iter_mut().take(first_open).try_for_each(|file| file.sync(&self.disk))
    }

    fn open_next(&mut self) -> Result<OpenFile, Error> {
        loop {
            let name = file_name(&self.task, self.number, self.target.ending);
            let path = self.target.directory.join(&name);
            let begin = || OpenOptions::new().write(true).create_new(true).open(&path);
            match self.disk.try_step("begin", &path, begin) {
                Ok(file) => {
                    self.number += 1;
                    return Ok(OpenFile::new(file, path, name, self.compression, &self.header));
                }
                // Another writer of this generation was here before.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.number += 1,
                // The directory was made when the sink was opened: what stands in the way now may pass.
                Err(source) => return Err(Error::unwritten(&path, source)),
            }
        }
    }
}

/// `<generation>-<slot>-<number>.<ending>`
fn file_name(task: &WriterTask, number: u64, ending: &str) -> String {
    format!("{:010}-{:05}-{number:06}{ending}", task.generation.0, task.subtask.0)
}

/// The generation that wrote a file.
pub(super) fn generation_of(name: &str) -> Option<u64> {
    name.split_once('-')?.0.parse().ok()
}

impl SinkWriter for StagedWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), contract::Error> {
        let failure = self.failure.clone();
        failure.unless(|| Ok(self.append(batch)?))
    }

    /// There is nothing to hand over before the epoch ends.
    fn flush(&mut self) -> Result<(), contract::Error> {
        self.failure.unless(|| Ok(()))
    }

    fn stage(&mut self, _epoch: Epoch) -> Result<Staging, contract::Error> {
        self.failure.unless(|| Ok(()))?;
        let mut files = mem::take(&mut self.rolled);
        files.extend(self.current.take());
        let (task, target) = (self.task, self.target.clone());
        let (failure, disk) = (self.failure.clone(), self.disk.clone());
        Ok(Box::new(move || failure.unless(|| finish(&mut files, &task, &target, &disk))))
    }

    fn close(&mut self) -> Result<(), contract::Error> {
        self.failure.unless(|| Ok(()))?;
        let mut files = mem::take(&mut self.rolled);
        files.extend(self.current.take());
        files.into_iter().try_for_each(OpenFile::discard).map_err(Into::into)
    }
}

/// Makes files durable, and says how to publish them. After an error it goes on where it was.
fn finish(
    files: &mut Vec<OpenFile>,
    task: &WriterTask,
    target: &Target,
    disk: &Disk,
) -> Result<Vec<StagedOutput>, contract::Error> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    for open in files.iter_mut() {
        open.write(disk)?;
        fail_point!("mid-upload");
        open.sync(disk)?;
    }
    disk.sync_dir(&target.directory).map_err(cannot_stage)?;
    Ok(files.drain(..).map(|open| open.into_output(task, target.layout)).collect())
}

/// What is written once and not kept is lost: only a restore brings it again. A directory that cannot be opened has lost
/// nothing.
fn cannot_stage(error: StagedError) -> contract::Error {
    match error {
        StagedError::Io { path, source, .. } if is_out_of_handles(&source) => Error::NoRoom { path, source }.into(),
        StagedError::Io { path, source, .. } => Error::Write { path, source }.into(),
        other => other.into(),
    }
}

/// A file being written. One that is dropped before it was reported as staged is removed.
struct OpenFile {
    /// `None` once it is synced and closed.
    file: Option<File>,
    path: PathBuf,
    name: String,
    gathered: Gathered,
    bytes: u64,
    records: u64,
    hasher: Box<Xxh3>,
    is_staged: bool,
}

impl OpenFile {
    fn new(file: File, path: PathBuf, name: String, compression: SinkCompression, header: &[u8]) -> Self {
        let (mut gathered, hasher) = (Gathered::new(compression), Box::new(Xxh3::new()));
        gathered.lines().extend_from_slice(header);
        Self { file: Some(file), path, name, gathered, bytes: 0, records: 0, hasher, is_staged: false }
    }

    fn write_if_due(&mut self, disk: &Disk) -> Result<(), Error> {
        if self.gathered.is_due() { self.write(disk) } else { Ok(()) }
    }

    /// Writes all that is gathered.
    fn write(&mut self, disk: &Disk) -> Result<(), Error> {
        let Self { file: Some(file), path, gathered, bytes, hasher, .. } = self else { return Ok(()) };
        let write = || {
            gathered.write_to(file, |piece| {
                hasher.update(piece);
                *bytes += piece.len() as u64;
            })
        };
        disk.try_step("write to", path, write).map_err(|source| Error::unwritten(path, source))
    }

    fn sync(&mut self, disk: &Disk) -> Result<(), Error> {
        let Some(file) = self.file.take() else { return Ok(()) };
        let synced = disk.try_step("sync", &self.path, || file.sync_all());
        synced.map_err(|source| Error::Write { path: self.path.clone(), source })
    }

    fn into_output(mut self, task: &WriterTask, layout: FileLayout) -> StagedOutput {
        self.is_staged = true;
        let checksum = Checksum::of_hasher(&self.hasher);
        let body = StagedFile::new(layout, task.lineage, mem::take(&mut self.name), checksum);
        StagedOutput { slot: task.subtask.0, records: self.records, bytes: self.bytes, body: formats::encode(&body) }
    }

    fn discard(mut self) -> Result<(), StagedError> {
        self.is_staged = true;
        remove(&self.path).map_err(|source| StagedError::Io { doing: "remove", path: self.path.clone(), source })
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        if !self.is_staged {
            // What stays is found as an orphan when the job starts again.
            drop(remove(&self.path));
        }
    }
}
