//! Bare loops: the same work on the same file, without an engine.
//!
//! They are what a careful person would write in an afternoon: one thread, one buffer, serde_json into a
//! struct that borrows, hashbrown with keys stored inline.

pub(crate) mod persist;

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Context, ensure};
use hashbrown::{HashMap, HashSet};
use serde::Deserialize;

use crate::cases::Work;
use crate::tally::{Out, Tally};

/// Bytes read at a time.
const CHUNK_BYTES: usize = 1 << 18;

/// Does `work` on every line of the file at `input`.
///
/// # Errors
/// When the file cannot be read, a line is not what the input promises, or `out` refuses a record.
pub(crate) fn run(work: Work, input: &Path, out: &mut impl Out) -> anyhow::Result<Tally> {
    match work {
        Work::Pass => each_line(input, |line| out.put(line))?,
        Work::MapBinary => map_binary(input, out)?,
        Work::FilterBinary => each_line(input, |line| if ends_in_letter(line) { out.put(line) } else { Ok(()) })?,
        Work::FilterJson => filter_json(input, out)?,
        Work::MapJson => map_json(input, out)?,
        Work::Dedup => dedup(input, out)?,
        Work::Words => words(input, out)?,
    }
    out.finish()
}

/// Calls `take` with every line of a file, line feed cut off.
///
/// # Errors
/// When the file cannot be read, or `take` fails.
pub(crate) fn each_line(path: &Path, mut take: impl FnMut(&[u8]) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let mut file = File::open(path).with_context(|| format!("open {}", path.display()))?;
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut filled = 0;
    loop {
        ensure!(filled < buffer.len(), "a line is longer than {CHUNK_BYTES} bytes");
        let read = file.read(buffer.get_mut(filled..).expect("checked above"))?;
        if read == 0 {
            let last = buffer.get(..filled).expect("no more was filled than there is");
            return if last.is_empty() { Ok(()) } else { take(last) };
        }
        filled += read;
        let whole = buffer.get(..filled).expect("no more was filled than there is");
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', whole) {
            take(whole.get(start..end).expect("line feeds are found in order"))?;
            start = end + 1;
        }
        buffer.copy_within(start..filled, 0);
        filled -= start;
    }
}

/// Whether the last byte is a letter.
#[inline]
pub(crate) fn ends_in_letter(line: &[u8]) -> bool {
    line.last().is_some_and(u8::is_ascii_alphabetic)
}

/// How many bytes a map writes in capitals.
pub(crate) const CAPITALS: usize = 16;

fn map_binary(input: &Path, out: &mut impl Out) -> anyhow::Result<()> {
    let mut made = Vec::new();
    each_line(input, |line| {
        made.clear();
        made.extend_from_slice(line);
        made.iter_mut().take(CAPITALS).for_each(|byte| byte.make_ascii_uppercase());
        out.put(&made)
    })
}

#[derive(Deserialize)]
struct Order<'a> {
    #[serde(borrow)]
    event_id: &'a str,
    #[serde(rename = "customer")]
    _customer: &'a str,
    #[serde(rename = "ts")]
    _ts: i64,
    amount: f64,
    #[serde(rename = "currency")]
    _currency: &'a str,
    #[serde(rename = "note")]
    _note: &'a str,
}

/// The amount above which an order goes on.
pub(crate) const AMOUNT: f64 = 500.0;

fn filter_json(input: &Path, out: &mut impl Out) -> anyhow::Result<()> {
    each_line(input, |line| {
        let order: Order<'_> = serde_json::from_slice(line)?;
        if order.amount > AMOUNT { out.put(line) } else { Ok(()) }
    })
}

fn map_json(input: &Path, out: &mut impl Out) -> anyhow::Result<()> {
    let mut made = Vec::new();
    let mut float = zmij::Buffer::new();
    each_line(input, |line| {
        let order: Order<'_> = serde_json::from_slice(line)?;
        made.clear();
        made.extend_from_slice(br#"{"event_id":""#);
        made.extend_from_slice(order.event_id.as_bytes());
        made.extend_from_slice(br#"","amount":"#);
        made.extend_from_slice(float.format_finite(order.amount).as_bytes());
        made.push(b'}');
        out.put(&made)
    })
}

#[derive(Deserialize)]
struct OrderId<'a> {
    #[serde(borrow)]
    event_id: &'a str,
}

fn dedup(input: &Path, out: &mut impl Out) -> anyhow::Result<()> {
    let mut first_line = String::new();
    BufReader::new(File::open(input)?).read_line(&mut first_line)?;
    match serde_json::from_str::<OrderId<'_>>(&first_line)?.event_id.len() {
        16 => dedup_by::<16>(input, out),
        36 => dedup_by::<36>(input, out),
        other => anyhow::bail!("ids of {other} bytes: expected 16 or 36"),
    }
}

fn dedup_by<const KEY_BYTES: usize>(input: &Path, out: &mut impl Out) -> anyhow::Result<()> {
    let mut seen: HashSet<[u8; KEY_BYTES]> = HashSet::new();
    each_line(input, |line| {
        let order: OrderId<'_> = serde_json::from_slice(line)?;
        if seen.insert(order.event_id.as_bytes().try_into()?) { out.put(line) } else { Ok(()) }
    })
}

fn words(input: &Path, out: &mut impl Out) -> anyhow::Result<()> {
    let mut counts: HashMap<Vec<u8>, u64> = HashMap::new();
    let mut made = Vec::new();
    let mut number = itoa::Buffer::new();
    each_line(input, |line| {
        for word in line.split(|&byte| byte == b' ') {
            let count = counts.entry_ref(word).or_insert(0);
            *count += 1;
            made.clear();
            made.extend_from_slice(br#"{"word":""#);
            made.extend_from_slice(word);
            made.extend_from_slice(br#"","count":"#);
            made.extend_from_slice(number.format(*count).as_bytes());
            made.push(b'}');
            out.put(&made)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests;
