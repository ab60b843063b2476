//! Reading files that a user names.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::report::CliError;

/// Reads a regular file of at most `most` bytes. `what` names it in messages: "job file".
///
/// # Errors
/// When it cannot be read, is no regular file (a pipe or a device may never end), or is larger.
pub(crate) fn read_bounded(path: &Path, what: &str, most: u64) -> Result<Vec<u8>, CliError> {
    let name = path.display();
    let refused = |error: std::io::Error| CliError::failed(format!("read {what} `{name}`: {error}"));
    let metadata = std::fs::metadata(path).map_err(refused)?;
    if !metadata.is_file() {
        return Err(CliError::failed(format!(
            "read {what} `{name}`: expected a regular file, found {}",
            kind(&metadata)
        )));
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes)).map_err(refused)?;
    if bytes.len() as u64 > most {
        let found = metadata.len().max(most + 1);
        return Err(CliError::failed(format!("read {what} `{name}`: {found} bytes, at most {most} are read")));
    }
    Ok(bytes)
}

fn kind(metadata: &std::fs::Metadata) -> &'static str {
    if metadata.is_dir() { "a folder" } else { "a pipe or a device" }
}
