//! What a dedup costs on disk: the table over RocksDB beside bare loops over RocksDB that do the same.
//!
//! `on_disk CASE RECORDS [REPEATS_PERCENT] [CACHE_MIB]`, a case a process:
//! - `table`: the table, with marks and drains
//! - `writes`: sorted `MultiGet` and a `WriteBatch` per batch, without a write-ahead log
//! - `image`: the table, filled, then written as an image and restored from it
//!
//! Each prints how many keys it found new, which must be the same number, and what it took: wall time, CPU time of all
//! threads, the most memory, the bytes of its files. Memory is capped from outside, as with `systemd-run -p MemoryMax=`.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program to be run by hand, whose output is the point")]

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use contract::compliance::state as suite;
use contract::{SlotKeys, StateBackend, StateDelta};
use model::{HostTime, OptionalColumn};
use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamilyDescriptor, DB, DataBlockIndexType, Options, WriteBatch, WriteOptions,
};
use state::{RocksBackend, RocksOptions};

/// Rows of a batch.
const BATCH: u64 = 4096;
/// Batches of an epoch: about half a million records.
const EPOCH: u64 = 128;

/// Key `nth` is a new one, or one of those before, spread over all of the past.
fn key(nth: u64, repeats_percent: u64) -> [u8; 36] {
    let draw = nth.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (nth >> 7).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    let number = if nth > 0 && draw % 100 < repeats_percent { (draw >> 8) % nth } else { nth };
    let spread = number.wrapping_mul(0xA24B_AED4_963E_E407);
    let mut key = [b'-'; 36];
    format!("{spread:016x}")
        .bytes()
        .chain(*b"-0000-")
        .chain(format!("{number:014x}").bytes())
        .zip(&mut key)
        .for_each(|(byte, at)| *at = byte);
    key
}

fn batch(first: u64, repeats_percent: u64) -> Arc<SlotKeys> {
    let mut keys: Vec<_> = (first..first + BATCH).map(|nth| key(nth, repeats_percent)).collect();
    keys.sort_unstable();
    keys.dedup();
    suite::slots(&keys)
}

fn table(records: u64, repeats_percent: u64, cache_bytes: usize, folder: &Path, with_image: bool) -> (u64, u64) {
    let options = RocksOptions { cache_bytes, ..RocksOptions::new(folder.to_owned()) };
    let backend = RocksBackend::new(options);
    let mut table = backend.open(suite::scope()).unwrap();
    let (mut fresh, mut longest) = (0, 0);
    for (number, first) in (1..).zip((0..records).step_by(BATCH as usize)) {
        let slots = batch(first, repeats_percent);
        let mut known = OptionalColumn::default();
        let began = Instant::now();
        table.load(suite::VALUE, &slots, &mut known).unwrap();
        let absent = (0u32..).zip(known.iter()).filter(|(_, value)| value.is_none());
        let writes: Vec<_> = absent.map(|(slot, _)| (slot, Some(&b"1"[..]))).collect();
        fresh += writes.len() as u64;
        table.apply(&slots, &[suite::values(suite::VALUE, &writes)], HostTime(1)).unwrap();
        table.maintain(1 << 20).unwrap();
        if number % EPOCH == 0 {
            drop(table.snapshot().unwrap());
        }
        longest = longest.max(began.elapsed().as_micros() as u64);
    }
    println!("longest batch {longest} us, memory of the table {} MB", table.stats().memory_bytes >> 20);
    if with_image {
        drop(table.snapshot().unwrap());
        let (began, cpu) = (Instant::now(), cpu_seconds());
        let delta = StateDelta { segments: table.image().unwrap().map(Result::unwrap).collect() };
        let bytes: usize = delta.segments.iter().map(|segment| segment.len()).sum();
        println!("image {} MB in {:?}, {:.2} s CPU", bytes >> 20, began.elapsed(), cpu_seconds() - cpu);
        drop(table);
        let (began, cpu) = (Instant::now(), cpu_seconds());
        table = suite::restored(&backend, suite::scope(), &[delta]);
        println!("restored in {:?}, {:.2} s CPU", began.elapsed(), cpu_seconds() - cpu);
        assert_eq!(table.stats().live_entries, fresh);
    }
    (fresh, bytes_below(folder))
}

fn writes(records: u64, repeats_percent: u64, cache_bytes: usize, folder: &Path) -> (u64, u64) {
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(&Cache::new_lru_cache(cache_bytes));
    table.set_bloom_filter(10.0, false);
    table.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
    table.set_cache_index_and_filter_blocks(true);
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_block_based_table_factory(&table);
    options.set_compression_type(rocksdb::DBCompressionType::Lz4);
    options.set_max_background_jobs(2);
    options.set_write_buffer_size(64 << 20);
    let family = ColumnFamilyDescriptor::new(rocksdb::DEFAULT_COLUMN_FAMILY_NAME, options.clone());
    let db = DB::open_cf_descriptors(&options, folder.join("db"), [family]).unwrap();
    let family = db.cf_handle(rocksdb::DEFAULT_COLUMN_FAMILY_NAME).unwrap();
    let mut how = WriteOptions::default();
    how.disable_wal(true);
    let mut fresh = 0;
    for first in (0..records).step_by(BATCH as usize) {
        let slots = batch(first, repeats_percent);
        let known = db.batched_multi_get_cf(&family, slots.keys.iter(), true);
        let mut writes = WriteBatch::default();
        for (key, value) in slots.keys.iter().zip(known) {
            if value.unwrap().is_none() {
                fresh += 1;
                writes.put(key, b"12345678-12345678-");
            }
        }
        db.write_opt(writes, &how).unwrap();
    }
    (fresh, bytes_below(folder))
}

fn bytes_below(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => bytes_below(&entry.path()),
        found => found.map_or(0, |found| found.len()),
    };
    entries.map(bytes).sum()
}

/// CPU time of all threads, from the system's account in hundredths of a second.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields = stat.rsplit(')').next().unwrap().split_whitespace().skip(11).take(2);
    fields.map(|ticks| ticks.parse::<f64>().unwrap()).sum::<f64>() / 100.0
}

fn most_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default().to_owned()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u64| arguments.get(at).map_or(default, |text| text.parse().unwrap());
    let (records, repeats, cache) = (number(1, 10_000_000), number(2, 20), number(3, 256) << 20);
    let folder = tempfile::tempdir_in(".").unwrap();
    let generated = (Instant::now(), cpu_seconds());
    (0..records.min(1_000_000)).step_by(BATCH as usize).for_each(|first| drop(batch(first, repeats)));
    let share = records as f64 / records.min(1_000_000) as f64;
    let (generate_wall, generate_cpu) =
        (generated.0.elapsed().as_secs_f64() * share, (cpu_seconds() - generated.1) * share);
    let (began, cpu) = (Instant::now(), cpu_seconds());
    let (fresh, bytes) = match arguments.first().map(String::as_str) {
        Some("table") => table(records, repeats, cache as usize, folder.path(), false),
        Some("image") => table(records, repeats, cache as usize, folder.path(), true),
        Some("writes") => writes(records, repeats, cache as usize, folder.path()),
        other => panic!("no case `{other:?}`: table, writes, image"),
    };
    let millions = records as f64 / 1e6;
    println!(
        "{fresh} new of {records}: wall {:.2} s per million, CPU {:.2} s per million without making the keys, files {} MB, {}",
        (began.elapsed().as_secs_f64() - generate_wall) / millions,
        (cpu_seconds() - cpu - generate_cpu) / millions,
        bytes >> 20,
        most_memory(),
    );
}
