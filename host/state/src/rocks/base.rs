//! The base of one table: a RocksDB of its own that files are ingested into and nothing is ever written to.
//!
//! # Invariants
//! 1. Nothing goes through a memtable or a write-ahead log.
//! 2. The compaction filter keeps or removes, never changes; it removes only what nobody can see any more.
//! 3. The folder is removed after the database is closed.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use model::{HostTime, OperatorUid, StateDescriptor, StateId, Ttl, TtlClock};
use rocksdb::{
    BlockBasedOptions, BottommostLevelCompaction, Cache, ColumnFamilyDescriptor, CompactOptions, DB, DBCompressionType,
    DBPinnableSlice, DEFAULT_COLUMN_FAMILY_NAME, DataBlockIndexType, IngestExternalFileOptions, LogLevel, Options,
    ReadOptions, SstFileWriter, WaitForCompactOptions, compaction_filter::Decision, properties,
};

use super::error::{Error, Whose};
use super::folder::TableFolder;
use super::key;
use crate::expiry::expiry;

/// Files that may wait in the first level before whoever ingests waits for the compaction: each is looked into
/// by every read.
const MOST_WAITING_FILES: u64 = 24;
/// How long it waits at a time before it looks again, in microseconds: other compactions may go on for minutes.
const WAIT_MICROS: u64 = 20_000;
/// Open files of one base. A larger base than 16 GiB opens and closes some.
const OPEN_FILES: i32 = 256;
const FILTER_BITS: f64 = 10.0;
const BLOCK_BYTES: usize = 4 << 10;
const FILE_BYTES: u64 = 64 << 20;
const FIRST_LEVEL_BYTES: u64 = 256 << 20;

/// What the compaction filter goes by, and what it did.
#[derive(Debug)]
pub(super) struct Purging {
    policies: Vec<(StateId, Ttl)>,
    event: AtomicI64,
    processing: AtomicI64,
    removed: AtomicU64,
}

impl Purging {
    fn new(states: &[StateDescriptor]) -> Self {
        Self {
            policies: states.iter().filter_map(|state| Some((state.id, state.ttl?))).collect(),
            event: AtomicI64::new(i64::MIN),
            processing: AtomicI64::new(i64::MIN),
            removed: AtomicU64::new(0),
        }
    }

    fn limit(&self, clock: TtlClock) -> &AtomicI64 {
        match clock {
            TtlClock::EventTime => &self.event,
            TtlClock::ProcessingTime => &self.processing,
        }
    }

    /// No look by `clock` comes from before `limit` any more.
    pub(super) fn note(&self, clock: TtlClock, limit: i64) {
        self.limit(clock).fetch_max(limit, Ordering::Relaxed);
    }

    /// How many were removed until now: versions of entries, so about as many entries.
    pub(super) fn removed(&self) -> u64 {
        self.removed.load(Ordering::Relaxed)
    }

    fn decide(&self, key: &[u8], value: &[u8]) -> Decision {
        let Some((state, written)) = key::state_and_time(key, value) else { return Decision::Keep };
        let Some(&(_, ttl)) = self.policies.iter().find(|policy| policy.0 == state) else { return Decision::Keep };
        if !self.is_purgeable(written, ttl) {
            return Decision::Keep;
        }
        self.removed.fetch_add(1, Ordering::Relaxed);
        Decision::Remove
    }

    fn is_purgeable(&self, written: HostTime, ttl: Ttl) -> bool {
        expiry(written, ttl) <= self.limit(ttl.clock).load(Ordering::Relaxed)
    }
}

/// See the module.
pub(super) struct Base {
    db: DB,
    whose: Whose,
    pub(super) purging: Arc<Purging>,
    options: Options,
    files: AtomicU64,
    // Last: removed when the database is closed.
    folder: TableFolder,
}

impl std::fmt::Debug for Base {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Base").field("folder", &self.folder.path).finish_non_exhaustive()
    }
}

fn table_options(cache: &Cache) -> BlockBasedOptions {
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(cache);
    table.set_block_size(BLOCK_BYTES);
    table.set_format_version(5);
    table.set_bloom_filter(FILTER_BITS, false);
    table.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
    table.set_data_block_hash_ratio(0.75);
    // Indexes and filters count against the cache: memory has one bound.
    table.set_cache_index_and_filter_blocks(true);
    table.set_cache_index_and_filter_blocks_with_high_priority(true);
    table.set_pin_l0_filter_and_index_blocks_in_cache(true);
    table
}

fn options(cache: &Cache, purging: &Arc<Purging>) -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_error_if_exists(true);
    options.set_block_based_table_factory(&table_options(cache));
    options.set_compression_type(DBCompressionType::Lz4);
    options.set_optimize_filters_for_hits(false);
    options.set_level_compaction_dynamic_level_bytes(true);
    options.set_target_file_size_base(FILE_BYTES);
    options.set_max_bytes_for_level_base(FIRST_LEVEL_BYTES);
    options.set_max_background_jobs(2);
    options.set_max_subcompactions(1);
    options.set_max_open_files(OPEN_FILES);
    // Nothing is ever put into a memtable.
    options.set_write_buffer_size(64 << 10);
    options.set_keep_log_file_num(1);
    options.set_max_log_file_size(1 << 20);
    options.set_log_level(LogLevel::Warn);
    // A stall of writers is no help where nobody writes; who ingests waits by itself.
    options.set_level_zero_slowdown_writes_trigger(1 << 20);
    options.set_level_zero_stop_writes_trigger(1 << 20);
    if !purging.policies.is_empty() {
        let purging = Arc::clone(purging);
        options.set_compaction_filter("expired", move |_, key, value| purging.decide(key, value));
    }
    options
}

impl Base {
    /// An empty base in `folder`.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub(super) fn open(
        operator: OperatorUid,
        states: &[StateDescriptor],
        folder: TableFolder,
        cache: &Cache,
    ) -> Result<Self, Error> {
        let whose = Whose { operator, folder: folder.path.clone() };
        let purging = Arc::new(Purging::new(states));
        let options = options(cache, &purging);
        let family = ColumnFamilyDescriptor::new(DEFAULT_COLUMN_FAMILY_NAME, options.clone());
        let db = DB::open_cf_descriptors(&options, folder.path.join("db"), [family]);
        let db = db.map_err(|error| whose.error("open", &error))?;
        Ok(Self { db, whose, purging, options, files: AtomicU64::new(0), folder })
    }

    /// Whose it is, for errors.
    pub(super) fn whose(&self) -> &Whose {
        &self.whose
    }

    /// A file to be ingested: `fill` writes entries to it in the order of their keys, and says how many.
    ///
    /// # Errors
    /// [`Error::Storage`] or [`Error::Damaged`]; the first error of `fill`.
    pub(super) fn ingest(&self, fill: impl FnOnce(&mut Sst<'_>) -> Result<(), Error>) -> Result<(), Error> {
        self.make_room()?;
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.path.join(format!("drained-{number}.sst"));
        let ingested = self.write_and_ingest(&path, fill);
        // RocksDB has moved it. Where it has not, it goes: what cannot be removed goes with the folder.
        if !matches!(ingested, Ok(true)) {
            drop(std::fs::remove_file(&path));
        }
        ingested?;
        self.check()
    }

    /// Whether the file was moved; not where there is nothing in it.
    fn write_and_ingest(
        &self,
        path: &Path,
        fill: impl FnOnce(&mut Sst<'_>) -> Result<(), Error>,
    ) -> Result<bool, Error> {
        let writer = SstFileWriter::create(&self.options);
        writer.open(path).map_err(|error| self.whose.error("write", &error))?;
        let mut sst = Sst { writer, whose: &self.whose, entries: 0 };
        fill(&mut sst)?;
        if sst.entries == 0 {
            return Ok(false);
        }
        sst.writer.finish().map_err(|error| self.whose.error("write", &error))?;
        let mut how = IngestExternalFileOptions::default();
        how.set_move_files(true);
        how.set_snapshot_consistency(false);
        how.set_allow_blocking_flush(false);
        let ingested = self.db.ingest_external_file_opts(&how, vec![path]);
        ingested.map_err(|error| self.whose.error("ingest a file into", &error))?;
        Ok(true)
    }

    /// Waits until the compaction has caught up, where too many files wait for it.
    fn make_room(&self) -> Result<(), Error> {
        while self.number(properties::num_files_at_level(0))? > MOST_WAITING_FILES {
            let mut how = WaitForCompactOptions::default();
            how.set_timeout(WAIT_MICROS);
            match self.db.wait_for_compact(&how) {
                Err(error) if error.kind() == rocksdb::ErrorKind::TimedOut => {}
                waited => waited.map_err(|error| self.whose.error("compact", &error))?,
            }
            self.check()?;
        }
        Ok(())
    }

    fn number(&self, property: impl rocksdb::CStrLike) -> Result<u64, Error> {
        let number = self.db.property_int_value(property).map_err(|error| self.whose.error("look at", &error))?;
        Ok(number.unwrap_or_default())
    }

    /// Whether everything in the background went well.
    ///
    /// # Errors
    /// [`Error::Storage`] where it did not: the base takes no more.
    pub(super) fn check(&self) -> Result<(), Error> {
        match self.number(properties::BACKGROUND_ERRORS)? {
            0 => Ok(()),
            errors => Err(self.whose.stopped("compact", format!("{errors} errors in the background, see its LOG"))),
        }
    }

    /// The values of `keys`, which rise.
    pub(super) fn get<'k>(
        &self,
        keys: impl Iterator<Item = &'k [u8]>,
        mut take: impl FnMut(usize, &DBPinnableSlice<'_>) -> Result<(), contract::Error>,
    ) -> Result<(), contract::Error> {
        let family = self.db.cf_handle(DEFAULT_COLUMN_FAMILY_NAME).expect("a base is opened with it");
        let found = self.db.batched_multi_get_cf(&family, keys, true);
        for (row, value) in found.into_iter().enumerate() {
            if let Some(value) = value.map_err(|error| self.whose.error("read", &error))? {
                take(row, &value)?;
            }
        }
        Ok(())
    }

    /// Calls `visit` for every entry with a key from `first` on and before `end`, rising, until it says no.
    ///
    /// # Errors
    /// [`Error::Storage`] or [`Error::Damaged`]; the first error of `visit`.
    pub(super) fn visit(
        &self,
        first: &[u8],
        end: Option<Vec<u8>>,
        visit: impl FnMut(key::Stored<'_>) -> Result<bool, contract::Error>,
    ) -> Result<(), contract::Error> {
        self.walk(first, end, false, || (), visit)
    }

    /// As [`Self::visit`], of everything, past the cache; `begun` is called when what will be visited is settled:
    /// what is ingested from then on is not part of it.
    ///
    /// # Errors
    /// As [`Self::visit`].
    pub(super) fn visit_all<E: From<Error>>(
        &self,
        begun: impl FnOnce(),
        visit: impl FnMut(key::Stored<'_>) -> Result<bool, E>,
    ) -> Result<(), E> {
        self.walk(&[], None, true, begun, visit)
    }

    fn walk<E: From<Error>>(
        &self,
        first: &[u8],
        end: Option<Vec<u8>>,
        is_bulk: bool,
        begun: impl FnOnce(),
        mut visit: impl FnMut(key::Stored<'_>) -> Result<bool, E>,
    ) -> Result<(), E> {
        let mut how = ReadOptions::default();
        if let Some(end) = end {
            how.set_iterate_upper_bound(end);
        }
        if is_bulk {
            how.fill_cache(false);
            how.set_readahead_size(2 << 20);
        }
        let mut entries = self.db.raw_iterator_opt(how);
        entries.seek(first);
        begun();
        while let Some((key, value)) = entries.item() {
            let stored = key::decode(key, value).ok_or_else(|| self.whose.damaged("read"))?;
            if !visit(stored)? {
                return Ok(());
            }
            entries.next();
        }
        Ok(entries.status().map_err(|error| self.whose.error("read", &error))?)
    }

    /// Rewrites what lies from `first` on, about `bytes` of it: what has expired is removed, what was written over
    /// is dropped. Returns where to go on; `None` at the end.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub(super) fn compact(&self, first: &[u8], bytes: u64) -> Result<Option<Vec<u8>>, Error> {
        let files = self.db.live_files().map_err(|error| self.whose.error("look at", &error))?;
        let lowest = files.iter().map(|file| file.level).max();
        let of_lowest = files.into_iter().filter(|file| Some(file.level) == lowest && file.level > 0);
        let files = of_lowest.filter_map(|file| Some((file.end_key?, file.size as u64))).collect();
        let end = slice_end(files, first, bytes);
        let mut how = CompactOptions::default();
        how.set_exclusive_manual_compaction(false);
        how.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
        self.db.compact_range_opt(Some(first), end.as_ref(), &how);
        self.check()?;
        Ok(end)
    }

    /// Bytes of its files.
    #[cfg(test)]
    pub(super) fn file_bytes(&self) -> u64 {
        self.number(properties::LIVE_SST_FILES_SIZE).unwrap_or_default()
    }

    /// Waits until no compaction goes on.
    #[cfg(test)]
    pub(super) fn settle(&self) {
        self.db.wait_for_compact(&WaitForCompactOptions::default()).unwrap();
    }

    #[cfg(test)]
    pub(super) fn folder(&self) -> &Path {
        &self.folder.path
    }
}

/// The key with which a slice from `first` on ends that is of about `bytes`: at the end of one of `files`, last keys
/// and sizes, so that none is rewritten twice. `None` where it goes on to the end of everything.
fn slice_end(mut files: Vec<(Vec<u8>, u64)>, first: &[u8], bytes: u64) -> Option<Vec<u8>> {
    // One that ends with `first` was part of the slice before.
    files.retain(|(last, _)| last.as_slice() > first);
    files.sort_unstable();
    let mut sum = 0;
    let end = files.iter().position(|(_, size)| {
        sum += size;
        sum >= bytes
    })?;
    // The rest of everything, if that is the last file.
    (end + 1 < files.len()).then(|| files.swap_remove(end).0)
}

/// A file that is being written.
pub(super) struct Sst<'a> {
    writer: SstFileWriter<'a>,
    whose: &'a Whose,
    entries: u64,
}

impl Sst<'_> {
    /// Adds an entry, or that there is none.
    pub(super) fn add(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<(), Error> {
        self.entries += 1;
        let added = match value {
            Some(value) => self.writer.put(key, value),
            None => self.writer.delete(key),
        };
        added.map_err(|error| self.whose.error("write", &error))
    }
}

#[cfg(test)]
mod tests;
