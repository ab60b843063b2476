//! Checkpoints of a table of so many bytes, of which so many change in every epoch: the state log and the local
//! store behind their seams, without the rest of the engine.
//!
//! # Words
//! - *sync part*: what the thread of the data does itself: the mark, and the look at the table for an image
//! - *durable*: parts uploaded and the manifest created, each synced
//!
//! # Invariants
//! 1. What is written when is decided as in the engine: an image takes the place of the deltas when it is due.
//! 2. What was measured counts only if a table restored from the store holds what was written, and the file of the
//!    bare loop what the epoch changed.
//! 3. Making entries, and removing objects that nothing lists any more, is not measured.

mod sweep;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::ensure;
use checkpoint::JobStore;
use contract::{Creation, KeyedState, Nonce, ObjectHandle, ObjectNumber, SlotKeys, StateBackend, StatePart};
use contract::{StateImage, StateScope, StateWrites, gather_objects};
use model::{
    Column, DEFAULT_KEY_GROUPS, Epoch, EventTime, Generation, HostTime, KeyGroup, KeyGroupRange, LineageId,
    OperatorUid, SlotIndex, StateDescriptor, StateId, StateKind,
};
use protocol::assignment_of_parts::{add_delta, is_image_due, replace_by_image};
use protocol::key_group;
use protocol::manifest::{CheckpointKind, LogRecord, Manifest, OperatorState, Part, encode};
use serde::{Deserialize, Serialize};
use state::MemoryBackend;

use crate::entries::{Churn, Key, Value, key_of, sum_entry, value_of};
use crate::measure::{Cost, Stopwatch, resident_bytes};
use crate::raw::persist;
use crate::stored;
use crate::tally::Tally;

pub(crate) use sweep::run;

/// Rows written at a time, as in the engine.
const ROWS: usize = 4096;
/// Dead bytes that are reclaimed after each, as in the engine.
const MAINTAIN_BYTES: usize = 512 << 10;
/// Records of the log that are kept.
const LOG_RECORDS: u64 = 3;

const STATE: StateId = StateId(0);

/// Who takes the checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Who {
    /// The state log, and the local store.
    Table,
    /// A bare loop that sorts, encodes, writes and syncs.
    Raw,
}

/// What to run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CheckpointSpec {
    /// Who does it.
    pub(crate) who: Who,
    /// Bytes of the entries.
    pub(crate) state_bytes: u64,
    /// Bytes of those that every epoch changes.
    pub(crate) churn_bytes: u64,
    /// How many checkpoints count; one more is taken before them.
    pub(crate) checkpoints: u32,
    /// Where a folder for them is made, and removed at the end.
    pub(crate) directory: PathBuf,
}

/// A checkpoint that was taken.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Taken {
    /// Whether the whole table was written.
    pub(crate) is_image: bool,
    /// How long the data stood still; 0 for the bare loop, whose data does all the time.
    pub(crate) sync_ns: u64,
    /// What of that was work; the rest the thread waited for a core.
    pub(crate) sync_cpu_ns: u64,
    /// From the mark until it was durable.
    pub(crate) cost: Cost,
    /// Bytes that became durable.
    pub(crate) bytes: u64,
}

/// What came of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CheckpointsFound {
    /// The checkpoints, in order.
    pub(crate) taken: Vec<Taken>,
    /// The most resident memory there was.
    pub(crate) resident_peak_bytes: u64,
}

/// Runs `spec` in this process.
///
/// # Errors
/// When something cannot be written, or what was written is not what should have been.
pub(crate) fn here(spec: &CheckpointSpec) -> anyhow::Result<CheckpointsFound> {
    let folder = tempfile::Builder::new().prefix("checkpoints-").tempdir_in(&spec.directory)?;
    match spec.who {
        Who::Table => of_table(spec, folder.path()),
        Who::Raw => of_raw(spec, folder.path()),
    }
}

fn of_table(spec: &CheckpointSpec, root: &Path) -> anyhow::Result<CheckpointsFound> {
    let churn = Churn::new(spec.state_bytes, spec.churn_bytes);
    let mut keeper = Keeper::new(stored::open(root)?);
    let mut table = MemoryBackend::default().open(scope())?;
    write_entries(&mut *table, 0..churn.entries, 0)?;
    keeper.checkpoint(&mut *table)?;
    let mut taken = Vec::new();
    for epoch in 1..=spec.checkpoints {
        write_entries(&mut *table, churn.of_epoch(epoch), epoch)?;
        taken.push(keeper.checkpoint(&mut *table)?);
        keeper.remove_unlisted()?;
    }
    let (_, resident_peak_bytes) = resident_bytes()?;
    drop(table);
    let (found, expected) = (tally_of_table(&mut *keeper.restore()?)?, churn.tally_after(spec.checkpoints));
    ensure!(found == expected, "the store holds another table: {found:?}, expected {expected:?}");
    Ok(CheckpointsFound { taken, resident_peak_bytes })
}

fn of_raw(spec: &CheckpointSpec, root: &Path) -> anyhow::Result<CheckpointsFound> {
    let churn = Churn::new(spec.state_bytes, spec.churn_bytes);
    let mut taken = Vec::new();
    for epoch in 1..=spec.checkpoints {
        let mut entries: Vec<(Key, Value)> =
            churn.of_epoch(epoch).map(|number| (key_of(number), value_of(number, epoch))).collect();
        let path = root.join(format!("epoch-{epoch}"));
        let watch = Stopwatch::start();
        let bytes = persist::sort_encode_write(&mut entries, &path)?;
        taken.push(Taken { is_image: false, sync_ns: 0, sync_cpu_ns: 0, cost: watch.cost(), bytes });
        if epoch == spec.checkpoints {
            let (found, expected) = (tally_of_file(&fs::read(&path)?)?, churn.tally_of(epoch));
            ensure!(found == expected, "the bare loop wrote something else: {found:?}, expected {expected:?}");
        }
        fs::remove_file(&path)?;
    }
    let (_, resident_peak_bytes) = resident_bytes()?;
    Ok(CheckpointsFound { taken, resident_peak_bytes })
}

/// A table for all key groups, with one state.
pub(crate) fn scope() -> StateScope {
    let state = StateDescriptor {
        id: STATE,
        name: "state".to_owned(),
        kind: StateKind::Value,
        schema: "{}".to_owned(),
        version: 1,
        ttl: None,
    };
    StateScope {
        operator: operator(),
        key_groups: KeyGroupRange { first: KeyGroup(0), end: KeyGroup(DEFAULT_KEY_GROUPS) },
        key_group_count: DEFAULT_KEY_GROUPS,
        states: vec![state],
    }
}

fn operator() -> OperatorUid {
    OperatorUid::new("table").expect("it is a name")
}

/// Writes the entries `numbers` as epoch `epoch` does.
///
/// # Errors
/// When the table refuses.
pub(crate) fn write_entries(
    table: &mut dyn KeyedState,
    numbers: impl Iterator<Item = u64>,
    epoch: u32,
) -> anyhow::Result<()> {
    let mut numbers = numbers.peekable();
    while numbers.peek().is_some() {
        let (mut slots, mut values) = (SlotKeys::default(), Column::default());
        for number in numbers.by_ref().take(ROWS) {
            let key = key_of(number);
            slots.keys.push(&key);
            slots.hashes.push(key_group::hash(&key));
            values.push(&value_of(number, epoch));
        }
        let which = (0..).map(SlotIndex).take(slots.hashes.len()).collect();
        let writes = [StateWrites { state: STATE, slots: which, values: values.into(), ..StateWrites::default() }];
        table.apply(&Arc::new(slots), &writes, HostTime(i64::from(epoch)))?;
        table.maintain(MAINTAIN_BYTES)?;
    }
    Ok(())
}

/// What a table holds.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn tally_of_table(table: &mut dyn KeyedState) -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    table.export(&mut |entry| {
        sum_entry(&mut tally, entry.key, entry.value);
        Ok(())
    })?;
    Ok(tally)
}

fn tally_of_file(bytes: &[u8]) -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    persist::each_entry(bytes, |key, value| {
        sum_entry(&mut tally, key, value);
        Ok(())
    })?;
    Ok(tally)
}

/// Takes checkpoints as a subtask, its upload thread and the coordinator do together.
struct Keeper {
    store: JobStore,
    parts: Vec<Part>,
    epoch: Epoch,
}

impl Keeper {
    fn new(store: JobStore) -> Self {
        Self { store, parts: Vec::new(), epoch: Epoch(0) }
    }

    fn checkpoint(&mut self, table: &mut dyn KeyedState) -> anyhow::Result<Taken> {
        self.epoch = Epoch(self.epoch.0 + 1);
        let key_groups = scope().key_groups;
        let watch = Stopwatch::start();
        let delta = table.snapshot()?;
        let mut parts = self.parts.clone();
        let delta_bytes = delta.segments.iter().map(|segment| segment.len() as u64).sum();
        let read = ObjectHandle { name: String::new(), length_bytes: delta_bytes, checksum: 0 };
        add_delta(&mut parts, &key_groups, self.epoch, vec![read]);
        let image = is_image_due(&parts, table.stats().live_bytes).then(|| table.image()).transpose()?;
        let Cost { wall_ns: sync_ns, cpu_ns: sync_cpu_ns } = watch.cost();
        let is_image = image.is_some();
        let objects = match image {
            Some(image) => self.put_image(image)?,
            None => vec![self.store.objects.put(&self.object_name(0), &delta.segments)?],
        };
        let bytes = objects.iter().map(|object| object.length_bytes).sum();
        let keep = if is_image { replace_by_image } else { add_delta };
        keep(&mut self.parts, &key_groups, self.epoch, objects);
        let body = encode(&LogRecord::Complete(Box::new(self.manifest())));
        let created = self.store.log.create(ObjectNumber(self.epoch.0), Nonce(u128::from(self.epoch.0)), &body)?;
        let cost = watch.cost();
        ensure!(created == Creation::Created, "somebody else writes to the store of the benchmark");
        Ok(Taken { is_image, sync_ns, sync_cpu_ns, cost, bytes })
    }

    fn object_name(&self, number: usize) -> String {
        format!("state/{}-{number}", self.epoch.0)
    }

    fn put_image(&self, image: StateImage) -> anyhow::Result<Vec<ObjectHandle>> {
        let mut objects = Vec::new();
        for pieces in gather_objects(image) {
            objects.push(self.store.objects.put(&self.object_name(objects.len()), &pieces?)?);
        }
        Ok(objects)
    }

    fn manifest(&self) -> Manifest {
        let state = OperatorState { module: None, key: None, states: scope().states, parts: self.parts.clone() };
        Manifest {
            job: stored::job_name(),
            lineage: LineageId(1),
            generation: Generation(1),
            epoch: self.epoch,
            parent: None,
            kind: CheckpointKind::Periodic,
            rewound: None,
            key_groups: DEFAULT_KEY_GROUPS,
            key_hash: key_group::ALGORITHM.to_owned(),
            host_clock: HostTime(0),
            watermark: EventTime::UNKNOWN,
            sources: BTreeMap::new(),
            operators: BTreeMap::from([(operator(), state)]),
            sinks: BTreeMap::new(),
        }
    }

    /// Removes what the newest manifest does not list.
    fn remove_unlisted(&self) -> anyhow::Result<()> {
        let listed: BTreeSet<&str> =
            self.parts.iter().flat_map(|part| &part.objects).map(|object| object.name.as_str()).collect();
        for object in self.store.objects.list("state")? {
            if !listed.contains(object.name.as_str()) {
                self.store.objects.delete(&object.name)?;
            }
        }
        if self.epoch.0 > LOG_RECORDS {
            self.store.log.remove(ObjectNumber(self.epoch.0 - LOG_RECORDS))?;
        }
        Ok(())
    }

    /// A table from what is in the store.
    fn restore(&self) -> anyhow::Result<Box<dyn KeyedState>> {
        let mut parts = self.parts.iter().flat_map(|part| {
            part.objects.iter().map(|object| {
                let segments = self.store.objects.get(object)?;
                Ok(StatePart { key_groups: part.key_groups.clone(), segments })
            })
        });
        Ok(MemoryBackend::default().restore(scope(), &mut parts)?)
    }
}
