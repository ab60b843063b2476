//! The file sink: lines in one file per subtask.
//!
//! # Flow
//! Whole lines are gathered until [`BUFFER_BYTES`]; then they are written in one call. Packed files get
//! one gzip member for each such write, so that a file is whole at every length it ever had.
//!
//! # Invariants
//! 1. A file ends after a whole record whenever nobody is inside a call: a write that fails is cut off. Where only room
//!    or handles were missing it is made again by the next call; after any other failure nothing is written.
//! 2. [`contract::SinkWriter::close`] returns after file and directory are on the disk, and so does what
//!    [`contract::SinkWriter::stage`] hands over: no checkpoint counts what a loss of power would take.
//! 3. A file has one writer, which holds its lock: another is refused, by whatever name it comes.
//! 4. Only what `overwrite` allows is emptied or removed, and only files that have our names.
//! 5. That is done at the first record or at close: a sink that was opened for a job that does not start
//!    has changed no file.
//! 6. In a job with checkpoints what earlier generations of its lineage wrote stays: each has parts of its own,
//!    and one file is written on behind its last whole record.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use contract::{Sink, SinkWriter, Staging, WriterTask};
use model::job::{FileSinkSpec, FormatSpec, SinkCompression};
use model::{Epoch, LineageId, RecordBatch};

use super::append;
use super::error::Error;
use super::gathered::Gathered;
use super::options::FileSinkOptions;
use super::parts::{self, PartName};
use super::staged::HIDDEN;
use crate::failure::SharedFailure;

/// Lines in files.
#[derive(Debug)]
pub struct FileSink {
    options: FileSinkOptions,
}

impl FileSink {
    /// A sink; nothing is touched before it is opened.
    #[must_use]
    pub fn new(options: FileSinkOptions) -> Self {
        Self { options }
    }

    fn file_of(&self, task: &WriterTask) -> Result<PathBuf, Error> {
        let (path, parallelism) = (&self.options.path, task.parallelism.0);
        if !FileSinkSpec::is_one_file(path) {
            return Ok(path.join(parts::name(task, self.ending())));
        }
        if parallelism > 1 {
            return Err(Error::OneFileManyWriters { path: path.clone(), parallelism });
        }
        Ok(path.clone())
    }

    fn ending(&self) -> &'static str {
        ending(&self.options.format, self.options.compression)
    }

    /// Parts of an earlier run with more subtasks or another format, which would mix with ours, each with
    /// its lock. An empty one mixes with nothing, and may be that of another sink that has written nothing
    /// yet: it is left alone unless all are replaced.
    fn other_parts(&self, task: &WriterTask) -> Result<Vec<(PathBuf, File)>, Error> {
        let cannot_list = |source| Error::Open { path: self.options.path.clone(), source };
        let mut others = Vec::new();
        for entry in fs::read_dir(&self.options.path).map_err(cannot_list)? {
            let path = entry.map_err(cannot_list)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_ours = match parts::parse(&name) {
                None => continue,
                Some(PartName::OfLineage(lineage)) => parts::has_checkpoints(task) && lineage == task.lineage,
                Some(PartName::Plain { subtask, ending }) => {
                    !parts::has_checkpoints(task) && subtask < task.parallelism.0 && ending == self.ending()
                }
            };
            if is_ours {
                continue;
            }
            self.refuse_or_allow(&path)?;
            if self.options.overwrite {
                let part = File::open(&path).map_err(|source| Error::Open { path: path.clone(), source })?;
                lock(&part, &path)?;
                others.push((path, part));
            }
        }
        Ok(others)
    }

    fn refuse_or_allow(&self, path: &Path) -> Result<(), Error> {
        match fs::metadata(path) {
            Ok(there) if there.len() > 0 && !self.options.overwrite => {
                Err(Error::WouldOverwrite { path: path.to_owned(), bytes: there.len() })
            }
            _ => Ok(()),
        }
    }

    /// A file of which we are the one writer, and whether it holds what is to be replaced.
    fn open_part(&self, path: &Path, goes_on: bool) -> Result<(File, bool), Error> {
        let cannot_open = |source| Error::Open { path: path.to_owned(), source };
        let check = || if goes_on { Ok(()) } else { self.refuse_or_allow(path) };
        check()?;
        let file = OpenOptions::new()
            .read(goes_on)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(cannot_open)?;
        lock(&file, path)?;
        // Whoever had the lock before may have written, or removed the file to which its name led.
        check()?;
        let there = file.metadata().map_err(cannot_open)?;
        if there.nlink() == 0 {
            return Err(Error::InUse { path: path.to_owned() });
        }
        Ok((file, there.len() > 0 && !goes_on))
    }
}

/// Takes the lock of a file, which the system gives back when the file is closed.
fn lock(file: &File, path: &Path) -> Result<(), Error> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(Error::InUse { path: path.to_owned() }),
        // Some network file systems know no locks.
        Err(TryLockError::Error(source)) if source.kind() == io::ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(source)) => Err(Error::Open { path: path.to_owned(), source }),
    }
}

/// How the name of a file ends that holds values of a format.
pub(super) fn ending(format: &FormatSpec, compression: SinkCompression) -> &'static str {
    match (format, compression) {
        (FormatSpec::Json, SinkCompression::None) => ".jsonl",
        (FormatSpec::Json, SinkCompression::Gzip) => ".jsonl.gz",
        (FormatSpec::Csv(_), SinkCompression::None) => ".csv",
        (FormatSpec::Csv(_), SinkCompression::Gzip) => ".csv.gz",
        (FormatSpec::Raw, SinkCompression::None) => ".txt",
        (FormatSpec::Raw, SinkCompression::Gzip) => ".txt.gz",
    }
}

impl Sink for FileSink {
    fn open(&self, task: &WriterTask) -> Result<Box<dyn SinkWriter>, contract::Error> {
        let path = self.file_of(task)?;
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        fs::create_dir_all(&directory).map_err(|source| Error::Open { path: directory.clone(), source })?;
        if directory.join(HIDDEN).exists() {
            return Err(Error::ExactlyOnceThere { path: directory }.into());
        }
        let is_one_file = FileSinkSpec::is_one_file(&self.options.path);
        let clears = task.subtask.0 == 0 && !is_one_file;
        let other_parts = if clears { self.other_parts(task)? } else { Vec::new() };
        let goes_on = is_one_file && parts::has_checkpoints(task) && append::is_of(&path, task.lineage);
        let (mut file, holds_old) = self.open_part(&path, goes_on)?;
        let written_bytes = if goes_on {
            let cannot_write = |source| Error::Write { path: path.clone(), source };
            append::go_to_end(&mut file, self.options.compression).map_err(cannot_write)?
        } else {
            0
        };
        let marks = (is_one_file && parts::has_checkpoints(task) && !goes_on).then_some(task.lineage);
        let part = Part {
            file,
            holds_old,
            other_parts,
            path,
            directory,
            gathered: Gathered::new(self.options.compression),
            written_bytes,
            marks,
            lines: LineStyle::of(&self.options.format),
        };
        Ok(Box::new(FileWriter { part, failure: SharedFailure::default() }))
    }
}

/// How a value becomes a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineStyle {
    /// A line break can only be white space between tokens, so it becomes a blank; a tombstone is `null`.
    Json,
    /// Line breaks stand between quotes; a tombstone is an empty line.
    Csv,
    /// A line break would make two records of one: refused; a tombstone is an empty line.
    Raw,
}

impl LineStyle {
    pub(crate) fn of(format: &FormatSpec) -> Self {
        match format {
            FormatSpec::Json => Self::Json,
            FormatSpec::Csv(_) => Self::Csv,
            FormatSpec::Raw => Self::Raw,
        }
    }

    /// Appends a value and the end of its line. `Err`: it cannot be one line; nothing was appended.
    pub(crate) fn append<'v>(self, value: Option<&'v [u8]>, lines: &mut Vec<u8>) -> Result<(), &'v [u8]> {
        let Some(value) = value else {
            lines.extend_from_slice(if self == Self::Json { b"null\n" } else { b"\n" });
            return Ok(());
        };
        let start = lines.len();
        if self == Self::Raw && memchr::memchr(b'\n', value).is_some() {
            return Err(value);
        }
        lines.extend_from_slice(value);
        if self == Self::Json
            && let Some(line) = lines.get_mut(start..)
            && memchr::memchr2(b'\n', b'\r', line).is_some()
        {
            line.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
        }
        lines.push(b'\n');
        Ok(())
    }
}

/// A file being written.
struct Part {
    path: PathBuf,
    directory: PathBuf,
    file: File,
    /// Whether the file still is as an earlier run left it.
    holds_old: bool,
    /// Parts of an earlier run that are still there, with their locks.
    other_parts: Vec<(PathBuf, File)>,
    gathered: Gathered,
    /// Bytes of the file that are whole records.
    written_bytes: u64,
    /// Whose the file is to be marked as, once it holds nothing of an earlier run.
    marks: Option<LineageId>,
    lines: LineStyle,
}

impl Part {
    /// Empties and removes what is replaced, once.
    fn replace_old(&mut self) -> Result<(), Error> {
        if self.holds_old {
            self.file.set_len(0).map_err(|source| Error::Write { path: self.path.clone(), source })?;
            self.holds_old = false;
        }
        if let Some(lineage) = self.marks.take() {
            append::mark(&self.path, lineage)
                .map_err(|source| Error::Write { path: append::marker(&self.path), source })?;
        }
        while let Some((path, _lock)) = self.other_parts.pop() {
            match fs::remove_file(&path) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => return Err(Error::Write { path, source }),
                _ => {}
            }
        }
        Ok(())
    }

    fn append(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        self.replace_old()?;
        self.write_if_due()?;
        for value in batch.values.iter() {
            if let Err(value) = self.lines.append(value, self.gathered.lines()) {
                return Err(Error::line_break(&self.path, value));
            }
        }
        match self.write_if_due() {
            // The batch is taken: what there is no room for now is written before the next one is.
            Err(Error::NoRoom { .. }) => Ok(()),
            written => written,
        }
    }

    fn write_if_due(&mut self) -> Result<(), Error> {
        if self.gathered.is_due() { self.write_gathered() } else { Ok(()) }
    }

    fn write_gathered(&mut self) -> Result<(), Error> {
        let whole_bytes = &mut self.written_bytes;
        let Err(source) = self.gathered.write_to(&mut self.file, |piece| *whole_bytes += piece.len() as u64) else {
            return Ok(());
        };
        // Invariant 1. Should this fail too, the first error is the one to report.
        match self.file.set_len(self.written_bytes).and_then(|()| self.file.seek(SeekFrom::Start(self.written_bytes))) {
            Ok(_) => {
                self.gathered.begin_piece_again();
                Err(Error::unwritten(&self.path, source))
            }
            Err(_) => Err(Error::Write { path: self.path.clone(), source }),
        }
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.replace_old()?;
        self.write_gathered()?;
        sync(&self.file, &self.directory).map_err(|source| Error::Write { path: self.path.clone(), source })
    }

    /// Hands what is gathered to the file, and what makes it durable to the caller.
    fn stage(&mut self) -> Result<impl FnMut() -> Result<(), Error> + Send + use<>, Error> {
        self.write_gathered()?;
        let (path, directory) = (self.path.clone(), self.directory.clone());
        let file = self.file.try_clone().map_err(|source| Error::unwritten(&path, source))?;
        Ok(move || sync(&file, &directory).map_err(|source| Error::Write { path: path.clone(), source }))
    }
}

fn sync(file: &File, directory: &Path) -> io::Result<()> {
    file.sync_all()?;
    File::open(directory)?.sync_all()
}

struct FileWriter {
    part: Part,
    failure: SharedFailure,
}

impl SinkWriter for FileWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), contract::Error> {
        self.failure.unless(|| Ok(self.part.append(batch)?))
    }

    fn flush(&mut self) -> Result<(), contract::Error> {
        self.failure.unless(|| Ok(self.part.write_gathered()?))
    }

    fn stage(&mut self, _epoch: Epoch) -> Result<Staging, contract::Error> {
        let mut sync = self.failure.unless(|| Ok(self.part.stage()?))?;
        let failure = self.failure.clone();
        Ok(Box::new(move || failure.unless(|| Ok(sync().map(|()| Vec::new())?))))
    }

    fn close(&mut self) -> Result<(), contract::Error> {
        self.failure.unless(|| Ok(self.part.finish()?))
    }
}
