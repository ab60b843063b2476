//! Writes lines into files that nobody reads yet.
//!
//! # Flow
//! The first record of an epoch opens a file; whole lines are gathered and written in large pieces; a file
//! that is long enough is followed by another. At a barrier the open file and what is gathered for it go
//! into the closure that makes them durable.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
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
use crate::file::sink::{BUFFER_BYTES, LineStyle, ending, pack};

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

    fn append(&mut self, batch: &RecordBatch) -> Result<(), contract::Error> {
        for value in batch.values.iter() {
            if self.current.is_none() {
                self.current = Some(self.open_next()?);
            }
            let Some(open) = &mut self.current else { return Ok(()) };
            if let Err(value) = self.lines.append(value, &mut open.buffer) {
                return Err(Error::line_break(&open.path, value).into());
            }
            open.records += 1;
            if open.buffer.len() >= BUFFER_BYTES {
                open.write_buffer(self.compression)?;
                if open.bytes >= self.roll_bytes {
                    self.rolled.extend(self.current.take());
                }
            }
        }
        Ok(())
    }

    fn open_next(&mut self) -> Result<OpenFile, contract::Error> {
        loop {
            let name = file_name(&self.task, self.number, self.target.ending);
            self.number += 1;
            let path = self.target.directory.join(&name);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok(OpenFile::new(file, path, name, &self.header)),
                // Another writer of this generation was here before.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                // The directory was made when the sink was opened: what stands in the way now may pass.
                Err(source) => return Err(Error::Write { path, source }.into()),
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
        failure.unless(|| self.append(batch))
    }

    /// There is nothing to hand over before the epoch ends.
    fn flush(&mut self) -> Result<(), contract::Error> {
        self.failure.unless(|| Ok(()))
    }

    fn stage(&mut self, _epoch: Epoch) -> Result<Staging, contract::Error> {
        self.failure.unless(|| Ok(()))?;
        let mut files = mem::take(&mut self.rolled);
        files.extend(self.current.take());
        let (task, target, compression) = (self.task, self.target.clone(), self.compression);
        let (failure, disk) = (self.failure.clone(), self.disk.clone());
        Ok(Box::new(move || failure.unless(|| finish(files, &task, &target, compression, &disk))))
    }

    fn close(&mut self) -> Result<(), contract::Error> {
        self.failure.unless(|| Ok(()))?;
        let mut files = mem::take(&mut self.rolled);
        files.extend(self.current.take());
        files.into_iter().try_for_each(OpenFile::discard).map_err(Into::into)
    }
}

/// Makes files durable, and says how to publish them.
fn finish(
    files: Vec<OpenFile>,
    task: &WriterTask,
    target: &Target,
    compression: SinkCompression,
    disk: &Disk,
) -> Result<Vec<StagedOutput>, contract::Error> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let mut durable = Vec::new();
    for mut open in files {
        open.write_buffer(compression)?;
        fail_point!("mid-upload");
        open.sync()?;
        durable.push(open);
    }
    disk.sync_dir(&target.directory).map_err(cannot_stage)?;
    Ok(durable.into_iter().map(|open| open.into_output(task, target.layout)).collect())
}

/// What is written once and not kept is lost: only a restore brings it again.
fn cannot_stage(error: StagedError) -> contract::Error {
    match error {
        StagedError::Io { path, source, .. } => Error::Write { path, source }.into(),
        other => other.into(),
    }
}

/// A file being written. One that is dropped before it was reported as staged is removed.
struct OpenFile {
    /// `None` once it is closed.
    file: Option<File>,
    path: PathBuf,
    name: String,
    buffer: Vec<u8>,
    bytes: u64,
    records: u64,
    hasher: Box<Xxh3>,
    is_staged: bool,
}

impl OpenFile {
    fn new(file: File, path: PathBuf, name: String, header: &[u8]) -> Self {
        let mut buffer = Vec::with_capacity(BUFFER_BYTES + BUFFER_BYTES / 4);
        buffer.extend_from_slice(header);
        let hasher = Box::new(Xxh3::new());
        Self { file: Some(file), path, name, buffer, bytes: 0, records: 0, hasher, is_staged: false }
    }

    fn write_buffer(&mut self, compression: SinkCompression) -> Result<(), Error> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let cannot_write = |source| Error::Write { path: self.path.clone(), source };
        let packed = match compression {
            SinkCompression::None => None,
            SinkCompression::Gzip => Some(pack(&self.buffer).map_err(cannot_write)?),
        };
        let bytes = packed.as_deref().unwrap_or(&self.buffer);
        if let Some(file) = &mut self.file {
            file.write_all(bytes).map_err(cannot_write)?;
        }
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Error> {
        let Some(file) = self.file.take() else { return Ok(()) };
        file.sync_all().map_err(|source| Error::Write { path: self.path.clone(), source })
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
