//! State as its function has it now, from state as another one stored it.
//!
//! Entries come one by one, by rising key group, out of a table or a savepoint. Each gets the number that its state
//! has now; what is dropped is left out; values of an older version go through the function's `migrate`. What comes
//! of it is put into new objects, so that what was stored stays as it was.
//!
//! # Invariants
//! 1. An entry keeps its key, its entry key and its write time.
//! 2. The first value that cannot be migrated ends it: nothing lists the objects that were made, and retention removes
//!    them.
//! 3. Memory is bounded: by [`TABLE_BYTES`] and one batch, whatever there is to rewrite.
//!
//! # Absent on purpose
//! Values that are migrated when they are read: a function asks for state while it runs, and a component cannot be
//! called while it runs; and a value that cannot be migrated is to be known before the job goes on with it.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;

use contract::gather_objects;
use contract::{Error, KeyedState, ProcessError, SnapshotStore, StateEntry, StateScope, Task, UserFunction};
use model::{
    Blame, Column, Epoch, Generation, JobName, KeyGroup, KeyGroupRange, ObjectHandle, OperatorUid, Parallelism, Retry,
    StateId, SubtaskIndex,
};
use protocol::manifest::{Part, PartKind};
use protocol::retention::ObjectName;
use protocol::schema::{Comparison, Fit};

use crate::graph::FunctionNode;

/// A table of about so many bytes of keys and values becomes objects at the next key group, one of twice as many at once.
const TABLE_BYTES: usize = 32 << 20;

/// The most values and bytes that one call of `migrate` is given. It begins with one value, and doubles.
const MOST_VALUES: usize = 1024;
const MOST_BYTES: usize = 256 * 1024;

/// Between two words about how far it is.
const ENTRIES_PER_WORD: u64 = 100_000;

/// How often an object is put again where the store does not answer.
const MOST_TRIES: u32 = 8;

/// How far the rewriting of one operator is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewriteProgress {
    /// The operator.
    pub operator: OperatorUid,
    /// Entries that were read.
    pub entries: u64,
    /// Those of them whose values were migrated.
    pub migrated: u64,
    /// Whether these are all.
    pub is_done: bool,
}

/// Is told how far it is.
pub type OnRewrite = Arc<dyn Fn(&RewriteProgress) + Send + Sync>;

/// Gives all entries, by rising key group.
pub(super) type Feed<'a> = dyn FnMut(&mut dyn FnMut(StateEntry<'_>) -> Result<(), Error>) -> Result<(), Error> + 'a;

/// What is rewritten, and where it goes.
pub(super) struct Rewrite<'a> {
    pub(super) job: &'a JobName,
    pub(super) node: &'a FunctionNode,
    pub(super) comparison: &'a Comparison,
    pub(super) key_groups: u16,
    pub(super) objects: &'a dyn SnapshotStore,
    pub(super) generation: Generation,
    pub(super) epoch: Epoch,
    pub(super) on_rewrite: Option<&'a OnRewrite>,
}

impl Rewrite<'_> {
    /// The parts of the rewritten state.
    ///
    /// # Errors
    /// The first error of `feed`; when a value cannot be migrated; when the store does not answer.
    pub(super) fn run(&self, feed: &mut Feed<'_>) -> Result<Vec<Part>, Error> {
        let mut writing = Writing::new(self)?;
        feed(&mut |entry| writing.add(entry))?;
        writing.finish()
    }

    /// The scope of all that the operator keeps.
    pub(super) fn scope(&self) -> StateScope {
        StateScope {
            operator: self.node.uid.clone(),
            key_groups: KeyGroupRange { first: KeyGroup(0), end: KeyGroup(self.key_groups) },
            key_group_count: self.key_groups,
            states: self.node.factory.descriptor().kept_states(),
        }
    }

    fn open_table(&self) -> Result<Box<dyn KeyedState>, Error> {
        let backend = self.node.state.as_ref().ok_or_else(|| {
            let message = format!("function `{}` keeps state and has no state backend", self.node.uid);
            Error::new(Blame::Host, Retry::No, message).with_code("E0521")
        })?;
        backend.open(self.scope())
    }

    fn instance(&self) -> Result<Box<dyn UserFunction>, Error> {
        self.node.factory.instantiate(&Task {
            job: self.job.clone(),
            operator: self.node.uid.clone(),
            subtask: SubtaskIndex(0),
            parallelism: Parallelism(1),
            config: self.node.config.clone(),
        })
    }

    fn put(&self, number: usize, pieces: &[Arc<Vec<u8>>]) -> Result<ObjectHandle, Error> {
        let name = ObjectName {
            folder: "state".to_owned(),
            generation: self.generation,
            epoch: self.epoch,
            operator: self.node.uid.clone(),
            subtask: SubtaskIndex(0),
            number: u32::try_from(number).unwrap_or(u32::MAX),
        };
        let name = name.to_string();
        let mut left = MOST_TRIES;
        loop {
            match self.objects.put(&name, pieces) {
                Err(error) if error.retry() == Retry::Backoff && left > 0 => left -= 1,
                put => return put,
            }
        }
    }
}

/// What becomes of the entries of a state.
enum Way {
    Kept(StateId),
    Migrated(Box<Batch>),
}

/// Entries whose values wait to be migrated.
struct Batch {
    state: StateId,
    from: u32,
    name: String,
    entries: Vec<Waiting>,
    values: Column,
    /// How many values the next call gets.
    most: usize,
}

/// An entry without its value.
struct Waiting {
    hash: u64,
    key: Vec<u8>,
    entry_key: Option<Vec<u8>>,
    written_millis: i64,
}

/// See the module.
struct Writing<'a> {
    rewrite: &'a Rewrite<'a>,
    ways: BTreeMap<StateId, Way>,
    function: Option<Box<dyn UserFunction>>,
    table: Box<dyn KeyedState>,
    table_bytes: usize,
    parts: Vec<Part>,
    /// The first key group that no part covers, and what was put for it.
    first: KeyGroup,
    kept: Vec<ObjectHandle>,
    objects: usize,
    group: KeyGroup,
    progress: RewriteProgress,
}

impl<'a> Writing<'a> {
    fn new(rewrite: &'a Rewrite<'a>) -> Result<Self, Error> {
        let mut ways = BTreeMap::new();
        for state in &rewrite.comparison.states {
            let (Some(old), Some(stored)) = (state.old_id, &state.stored) else { continue };
            let way = match &state.fit {
                Fit::Migrate { from } => Way::Migrated(Box::new(Batch {
                    state: stored.id,
                    from: *from,
                    name: state.name.clone(),
                    entries: Vec::new(),
                    values: Column::default(),
                    most: 1,
                })),
                Fit::Same | Fit::Compatible => Way::Kept(stored.id),
                Fit::New | Fit::Dropped | Fit::Refused { .. } => continue,
            };
            ways.insert(old, way);
        }
        let operator = rewrite.node.uid.clone();
        Ok(Self {
            ways,
            function: None,
            table: rewrite.open_table()?,
            table_bytes: 0,
            parts: Vec::new(),
            first: KeyGroup(0),
            kept: Vec::new(),
            objects: 0,
            group: KeyGroup(0),
            progress: RewriteProgress { operator, entries: 0, migrated: 0, is_done: false },
            rewrite,
        })
    }

    fn add(&mut self, entry: StateEntry<'_>) -> Result<(), Error> {
        self.advance(KeyGroup::of_hash(entry.hash, self.rewrite.key_groups))?;
        self.progress.entries += 1;
        if self.progress.entries.is_multiple_of(ENTRIES_PER_WORD) {
            self.say();
        }
        match self.ways.get_mut(&entry.state) {
            // Nobody has it any more.
            None => Ok(()),
            Some(Way::Kept(state)) => {
                let state = *state;
                self.table_bytes += entry.key.len() + entry.entry_key.map_or(0, <[u8]>::len) + entry.value.len();
                self.table.import(StateEntry { state, ..entry })
            }
            Some(Way::Migrated(batch)) => {
                batch.hold(entry);
                if batch.entries.len() >= batch.most || batch.values.bytes().len() >= MOST_BYTES {
                    self.migrate(entry.state)?;
                }
                Ok(())
            }
        }
    }

    /// Goes on to a key group. Tables and batches that are full end before it.
    fn advance(&mut self, group: KeyGroup) -> Result<(), Error> {
        if group > self.group && self.table_bytes >= TABLE_BYTES {
            self.migrate_all()?;
            self.keep()?;
            self.end_part(group);
        } else if self.table_bytes >= 2 * TABLE_BYTES {
            // The group alone is large: its objects are one part.
            self.keep()?;
        }
        self.group = group;
        Ok(())
    }

    fn migrate_all(&mut self) -> Result<(), Error> {
        let states: Vec<StateId> = self.ways.keys().copied().collect();
        states.into_iter().try_for_each(|state| self.migrate(state))
    }

    /// Migrates what waits of the state that was stored under `old`.
    fn migrate(&mut self, old: StateId) -> Result<(), Error> {
        let Some(Way::Migrated(batch)) = self.ways.get_mut(&old) else { return Ok(()) };
        if batch.entries.is_empty() {
            return Ok(());
        }
        let function = match &mut self.function {
            Some(function) => function,
            none => none.insert(self.rewrite.instance()?),
        };
        let migrated = batch.migrated(&self.rewrite.node.uid, function.as_mut())?;
        for (entry, value) in batch.entries.iter().zip(migrated.iter()) {
            let entry_key = entry.entry_key.as_deref();
            self.table_bytes += entry.key.len() + entry_key.map_or(0, <[u8]>::len) + value.len();
            self.table.import(StateEntry {
                state: batch.state,
                hash: entry.hash,
                key: &entry.key,
                entry_key,
                value,
                written_millis: entry.written_millis,
            })?;
        }
        self.progress.migrated += batch.entries.len() as u64;
        batch.entries.clear();
        batch.values.clear();
        Ok(())
    }

    /// Puts what the table holds, and begins another one.
    fn keep(&mut self) -> Result<(), Error> {
        let mut table = mem::replace(&mut self.table, self.rewrite.open_table()?);
        self.table_bytes = 0;
        // Everything changed since the table was opened.
        for pieces in gather_objects(table.snapshot()?.segments.into_iter().map(Ok)) {
            self.kept.push(self.rewrite.put(self.objects, &pieces?)?);
            self.objects += 1;
        }
        Ok(())
    }

    /// What was put is all there is below `end`.
    fn end_part(&mut self, end: KeyGroup) {
        let objects = mem::take(&mut self.kept);
        if !objects.is_empty() {
            let key_groups = KeyGroupRange { first: self.first, end };
            self.parts.push(Part { key_groups, kind: PartKind::Image, epoch: self.rewrite.epoch, objects });
        }
        self.first = end;
    }

    fn finish(mut self) -> Result<Vec<Part>, Error> {
        self.migrate_all()?;
        self.keep()?;
        self.end_part(KeyGroup(self.rewrite.key_groups));
        self.progress.is_done = true;
        self.say();
        Ok(self.parts)
    }

    fn say(&self) {
        if let Some(on_rewrite) = self.rewrite.on_rewrite {
            on_rewrite(&self.progress);
        }
    }
}

impl Batch {
    fn hold(&mut self, entry: StateEntry<'_>) {
        self.values.push(entry.value);
        self.entries.push(Waiting {
            hash: entry.hash,
            key: entry.key.to_vec(),
            entry_key: entry.entry_key.map(<[u8]>::to_vec),
            written_millis: entry.written_millis,
        });
    }

    /// The values, migrated. Where many at once fail, fewer are tried, until one alone is to blame.
    fn migrated(&mut self, uid: &OperatorUid, function: &mut dyn UserFunction) -> Result<Column, Error> {
        let mut migrated = Column::default();
        while migrated.len() < self.entries.len() {
            let first = migrated.len();
            let some: Column =
                (first..self.entries.len().min(first + self.most)).map(|at| self.values.get(at)).collect();
            let failure = match function.migrate(self.state, self.from, &some) {
                Ok(values) if values.len() == some.len() => {
                    values.iter().for_each(|value| migrated.push(value));
                    self.most = MOST_VALUES.min(self.most * 2);
                    continue;
                }
                Ok(values) => format!("{} values came back of {}", values.len(), some.len()),
                Err(ProcessError::Host(error)) => return Err(error),
                Err(ProcessError::Function(failure)) => failure.to_string(),
            };
            if some.len() == 1 {
                return Err(self.refused(uid, first, &failure));
            }
            self.most = some.len() / 2;
        }
        Ok(migrated)
    }

    fn refused(&self, uid: &OperatorUid, at: usize, why: &str) -> Error {
        let Some(entry) = self.entries.get(at) else {
            return Error::new(Blame::Host, Retry::No, format!("a value of `{uid}/{}` without an entry", self.name));
        };
        let shown = |bytes: &[u8]| {
            String::from_utf8_lossy(bytes).chars().take(100).collect::<String>().escape_debug().to_string()
        };
        let inside = entry.entry_key.as_deref().map(|key| format!(", entry `{}`", shown(key))).unwrap_or_default();
        let message = format!(
            "migrate state `{uid}/{}` from version {}: key `{}`{inside}: {why}",
            self.name,
            self.from,
            shown(&entry.key)
        );
        Error::new(Blame::Guest, Retry::No, message)
            .with_code("E0631")
            .with_help("nothing was changed: correct `migrate`, or start the module that wrote the state")
    }
}

#[cfg(test)]
mod tests;
