//! Compiled code in a folder.
//!
//! # Format
//! `<module>-<engine>.code`, both in hex, the engine cut to 16 digits: the magic of 16 bytes with the
//! version of the format as its last, SHA-256 over module, engine and code, then the code.
//!
//! # Invariants
//! 1. A file appears whole, by rename, or not at all.
//! 2. What [`Cache::get`] returns is byte for byte what [`Cache::put`] was given under the same key.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::Error;
use crate::compile::CodeKey;

/// First bytes of a file; the last is the version of the format.
const MAGIC: &[u8; 16] = b"tidegate-code\0\0\x01";

/// Largest file read: sixteen times the largest component.
const CODE_BYTES: u64 = 1 << 30;

/// A folder of compiled code that only its owner may write.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
}

impl Cache {
    pub(crate) fn open(folder: PathBuf) -> Result<Self, Error> {
        let refuse = |reason: String| Error::CacheFolder { path: folder.clone(), reason };
        make_private(&folder).map_err(|error| refuse(error.to_string()))?;
        if let Some(reason) = why_not_private(&folder).map_err(|error| refuse(error.to_string()))? {
            return Err(refuse(reason.to_owned()));
        }
        Ok(Self { folder })
    }

    /// The code under `key`; `None`, with a warning where a file is there and is not what it should be.
    pub(crate) fn get(&self, key: &CodeKey) -> Option<Vec<u8>> {
        let path = self.path(key);
        match read(&path, key) {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(file = %path.display(), "compiled code is not usable, compiling anew: {error}");
                None
            }
        }
    }

    /// Keeps `code`. A cache that cannot be written is a slow start, not a failure.
    pub(crate) fn put(&self, key: &CodeKey, code: &[u8]) {
        let path = self.path(key);
        if let Err(error) = write(&self.folder, &path, key, code) {
            tracing::warn!(file = %path.display(), "keep compiled code: {error}");
        }
    }

    fn path(&self, key: &CodeKey) -> PathBuf {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let engine = key.engine.0.get(..8).unwrap_or_default();
        self.folder.join(format!("{}-{}.code", hex(&key.module.0), hex(engine)))
    }
}

fn checksum(key: &CodeKey, code: &[u8]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(key.module.0);
    hasher.update(key.engine.0);
    hasher.update(code);
    hasher.finalize().into()
}

fn read(path: &Path, key: &CodeKey) -> io::Result<Option<Vec<u8>>> {
    let damaged = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !is_ours_alone(&file)? {
        return Err(damaged("others own it or may write it"));
    }
    let (mut magic, mut expected) = ([0; 16], [0; 32]);
    file.read_exact(&mut magic)?;
    if magic != *MAGIC {
        return Err(damaged("another format"));
    }
    file.read_exact(&mut expected)?;
    let mut code = Vec::new();
    file.take(CODE_BYTES).read_to_end(&mut code)?;
    if checksum(key, &code) != expected {
        return Err(damaged("the checksum does not match"));
    }
    Ok(Some(code))
}

fn write(folder: &Path, path: &Path, key: &CodeKey, code: &[u8]) -> io::Result<()> {
    let mut file = tempfile::Builder::new().prefix(".code-").tempfile_in(folder)?;
    file.write_all(MAGIC)?;
    file.write_all(&checksum(key, code))?;
    file.write_all(code)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(unix)]
fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent)?;
    }
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

#[cfg(unix)]
fn why_not_private(folder: &Path) -> io::Result<Option<&'static str>> {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::metadata(folder)?;
    Ok(if !metadata.is_dir() {
        Some("it is not a folder")
    } else if metadata.mode() & 0o022 != 0 {
        Some("others may write into it, and what lies in it is run")
    } else if metadata.uid() != rustix::process::geteuid().as_raw() {
        Some("it belongs to somebody else, and what lies in it is run")
    } else {
        None
    })
}

/// Whether nobody else can have written what is in `file`.
#[cfg(unix)]
fn is_ours_alone(file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let metadata = file.metadata()?;
    Ok(metadata.is_file() && metadata.mode() & 0o022 == 0 && metadata.uid() == rustix::process::geteuid().as_raw())
}

#[cfg(not(unix))]
fn is_ours_alone(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.is_file())
}

#[cfg(not(unix))]
fn make_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

#[cfg(not(unix))]
fn why_not_private(folder: &Path) -> io::Result<Option<&'static str>> {
    Ok(if fs::metadata(folder)?.is_dir() { None } else { Some("it is not a folder") })
}
