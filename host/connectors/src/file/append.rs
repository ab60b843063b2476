//! Going on in one file that an earlier generation of the same job wrote.
//!
//! A hidden file beside it, `.<name>.tidegate`, holds the lineage that writes it. It is made when what was there
//! before is gone, so a file with it holds nothing but the job's own records.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use model::LineageId;
use model::job::SinkCompression;

/// The file that says whose a file is.
pub(super) fn marker(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.tidegate"))
}

/// Notes that `path` is written by `lineage`, for good: were the note lost with the power, what the file holds would
/// be taken for an earlier run's.
pub(super) fn mark(path: &Path, lineage: LineageId) -> io::Result<()> {
    let mut file = File::create(marker(path))?;
    file.write_all(lineage.to_string().as_bytes())?;
    file.sync_all()
}

/// Whether `path` was written by `lineage`.
pub(super) fn is_of(path: &Path, lineage: LineageId) -> bool {
    fs::read_to_string(marker(path)).is_ok_and(|text| text == lineage.to_string())
}

/// Cuts off what a process that was killed left of a record, and stands at the end. Returns the length.
pub(super) fn go_to_end(file: &mut File, compression: SinkCompression) -> io::Result<u64> {
    let whole = match compression {
        SinkCompression::None => last_line_end(file)?,
        SinkCompression::Gzip => last_member_end(file)?,
    };
    file.set_len(whole)?;
    file.seek(SeekFrom::Start(whole))
}

fn last_line_end(file: &mut File) -> io::Result<u64> {
    const BLOCK_BYTES: u64 = 64 * 1024;
    let mut end = file.metadata()?.len();
    while end > 0 {
        let start = end.saturating_sub(BLOCK_BYTES);
        file.seek(SeekFrom::Start(start))?;
        let mut block = Vec::new();
        Read::by_ref(file).take(end - start).read_to_end(&mut block)?;
        if let Some(at) = memchr::memrchr(b'\n', &block) {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

fn last_member_end(file: &mut File) -> io::Result<u64> {
    file.rewind()?;
    let mut reader = BufReader::new(file);
    let mut end = 0;
    while !reader.fill_buf()?.is_empty() {
        let mut member = flate2::bufread::GzDecoder::new(&mut reader);
        if io::copy(&mut member, &mut io::sink()).is_err() {
            break;
        }
        end = reader.stream_position()?;
    }
    Ok(end)
}
