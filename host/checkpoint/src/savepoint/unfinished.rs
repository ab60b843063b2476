//! What is left of a savepoint whose writer was killed.
//!
//! It is known by this alone: the folder holds nothing but files that a writer makes, and not the one that is made
//! last. Such a folder may be written to again, and may be removed; any other is left alone.

use std::fs;
use std::path::{Path, PathBuf};

use model::OperatorUid;

use super::{Error, METADATA_FILE, PART_SUFFIX};

/// The files of an unfinished savepoint in `folder`; `None` where it is none: it is empty, finished, or holds anything
/// that no writer made.
///
/// # Errors
/// When the folder cannot be read.
pub fn unfinished(folder: &Path) -> Result<Option<Vec<PathBuf>>, Error> {
    let refused = || Error::io("read the folder", folder);
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(refused())? {
        let entry = entry.map_err(refused())?;
        let is_file = entry.file_type().map_err(refused())?.is_file();
        if !is_file || !entry.file_name().to_str().is_some_and(is_of_a_writer) {
            return Ok(None);
        }
        files.push(entry.path());
    }
    Ok(Some(files).filter(|files| !files.is_empty()))
}

/// Whether a writer gives such names before the last one.
fn is_of_a_writer(name: &str) -> bool {
    let whole = name.strip_suffix(PART_SUFFIX);
    let of_entries = |name: &str| name.strip_suffix(".entries").is_some_and(|uid| OperatorUid::new(uid).is_ok());
    whole == Some(METADATA_FILE) || of_entries(whole.unwrap_or(name))
}
