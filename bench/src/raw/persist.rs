//! Bare loops of checkpoints and restarts: entries to a file and back, without an engine.
//!
//! A file is a run of entries: the lengths of key and value as four bytes each, little endian, then the two.

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use hashbrown::HashMap;

use crate::entries::{Key, Value};

/// Bytes written, and read, at a time.
const CHUNK_BYTES: usize = 1 << 20;

/// Sorts `entries` by their keys, encodes them, and writes them to a new file at `path`, which is synced once.
/// Returns its length.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn sort_encode_write(entries: &mut [(Key, Value)], path: &Path) -> anyhow::Result<u64> {
    entries.sort_unstable_by_key(|(key, _)| *key);
    let file = File::create(path).with_context(|| format!("create {}", path.display()))?;
    let mut out = BufWriter::with_capacity(CHUNK_BYTES, file);
    let mut bytes = 0;
    for (key, value) in &*entries {
        bytes += write_entry(&mut out, key, value)?;
    }
    out.into_inner().map_err(|error| error.into_error())?.sync_all()?;
    Ok(bytes)
}

fn write_entry(out: &mut impl Write, key: &[u8], value: &[u8]) -> anyhow::Result<u64> {
    let (key_bytes, value_bytes) = (u32::try_from(key.len())?, u32::try_from(value.len())?);
    out.write_all(&key_bytes.to_le_bytes())?;
    out.write_all(&value_bytes.to_le_bytes())?;
    out.write_all(key)?;
    out.write_all(value)?;
    Ok(8 + u64::from(key_bytes) + u64::from(value_bytes))
}

/// The bytes of a file of `entries`.
pub(crate) fn encode(entries: impl Iterator<Item = (Key, Value)>) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for (key, value) in entries {
        write_entry(&mut bytes, &key, &value)?;
    }
    Ok(bytes)
}

/// Calls `take` with the key and value of every entry of a file.
///
/// # Errors
/// When the bytes are not those of a file, or `take` fails.
pub(crate) fn each_entry(
    mut bytes: &[u8],
    mut take: impl FnMut(&[u8], &[u8]) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    while !bytes.is_empty() {
        let (lengths, rest) = bytes.split_first_chunk::<8>().context("a file ends within the head of an entry")?;
        let [a, b, c, d, e, f, g, h] = *lengths;
        let (key_bytes, value_bytes) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        ensure!(rest.len() as u64 >= u64::from(key_bytes) + u64::from(value_bytes), "a file ends within an entry");
        let (key, rest) = rest.split_at(key_bytes as usize);
        let (value, rest) = rest.split_at(value_bytes as usize);
        take(key, value)?;
        bytes = rest;
    }
    Ok(())
}

/// A table of the entries of a file.
///
/// # Errors
/// When the bytes are not those of a file, or an entry has another length than ours have.
pub(crate) fn build_table(bytes: &[u8]) -> anyhow::Result<HashMap<Key, Value>> {
    let mut table = HashMap::new();
    each_entry(bytes, |key, value| {
        table.insert(key.try_into()?, value.try_into()?);
        Ok(())
    })?;
    Ok(table)
}

/// Reads every byte of the files; returns how many there were.
///
/// # Errors
/// When one cannot be read.
pub(crate) fn read_files(paths: &[PathBuf]) -> anyhow::Result<u64> {
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut bytes = 0;
    for path in paths {
        let mut file = File::open(path).with_context(|| format!("open {}", path.display()))?;
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            bytes += read as u64;
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
