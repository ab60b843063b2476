//! The file sink: lines in one file per subtask.
//!
//! # Flow
//! Whole lines are gathered until [`BUFFER_BYTES`]; then they are written in one call. Packed files get
//! one gzip member for each such write, so that a file is whole at every length it ever had.
//!
//! # Invariants
//! 1. A file ends after a whole record whenever nobody is inside a call: a write that fails is cut off.
//! 2. [`contract::SinkWriter::close`] returns after file and directory are on the disk.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use contract::{Sink, SinkWriter};
use flate2::Compression;
use flate2::write::GzEncoder;
use model::job::{FileSinkSpec, FormatSpec, SinkCompression};
use model::{Parallelism, RecordBatch, SubtaskIndex};

use super::error::Error;
use super::options::FileSinkOptions;

/// What is gathered before a write: a system call then costs less than a nanosecond a record.
const BUFFER_BYTES: usize = 256 * 1024;

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

    fn file_of(&self, subtask: SubtaskIndex, parallelism: Parallelism) -> Result<PathBuf, Error> {
        let path = &self.options.path;
        if !FileSinkSpec::is_one_file(path) {
            return Ok(path.join(part_name(subtask.0, self.ending())));
        }
        if parallelism.0 > 1 {
            return Err(Error::OneFileManyWriters { path: path.clone(), parallelism: parallelism.0 });
        }
        Ok(path.clone())
    }

    fn ending(&self) -> &'static str {
        match (&self.options.format, self.options.compression) {
            (FormatSpec::Json, SinkCompression::None) => ".jsonl",
            (FormatSpec::Json, SinkCompression::Gzip) => ".jsonl.gz",
            (FormatSpec::Csv(_), SinkCompression::None) => ".csv",
            (FormatSpec::Csv(_), SinkCompression::Gzip) => ".csv.gz",
            (FormatSpec::Raw, SinkCompression::None) => ".txt",
            (FormatSpec::Raw, SinkCompression::Gzip) => ".txt.gz",
        }
    }

    /// Parts of an earlier run with more subtasks, which would mix with ours.
    fn clear_other_parts(&self, parallelism: Parallelism) -> Result<(), Error> {
        let cannot_list = |source| Error::Open { path: self.options.path.clone(), source };
        for entry in fs::read_dir(&self.options.path).map_err(cannot_list)? {
            let path = entry.map_err(cannot_list)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let Some(digits) = name.strip_prefix("part-").and_then(|rest| rest.get(..5)) else { continue };
            let is_ours = digits
                .parse::<u32>()
                .is_ok_and(|index| index < parallelism.0 && name == part_name(index, self.ending()));
            if is_ours || digits.parse::<u32>().is_err() {
                continue;
            }
            self.refuse_or_allow(&path)?;
            fs::remove_file(&path).map_err(|source| Error::Write { path: path.clone(), source })?;
        }
        Ok(())
    }

    fn refuse_or_allow(&self, path: &Path) -> Result<(), Error> {
        match fs::metadata(path) {
            Ok(there) if there.len() > 0 && !self.options.overwrite => {
                Err(Error::WouldOverwrite { path: path.to_owned(), bytes: there.len() })
            }
            _ => Ok(()),
        }
    }
}

fn part_name(subtask: u32, ending: &str) -> String {
    format!("part-{subtask:05}{ending}")
}

impl Sink for FileSink {
    fn open(&self, subtask: SubtaskIndex, parallelism: Parallelism) -> Result<Box<dyn SinkWriter>, contract::Error> {
        let path = self.file_of(subtask, parallelism)?;
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        fs::create_dir_all(&directory).map_err(|source| Error::Open { path: directory.clone(), source })?;
        if subtask.0 == 0 && !FileSinkSpec::is_one_file(&self.options.path) {
            self.clear_other_parts(parallelism)?;
        }
        self.refuse_or_allow(&path)?;
        let opened = OpenOptions::new().write(true).create(true).truncate(true).open(&path);
        let file = opened.map_err(|source| Error::Open { path: path.clone(), source })?;
        Ok(Box::new(FileWriter {
            path,
            directory,
            file,
            buffer: Vec::with_capacity(BUFFER_BYTES + BUFFER_BYTES / 4),
            written_bytes: 0,
            compression: self.options.compression,
            lines: LineStyle::of(&self.options.format),
        }))
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

struct FileWriter {
    path: PathBuf,
    directory: PathBuf,
    file: File,
    buffer: Vec<u8>,
    /// Bytes of the file that are whole records.
    written_bytes: u64,
    compression: SinkCompression,
    lines: LineStyle,
}

impl FileWriter {
    fn write_buffer(&mut self) -> Result<(), Error> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let written = match self.compression {
            SinkCompression::None => self.file.write_all(&self.buffer).map(|()| self.buffer.len()),
            SinkCompression::Gzip => pack(&self.buffer).and_then(|packed| {
                self.file.write_all(&packed)?;
                Ok(packed.len())
            }),
        };
        self.buffer.clear();
        match written {
            Ok(bytes) => {
                self.written_bytes += bytes as u64;
                Ok(())
            }
            Err(source) => {
                // Invariant 1. Should this fail too, the first error is the one to report.
                drop(self.file.set_len(self.written_bytes));
                Err(Error::Write { path: self.path.clone(), source })
            }
        }
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_all()?;
        File::open(&self.directory)?.sync_all()
    }
}

fn pack(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 3), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}

impl SinkWriter for FileWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), contract::Error> {
        for value in batch.values.iter() {
            if let Err(value) = self.lines.append(value, &mut self.buffer) {
                let sample = String::from_utf8_lossy(value.get(..60).unwrap_or(value)).escape_debug().to_string();
                return Err(Error::LineBreak { path: self.path.clone(), sample }.into());
            }
            if self.buffer.len() >= BUFFER_BYTES {
                self.write_buffer()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), contract::Error> {
        Ok(self.write_buffer()?)
    }

    fn close(&mut self) -> Result<(), contract::Error> {
        self.write_buffer()?;
        self.sync().map_err(|source| Error::Write { path: self.path.clone(), source })?;
        Ok(())
    }
}
