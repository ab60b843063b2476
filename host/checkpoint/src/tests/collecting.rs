//! What `protocol::retention` lets go may go in any order, broken off anywhere: what is retained stays whole.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use contract::doubles::{ManualClock, MemoryCheckpoints, MemorySnapshots, StoreCall};
use contract::{Clock, Creation, Nonce, ObjectHandle, ObjectNumber, SnapshotStore};
use model::{Epoch, EventTime, Generation, HostTime, KeyGroup, KeyGroupRange, LineageId, OperatorUid};
use protocol::manifest::{self, CheckpointKind, Claim, LogRecord, Manifest, OperatorState, Part, PartKind};
use protocol::ownership::{Content, LogEntry};
use protocol::retention::{Garbage, Rules, Stored, garbage};

use super::{job, open};
use crate::JobStore;

const ORPHAN_AGE: Duration = Duration::from_secs(60);

struct Job {
    store: JobStore,
    log: MemoryCheckpoints,
    objects: MemorySnapshots,
    clock: Arc<ManualClock>,
    next: u64,
    /// What the newest manifest lists.
    parts: Vec<Part>,
}

impl Job {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::new(HostTime(0)));
        let log = MemoryCheckpoints::new();
        let objects = MemorySnapshots::with_clock(Arc::clone(&clock) as Arc<dyn Clock>);
        let store = JobStore { log: Arc::new(log.clone()), objects: Arc::new(objects.clone()) };
        Self { store, log, objects, clock, next: 0, parts: Vec::new() }
    }

    fn create(&mut self, record: &LogRecord) {
        let body = manifest::encode(record);
        assert_eq!(self.store.log.create(ObjectNumber(self.next), Nonce(1), &body).unwrap(), Creation::Created);
        self.next += 1;
    }

    fn claim(&mut self, generation: u64) {
        let claim =
            Claim { job: job(), generation: Generation(generation), lineage: LineageId(1), owner: "test".to_owned() };
        self.create(&LogRecord::Claim(claim));
    }

    /// A checkpoint of one delta after at most `chain` parts before it, and what an epoch leaves that is aborted.
    fn checkpoint(&mut self, generation: u64, epoch: u64, chain: usize) {
        self.clock.advance(Duration::from_secs(10));
        let put = |kind: &str, number: u64| {
            let content = Arc::new(format!("{kind} of {epoch}").into_bytes());
            self.objects.put(&format!("state/{generation}-{epoch}-dedup-0-{number}"), &[content]).unwrap()
        };
        let (own, _aborted) = (put("delta", 0), put("orphan", 1));
        let kept = self.parts.split_off(self.parts.len().saturating_sub(chain));
        self.parts = kept;
        self.parts.push(Part {
            key_groups: KeyGroupRange { first: KeyGroup(0), end: KeyGroup(128) },
            kind: PartKind::Delta,
            epoch: Epoch(epoch),
            objects: vec![own],
        });
        let dedup = OperatorState { parts: self.parts.clone(), ..OperatorState::default() };
        self.create(&LogRecord::Complete(Box::new(Manifest {
            job: job(),
            lineage: LineageId(1),
            generation: Generation(generation),
            epoch: Epoch(epoch),
            parent: None,
            kind: CheckpointKind::Periodic,
            rewound: None,
            key_groups: 128,
            key_hash: "xxh3-64".to_owned(),
            host_clock: self.clock.now(),
            watermark: EventTime::UNKNOWN,
            sources: BTreeMap::new(),
            operators: BTreeMap::from([(OperatorUid::new("dedup").unwrap(), dedup)]),
            sinks: BTreeMap::new(),
        })));
    }

    fn entries(&self) -> Vec<LogEntry> {
        let numbers = self.store.log.list().unwrap();
        let content =
            |number| Content::Record(manifest::decode(&self.store.log.read(number).unwrap().unwrap().body).unwrap());
        numbers.into_iter().map(|number| LogEntry { number, content: content(number) }).collect()
    }

    fn garbage(&self, retain: u32, generation: u64) -> Garbage {
        let (entries, objects) = (self.entries(), self.store.objects.list("").unwrap());
        let stored = Stored { entries: &entries, objects: &objects, in_use: &BTreeSet::new() };
        let generation = Generation(generation);
        garbage(&stored, &Rules { retain, orphan_age: ORPHAN_AGE, generation, now: self.clock.now() })
    }

    /// The manifests that are in the log, each of them whole.
    fn whole_manifests(&self) -> Vec<(ObjectNumber, Vec<ObjectHandle>)> {
        let mut found = Vec::new();
        for entry in self.entries() {
            if let Content::Record(LogRecord::Complete(manifest)) = entry.content {
                let parts = manifest.operators.values().flat_map(|it| &it.parts);
                let handles: Vec<ObjectHandle> = parts.flat_map(|it| it.objects.clone()).collect();
                for handle in &handles {
                    assert!(self.objects.get(handle).is_ok(), "{} of record {} is gone", handle.name, entry.number);
                }
                found.push((entry.number, handles));
            }
        }
        found
    }
}

fn remove(store: &JobStore, garbage: &Garbage) {
    garbage.records.iter().for_each(|number| store.log.remove(*number).unwrap());
    garbage.objects.iter().for_each(|name| store.objects.delete(name).unwrap());
}

#[test]
fn what_may_go_goes_from_a_local_store_and_its_numbers_stay_taken() {
    let (_root, store) = open();
    for number in 0..3 {
        assert_eq!(store.log.create(ObjectNumber(number), Nonce(1), b"x").unwrap(), Creation::Created);
    }
    store.objects.put("state/1-1-dedup-0-0", &[]).unwrap();
    let kept = store.objects.put("state/1-2-dedup-0-0", &[]).unwrap();
    let objects = vec!["state/1-1-dedup-0-0".to_owned()];
    remove(&store, &Garbage { records: vec![ObjectNumber(0), ObjectNumber(1)], objects });
    assert_eq!(store.log.list().unwrap(), [ObjectNumber(2)]);
    assert_eq!(store.objects.list("").unwrap().len(), 1);
    assert!(store.objects.get(&kept).is_ok());
    for number in 0..2 {
        assert_eq!(store.log.create(ObjectNumber(number), Nonce(9), b"zombie").unwrap(), Creation::Taken);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn broken_off_anywhere_it_leaves_retained_checkpoints_restorable(
        first in 1_u64..8,
        second in 1_u64..8,
        chain in 0_usize..4,
        retain in 1_u32..4,
        order in any::<u64>(),
        survived in 0_u32..40,
    ) {
        let mut job = Job::new();
        job.claim(1);
        (1..=first).for_each(|epoch| job.checkpoint(1, epoch, chain));
        job.claim(2);
        (first + 1..=first + second).for_each(|epoch| job.checkpoint(2, epoch, chain));
        job.clock.advance(2 * ORPHAN_AGE);
        let before = job.whole_manifests();
        let mut garbage = job.garbage(retain, 2);
        garbage.objects.sort_by_key(|name| xxh3_64_with_seed(name.as_bytes(), order));

        // The process is killed after so many removals.
        let removals = Arc::new(AtomicU32::new(0));
        let kill = |removals: &Arc<AtomicU32>| {
            let removals = Arc::clone(removals);
            move |call, _: &str| {
                let removes = matches!(call, StoreCall::Remove | StoreCall::Delete);
                if removes && removals.fetch_add(1, Ordering::SeqCst) >= survived {
                    // Without a message: it is no failure.
                    resume_unwind(Box::new("killed"));
                }
            }
        };
        job.log.before_calls(kill(&removals));
        job.objects.before_calls(kill(&removals));
        let ran = catch_unwind(AssertUnwindSafe(|| remove(&job.store, &garbage)));
        prop_assert_eq!(ran.is_err(), (survived as usize) < garbage.records.len() + garbage.objects.len());
        job.log.before_calls(|_, _| {});
        job.objects.before_calls(|_, _| {});

        let retained = &before[before.len().saturating_sub(retain as usize)..];
        let left = job.whole_manifests();
        prop_assert!(left.ends_with(retained));

        // The next run goes on, and nothing is left that a retained manifest does not list, save young generations.
        remove(&job.store, &job.garbage(retain, 3));
        prop_assert_eq!(job.whole_manifests(), retained);
        let listed: BTreeSet<String> =
            retained.iter().flat_map(|(_, handles)| handles.iter().map(|it| it.name.clone())).collect();
        prop_assert_eq!(job.objects.names().into_iter().collect::<BTreeSet<_>>(), listed);
    }
}
