//! Input files, made once from a seed and kept.
//!
//! # Invariants
//! 1. The same kind, seed and number of records give the same bytes for ever; a change of what is written
//!    raises [`VERSION`].
//! 2. A kept file is used only if its length and checksum are those noted when it was made; checking
//!    also brings it into the page cache.

use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

/// Rises when the bytes of any kind of input change.
const VERSION: u32 = 1;
/// Decides every byte.
const SEED: u64 = 20_260_101;
/// In a hundred records with repeats, how many repeat an earlier one.
const REPEATS_PERCENT: u64 = 20;
/// How far back a repeat reaches.
const REPEATS_WINDOW: u64 = 100_000;
/// Bytes of an order, line feed not counted.
const ORDER_BYTES: usize = 170;
/// Bytes of a binary record, line feed not counted.
const BINARY_BYTES: usize = 100;
/// How many words the texts draw from.
const VOCABULARY: u64 = 20_000;
/// Words of a line of text.
const WORDS_PER_LINE: u64 = 12;

/// What an input holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum InputKind {
    /// Lines of 100 bytes that mean nothing.
    Binary,
    /// JSON orders of 170 bytes with an id of 16 bytes; 20 in 100 repeat an earlier order, byte for byte.
    Orders16,
    /// The same with an id of 36 bytes.
    Orders36,
    /// Lines of 12 words; a few words are frequent, most are rare.
    Words,
}

/// An input file that is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Input {
    /// What it holds.
    pub(crate) kind: InputKind,
    /// How it was written.
    pub(crate) version: u32,
    /// What decided its bytes.
    pub(crate) seed: u64,
    /// Its lines.
    pub(crate) records: u64,
    /// Its length.
    pub(crate) bytes: u64,
    /// XXH3 of its bytes, as hexadecimal digits.
    pub(crate) checksum: String,
    /// Where it is.
    pub(crate) path: PathBuf,
}

/// The input of `kind` with `records` records in `directory`, made now unless it is there.
pub(crate) fn ensure_input(directory: &Path, kind: InputKind, records: u64) -> anyhow::Result<Input> {
    let name = serde_json::to_value(kind)?.as_str().context("a kind is a name")?.to_owned();
    let path = directory.join(format!("{name}-{records}.v{VERSION}"));
    let note_path = path.with_added_extension("json");
    if let Ok(note) = fs::read(&note_path) {
        let noted: Input = serde_json::from_slice(&note).with_context(|| format!("read {}", note_path.display()))?;
        let (bytes, checksum) = summary(&path)?;
        ensure!(
            (noted.bytes, &noted.checksum) == (bytes, &checksum),
            "{} is not what was written: expected {} bytes with checksum {}, found {bytes} with {checksum}; remove it",
            path.display(),
            noted.bytes,
            noted.checksum,
        );
        return Ok(noted);
    }
    fs::create_dir_all(directory)?;
    write_input(&path, kind, records).with_context(|| format!("write {}", path.display()))?;
    let (bytes, checksum) = summary(&path)?;
    let input = Input { kind, version: VERSION, seed: SEED, records, bytes, checksum, path };
    fs::write(&note_path, serde_json::to_vec_pretty(&input)?)?;
    Ok(input)
}

fn summary(path: &Path) -> anyhow::Result<(u64, String)> {
    let mut file = File::open(path).with_context(|| format!("open {}", path.display()))?;
    let mut hash = Xxh3::new();
    let mut buffer = vec![0; 1 << 20];
    let mut bytes = 0;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok((bytes, format!("{:016x}", hash.digest())));
        }
        hash.update(buffer.get(..read).expect("a read fills no more than the buffer"));
        bytes += read as u64;
    }
}

fn write_input(path: &Path, kind: InputKind, records: u64) -> anyhow::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut line = Vec::with_capacity(256);
    for number in 0..records {
        line.clear();
        write_record(&mut line, kind, number);
        line.push(b'\n');
        out.write_all(&line)?;
    }
    out.flush()?;
    Ok(())
}

/// Appends record `number` of an input.
fn write_record(line: &mut Vec<u8>, kind: InputKind, number: u64) {
    match kind {
        InputKind::Binary => write_binary(line, number),
        InputKind::Orders16 => write_order(line, repeated(number), 16),
        InputKind::Orders36 => write_order(line, repeated(number), 36),
        InputKind::Words => write_words(line, number),
    }
}

/// The record that stands at `number`: itself, or an earlier one that comes again.
fn repeated(number: u64) -> u64 {
    let mut original = number;
    loop {
        let draw = mix(original ^ SEED);
        if original == 0 || draw % 100 >= REPEATS_PERCENT {
            return original;
        }
        original -= 1 + mix(draw) % original.min(REPEATS_WINDOW);
    }
}

fn write_binary(line: &mut Vec<u8>, number: u64) {
    let mut block = number;
    while line.len() < BINARY_BYTES {
        block = mix(block ^ SEED);
        line.extend_from_slice(format!("{block:016x}").as_bytes());
    }
    line.truncate(BINARY_BYTES);
}

fn write_order(line: &mut Vec<u8>, number: u64, id_bytes: usize) {
    let (high, low) = (mix(number ^ SEED), mix(number ^ !SEED));
    let mut id = format!("{high:016x}-4a7-{low:016x}");
    id.truncate(id_bytes);
    let customer = mix(high) % 100_000;
    let ts = 1_700_000_000_000 + number;
    let cents = low % 100_000;
    let text = format!(
        r#"{{"event_id":"{id}","customer":"c-{customer:05}","ts":{ts},"amount":{}.{:02},"currency":"EUR","note":""#,
        cents / 100,
        cents % 100
    );
    line.extend_from_slice(text.as_bytes());
    line.resize(ORDER_BYTES - 2, b'n');
    line.extend_from_slice(br#""}"#);
}

fn write_words(line: &mut Vec<u8>, number: u64) {
    for place in 0..WORDS_PER_LINE {
        if place > 0 {
            line.push(b' ');
        }
        let draw = mix((number * WORDS_PER_LINE + place) ^ SEED);
        // A uniform draw to the power of four: three words in ten come from the first hundredth.
        let squared = ((draw >> 32) * (draw >> 32)) >> 32;
        let rank = (((squared * squared) >> 32) * VOCABULARY) >> 32;
        line.extend_from_slice(format!("w{:x}", mix(rank) & 0xff_ffff).as_bytes());
    }
}

/// A number that looks random and depends on `seed` alone.
pub(crate) fn mix(seed: u64) -> u64 {
    let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests;
