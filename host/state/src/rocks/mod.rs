//! Keyed state larger than memory: the state log over a base on RocksDB.
//!
//! The log is as it is in memory: same entries, same deltas, same promises. A mark seals what the epoch wrote; the
//! sealed segments are the epoch's delta and, sorted, a file that is ingested into the base by a helper thread.
//! When that is done the log may give them up, oldest first, so that it stays below a bound and holds what was
//! written and read last. What a batch names and the log does not know is looked for in the base, after a resident
//! filter was asked, and copied into the log *before* the batch is read or applied: so every rule about write
//! times, deletes and expiry is the log's, said once.
//!
//! # Words
//! - *base*: everything older (`base`); *young*: what the log holds (`young`)
//! - *to drain*: to write what is sealed to the base (`helper`); *to bring up*: to copy an entry of the base into
//!   the log; *to give up*: to forget what lies in the base as well
//! - *pass*: a walk of the compaction over everything, so that what has expired goes (`table`)
//!
//! # Invariants
//! 1. What the log knows of a name, a deletion too, is newer than or the same as what the base holds under it.
//! 2. A segment is given up only when it is in the base, and before that its tombstones stay.
//! 3. A name that the base holds is in the filter before it leaves the log.
//! 4. The base is never read by another process, nor after the table: it is made anew from a checkpoint. An error of
//!    the base ends the table.
//! 5. Memory: the log's bound and what one batch brought up, what the running epoch wrote, what is under way to the
//!    base, the filter, the cache. The filter is made anew when it has three names for each entry that is held, so
//!    it grows with what is held, not with what ever was.
//!
//! # Absent on purpose
//! Files of RocksDB in checkpoints: deltas and images are segments, whatever stores them, so each backend restores
//! what the other made. RocksDB's own time to live: it goes by the machine's clock.

mod base;
mod error;
mod filter;
mod folder;
mod helper;
mod image;
mod key;
mod keyed;
mod restore;
mod table;
mod young;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use contract::{KeyedState, StateBackend, StatePart, StateScope};
use rocksdb::{Cache, Env};

use self::base::Base;
use self::error::Error;
use self::filter::{Filter, SharedFilter};
use self::folder::ProcessFolder;
use self::helper::{Helper, Worker};
use self::table::RocksTable;
use crate::Options;
use crate::table::StateLog;

/// About what a slice rewrites besides, of files that have not come down yet: smaller ones would be no cheaper.
const SLICE_BYTES: u64 = 256 << 20;
const LEAST_NAMES: u64 = 1 << 20;

/// How state on RocksDB is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RocksOptions {
    /// The folder that bases lie in; made if it is not there. Processes may share it.
    pub folder: PathBuf,
    /// How the log is laid out.
    pub log: Options,
    /// Bytes of memory that the log of a table may keep besides what the base does not hold yet. Default 64 MiB:
    /// some hundred thousand entries that were written or read last.
    pub young_bytes: usize,
    /// Bytes of memory for blocks of all tables of the process together, indexes and filters of files among them.
    /// Default 256 MiB.
    pub cache_bytes: usize,
    /// How much of what a table holds may have expired before it is rewritten for that alone, in percent.
    /// Default 25: what expires little by little goes when files are rewritten anyway.
    pub purge_percent: u8,
}

impl RocksOptions {
    /// The defaults, in `folder`.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, log: Options::default(), young_bytes: 64 << 20, cache_bytes: 256 << 20, purge_percent: 25 }
    }
}

/// The bounds of one table.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    young_bytes: usize,
    /// Bytes on their way to the base before a mark waits.
    under_way_bytes: usize,
    purge_percent: u8,
    /// Bytes of files that a slice of a pass rewrites, about: drains wait behind it.
    slice_bytes: u64,
    /// A filter is not made anew for fewer names.
    least_names: u64,
}

impl Bounds {
    fn of(options: &RocksOptions) -> Self {
        let &RocksOptions { young_bytes, purge_percent, .. } = options;
        Self {
            young_bytes,
            under_way_bytes: young_bytes.max(1 << 20),
            purge_percent,
            slice_bytes: SLICE_BYTES,
            least_names: LEAST_NAMES,
        }
    }
}

/// Who does the jobs of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Helpers {
    /// A thread for each.
    Threads,
    /// The owner of the table, at once or when it is told to.
    #[cfg(test)]
    Here { is_at_once: bool },
}

/// Keyed state on disk, with the latest in memory. See the module.
pub struct RocksBackend {
    options: RocksOptions,
    helpers: Helpers,
    cache: Cache,
    /// Taken with the first table: who only looks at a job makes no folder.
    folder: Mutex<Option<Arc<ProcessFolder>>>,
}

impl std::fmt::Debug for RocksBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RocksBackend").field("options", &self.options).finish_non_exhaustive()
    }
}

impl RocksBackend {
    /// A backend whose first table takes a folder for this process, and removes what processes left that are no
    /// more. A folder that cannot be made, read, emptied or locked is an error then (E0607).
    #[must_use]
    pub fn new(options: RocksOptions) -> Self {
        let cache = Cache::new_lru_cache(options.cache_bytes);
        if let Ok(mut environment) = Env::new() {
            // Half the cores compact for all tables, behind those that work on batches.
            environment.set_low_priority_background_threads(compacting_threads());
            environment.lower_thread_pool_cpu_priority();
        }
        Self { options, helpers: Helpers::Threads, cache, folder: Mutex::new(None) }
    }

    fn folder(&self) -> Result<Arc<ProcessFolder>, Error> {
        let mut folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(taken) = &*folder {
            return Ok(Arc::clone(taken));
        }
        let taken = Arc::new(ProcessFolder::open(&self.options.folder)?);
        *folder = Some(Arc::clone(&taken));
        Ok(taken)
    }

    fn table(&self, scope: StateScope) -> Result<RocksTable, contract::Error> {
        let base = Base::open(scope.operator.clone(), &scope.states, self.folder()?.table()?, &self.cache)?;
        let (base, filter) = (Arc::new(base), SharedFilter::new(Filter::default()));
        let worker = Worker {
            base: Arc::clone(&base),
            filter: Arc::clone(&filter),
            key_group_count: scope.key_group_count,
            failed: None,
        };
        let helper = match self.helpers {
            Helpers::Threads => Helper::thread(worker)?,
            #[cfg(test)]
            Helpers::Here { is_at_once } => Helper::here(worker, is_at_once),
        };
        let (log, bounds) = (self.options.log, Bounds::of(&self.options));
        Ok(RocksTable::new(StateLog::over_base(scope, log), base, filter, helper, bounds))
    }
}

/// Threads that compact for all tables of the process.
fn compacting_threads() -> i32 {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    i32::try_from(cores / 2).unwrap_or(i32::MAX).max(1)
}

impl StateBackend for RocksBackend {
    fn open(&self, scope: StateScope) -> Result<Box<dyn KeyedState>, contract::Error> {
        Ok(Box::new(self.table(scope)?))
    }

    fn restore(
        &self,
        scope: StateScope,
        parts: &mut dyn Iterator<Item = Result<StatePart, contract::Error>>,
    ) -> Result<Box<dyn KeyedState>, contract::Error> {
        let mut table = self.table(scope)?;
        table.restore_parts(parts)?;
        Ok(Box::new(table))
    }
}

#[cfg(test)]
mod tests;
