//! Which files a path stands for, how each is packed, and what their header lines say.

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use model::job::{CsvSpec, SourceCompression};
use tracing::info;

use super::error::Error;
use super::options::FileSourceOptions;
use super::unpack::{Packing, Stop, Unpacked};
use super::{gzip, lines};

const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
pub(super) const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];
/// The longest header line: a thousand columns with names of sixty characters.
const MAX_HEADER_BYTES: usize = 64 * 1024;

/// The files, in the order of their names. Hidden files, sub-directories and what is not a file are
/// left out.
pub(super) fn list(options: &FileSourceOptions) -> Result<Vec<String>, Error> {
    let path = &options.path;
    let metadata = fs::metadata(path).map_err(|source| Error::Open { path: path.clone(), source })?;
    if metadata.is_file() {
        return Ok(vec![utf8(path.parent().unwrap_or(path), path)?]);
    }
    if !metadata.is_dir() {
        return Err(Error::NotAFile { path: path.clone() });
    }
    let mut files = Vec::new();
    let mut passed = Passed::default();
    let cannot_list = |source| Error::Open { path: path.clone(), source };
    for entry in fs::read_dir(path).map_err(cannot_list)? {
        let entry = entry.map_err(cannot_list)?.path();
        let name = entry.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') {
            passed.hidden += 1;
        } else if !options.include.is_empty() && !options.include.iter().any(|suffix| name.ends_with(suffix)) {
            passed.other_names += 1;
        } else if fs::metadata(&entry).map_err(|source| Error::Open { path: entry.clone(), source })?.is_file() {
            files.push(utf8(path, &entry)?);
        } else {
            passed.not_files += 1;
        }
    }
    files.sort_unstable();
    if files.is_empty() {
        return Err(Error::NothingToRead { path: path.clone(), found: passed.to_string() });
    }
    if !passed.is_nothing() {
        info!(path = %path.display(), files = files.len(), "a directory holds more than is read: {passed}");
    }
    Ok(files)
}

/// What a directory holds beside files to read.
#[derive(Default)]
struct Passed {
    hidden: usize,
    other_names: usize,
    not_files: usize,
}

impl Passed {
    fn is_nothing(&self) -> bool {
        self.hidden + self.other_names + self.not_files == 0
    }
}

impl std::fmt::Display for Passed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { hidden, other_names, not_files } = self;
        if self.is_nothing() {
            return f.write_str("it is empty");
        }
        write!(f, "{hidden} hidden, {other_names} not of `include`, {not_files} sub-directories and the like")
    }
}

fn utf8(directory: &Path, path: &Path) -> Result<String, Error> {
    path.to_str().map(str::to_owned).ok_or_else(|| Error::NameNotUtf8 {
        path: directory.to_owned(),
        name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
    })
}

/// Opens a file, and finds out how it is packed.
pub(super) fn open(options: &FileSourceOptions, split: &str) -> Result<Unpacked, Error> {
    let cannot_open = |source| Error::Open { path: PathBuf::from(split), source };
    let mut file = File::open(split).map_err(cannot_open)?;
    let mut magic = [0; 4];
    let bytes = read_start(&mut file, &mut magic).map_err(cannot_open)?;
    file.rewind().map_err(cannot_open)?;
    let packing = packing(split, options.compression, magic.get(..bytes).unwrap_or_default())?;
    Unpacked::new(file, packing).map_err(cannot_open)
}

fn read_start(file: &mut File, magic: &mut [u8]) -> io::Result<usize> {
    let mut bytes = 0;
    while let Some(rest) = magic.get_mut(bytes..).filter(|rest| !rest.is_empty()) {
        match file.read(rest) {
            Ok(0) => break,
            Ok(more) => bytes += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bytes)
}

/// The first bytes tell; a name or an option that says otherwise is an error, because reading packed
/// bytes as lines makes nothing but bad records.
fn packing(split: &str, compression: SourceCompression, start: &[u8]) -> Result<Packing, Error> {
    let found = if start.starts_with(&gzip::MAGIC) {
        Packing::Gzip
    } else if start.starts_with(&ZSTD_MAGIC) {
        Packing::Zstd
    } else {
        Packing::None
    };
    let (expected, reason) = match compression {
        SourceCompression::None => return Ok(Packing::None),
        SourceCompression::Gzip => (Packing::Gzip, "`compression`"),
        SourceCompression::Zstd => (Packing::Zstd, "`compression`"),
        SourceCompression::Auto => match split.rsplit_once('.').map(|(_, ending)| ending) {
            Some("gz") if found == Packing::None => (Packing::Gzip, "name"),
            Some("zst" | "zstd") if found == Packing::None => (Packing::Zstd, "name"),
            _ => return Ok(found),
        },
    };
    if found == expected {
        return Ok(found);
    }
    let hex: Vec<String> = start.iter().map(|byte| format!("{byte:02x}")).collect();
    Err(Error::NotPackedSo {
        split: split.to_owned(),
        expected: if expected == Packing::Gzip { "gzip" } else { "zstd" },
        reason,
        found: if hex.is_empty() { "an empty file".to_owned() } else { format!("the bytes {}", hex.join(" ")) },
    })
}

/// The columns of CSV files: those of the options or of the first header line, which every other
/// header line must repeat.
pub(super) fn columns(options: &FileSourceOptions, csv: &CsvSpec, files: &[String]) -> Result<Vec<String>, Error> {
    let mut columns = csv.columns.clone();
    if !csv.header {
        return Ok(columns);
    }
    for split in files {
        let found = read_header(options, csv, split)?;
        if columns.is_empty() {
            columns = found;
        } else if columns != found {
            let delimiter = char::from(csv.delimiter).to_string();
            let (expected, found) = (columns.join(&delimiter), found.join(&delimiter));
            return Err(Error::Header { split: split.clone(), expected, found });
        }
    }
    Ok(columns)
}

fn read_header(options: &FileSourceOptions, csv: &CsvSpec, split: &str) -> Result<Vec<String>, Error> {
    let no_header = |why: &str| Error::NoHeader { split: split.to_owned(), why: why.to_owned() };
    let mut start = vec![0; MAX_HEADER_BYTES];
    let (bytes, stop) = open(options, split)?.fill(&mut start);
    match stop {
        Some(Stop::Io(source)) => return Err(Error::Read { split: split.to_owned(), position: bytes as u64, source }),
        Some(Stop::Damaged { damage, packed_position }) => {
            return Err(Error::Damaged { split: split.to_owned(), damage, packed_position, position: bytes as u64 });
        }
        Some(Stop::End) | None => {}
    }
    let start = start.get(..bytes).unwrap_or_default();
    let start = start.strip_prefix(&BYTE_ORDER_MARK).unwrap_or(start);
    let line = match (lines::Rule::Csv { delimiter: csv.delimiter }).first(start) {
        Some(line) => start.get(..line.end).unwrap_or_default(),
        None if lines::leaves_a_quote_open(start, csv.delimiter) => {
            return Err(no_header("a quote opens in its header line and is not closed within 64 KiB or the file"));
        }
        None if bytes < MAX_HEADER_BYTES => start,
        None => return Err(no_header("its header line is longer than 64 KiB")),
    };
    if line.is_empty() {
        return Err(no_header("it is empty or starts with an empty line: expected a header line"));
    }
    let names = split_columns(line, csv.delimiter).map_err(|why| no_header(&why))?;
    if names.iter().enumerate().any(|(index, name)| names.iter().take(index).any(|earlier| earlier == name)) {
        return Err(no_header("its header line names a column twice"));
    }
    Ok(names)
}

/// The names in a header line, or why it is none.
fn split_columns(line: &[u8], delimiter: u8) -> Result<Vec<String>, String> {
    let mut reader = csv_core::ReaderBuilder::new().delimiter(delimiter).build();
    let ended = [line, b"\n"].concat();
    let (mut text, mut ends) = (vec![0; ended.len()], vec![0; ended.len()]);
    let (_, consumed, _, fields) = reader.read_record(&ended, &mut text, &mut ends);
    // To the reader a carriage return outside quotes ends a record, or is an empty one before it.
    if consumed < ended.len() || line.starts_with(b"\r") {
        let at = line.get(..consumed).and_then(|read| memchr::memrchr(b'\r', read)).unwrap_or_default();
        return Err(format!(
            "byte {at} of its header line is a carriage return: expected lines that end in \\n or \\r\\n"
        ));
    }
    let mut start = 0;
    let mut names = Vec::new();
    for &end in ends.get(..fields).unwrap_or_default() {
        let name = std::str::from_utf8(text.get(start..end).unwrap_or_default());
        names.push(name.map_err(|_| "its header line is not UTF-8")?.to_owned());
        start = end;
    }
    Ok(names)
}
