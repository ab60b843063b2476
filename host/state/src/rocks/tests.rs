//! The table over a base against the promises of the seam, and what lies between log and base.

mod faults;
mod history;
mod reads;
mod sizes;

use contract::compliance;
use contract::{Error, KeyedState, StateBackend, StateDelta, StateImage, StatePart, StateScope};

use super::table::RocksTable;
use super::*;

/// How a table of the tests is laid out.
struct Setup {
    folder: tempfile::TempDir,
    log: Options,
    young_bytes: usize,
    is_at_once: bool,
}

impl Setup {
    /// Everything is drained at once and given up at once.
    fn new() -> Self {
        Self { folder: folder(), log: Options { segment_bytes: 4096 }, young_bytes: 0, is_at_once: true }
    }
}

/// A folder in memory where there is one: RocksDB waits for the disk with every file.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// A backend whose tables do what a helper would do themselves.
fn backend(setup: &Setup) -> RocksBackend {
    let mut backend = threaded(setup);
    backend.helpers = Helpers::Here { is_at_once: setup.is_at_once };
    backend
}

/// A backend as a job has it, that purges whatever has expired.
fn threaded(setup: &Setup) -> RocksBackend {
    let folder = setup.folder.path().to_owned();
    let (log, young_bytes) = (setup.log, setup.young_bytes);
    let options =
        RocksOptions { log, young_bytes, purge_percent: 0, cache_bytes: 8 << 20, ..RocksOptions::new(folder) };
    RocksBackend::new(options)
}

#[test]
fn a_table_over_rocksdb_keeps_the_promises_of_keyed_state() {
    for (segment_bytes, young_bytes) in [(4096, 0), (1 << 20, 64 << 20)] {
        let setup = Setup { log: Options { segment_bytes }, young_bytes, ..Setup::new() };
        compliance::state::check(&backend(&setup));
    }
}

#[test]
fn a_table_over_rocksdb_keeps_them_when_every_batch_is_drained() {
    let setup = Setup::new();
    compliance::state::check(&Eager(backend(&setup)));
}

/// A backend whose tables seal, drain and give up everything before every call.
struct Eager(RocksBackend);

/// Deltas that were sealed early are owed with the next.
struct EagerTable {
    table: RocksTable,
    owed: Vec<Arc<Vec<u8>>>,
}

impl EagerTable {
    fn push_down(&mut self) -> Result<&mut RocksTable, Error> {
        self.owed.extend(self.table.young.mark());
        self.table.drain()?;
        self.table.give_up(usize::MAX);
        Ok(&mut self.table)
    }
}

impl StateBackend for Eager {
    fn open(&self, scope: StateScope) -> Result<Box<dyn KeyedState>, Error> {
        Ok(Box::new(EagerTable { table: self.0.table(scope)?, owed: Vec::new() }))
    }

    fn restore(
        &self,
        scope: StateScope,
        parts: &mut dyn Iterator<Item = Result<StatePart, Error>>,
    ) -> Result<Box<dyn KeyedState>, Error> {
        let mut table = self.0.table(scope)?;
        table.restore_parts(parts)?;
        Ok(Box::new(EagerTable { table, owed: Vec::new() }))
    }
}

impl KeyedState for EagerTable {
    fn load(
        &mut self,
        state: model::StateId,
        slots: &contract::SlotKeys,
        out: &mut model::OptionalColumn,
    ) -> Result<(), Error> {
        self.push_down()?.load(state, slots, out)
    }

    fn load_range(
        &mut self,
        state: model::StateId,
        slots: &contract::SlotKeys,
        range: std::ops::Range<model::SlotIndex>,
        out: &mut model::OptionalColumn,
    ) -> Result<(), Error> {
        self.push_down()?.load_range(state, slots, range, out)
    }

    fn load_entries(
        &mut self,
        state: model::StateId,
        slots: &contract::SlotKeys,
        which: &[model::SlotIndex],
        entry_keys: &model::Column,
        out: &mut model::OptionalColumn,
    ) -> Result<(), Error> {
        self.push_down()?.load_entries(state, slots, which, entry_keys, out)
    }

    fn scan(
        &mut self,
        state: model::StateId,
        slots: &contract::SlotKeys,
        slot: model::SlotIndex,
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<(model::Column, model::Column), Error> {
        self.push_down()?.scan(state, slots, slot, after, limit)
    }

    fn apply(
        &mut self,
        slots: &Arc<contract::SlotKeys>,
        writes: &[contract::StateWrites],
        now: model::HostTime,
    ) -> Result<(), Error> {
        self.push_down()?.apply(slots, writes, now)
    }

    fn changes(
        &mut self,
        slots: &contract::SlotKeys,
        which: &[model::SlotIndex],
        out: &mut Vec<Option<model::EventTime>>,
    ) -> Result<(), Error> {
        self.push_down()?.changes(slots, which, out)
    }

    fn snapshot(&mut self) -> Result<StateDelta, Error> {
        let last = self.push_down()?.snapshot()?;
        Ok(StateDelta { segments: self.owed.drain(..).chain(last.segments).collect() })
    }

    fn image(&mut self) -> Result<StateImage, Error> {
        self.push_down()?.image()
    }

    fn completed(&mut self, watermark: model::EventTime) {
        self.table.completed(watermark);
    }

    fn export(&mut self, visit: &mut dyn FnMut(contract::StateEntry<'_>) -> Result<(), Error>) -> Result<(), Error> {
        self.push_down()?.export(visit)
    }

    fn visit_states(
        &mut self,
        states: &[::model::StateId],
        visit: &mut dyn FnMut(contract::StateEntry<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.push_down()?.visit_states(states, visit)
    }

    fn import(&mut self, entry: contract::StateEntry<'_>) -> Result<(), Error> {
        self.push_down()?.import(entry)
    }

    fn maintain(&mut self, budget_bytes: usize) -> Result<usize, Error> {
        self.push_down()?.maintain(budget_bytes)
    }

    fn stats(&self) -> contract::StateStats {
        self.table.stats()
    }
}
