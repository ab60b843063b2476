use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use contract::doubles::{ManualClock, MemoryCheckpoints, MemorySnapshots, StoreCall};
use contract::{Clock, Creation, Nonce, ObjectHandle, ObjectNumber, SnapshotStore};
use model::HostTime;
use proptest::prelude::*;

use super::open;
use crate::{Garbage, JobStore, collect};

/// A manifest of these tests: its number in the log, and what it lists.
#[derive(Clone, Debug)]
struct Manifest {
    number: ObjectNumber,
    lists: Vec<ObjectHandle>,
}

struct Job {
    store: JobStore,
    log: MemoryCheckpoints,
    objects: MemorySnapshots,
    clock: Arc<ManualClock>,
    manifests: Vec<Manifest>,
}

const CLAIM: ObjectNumber = ObjectNumber(0);

/// A claim, then checkpoints: each lists the objects of up to `chain` epochs before it and one of its own.
fn job(checkpoints: u64, chain: usize) -> Job {
    let clock = Arc::new(ManualClock::new(HostTime(0)));
    let (log, objects) = (MemoryCheckpoints::new(), MemorySnapshots::with_clock(Arc::clone(&clock) as Arc<dyn Clock>));
    let store = JobStore { log: Arc::new(log.clone()), objects: Arc::new(objects.clone()) };
    let mut job = Job { store, log, objects, clock, manifests: Vec::new() };
    create(&job.store, CLAIM);
    for epoch in 1..=checkpoints {
        job.clock.advance(Duration::from_secs(10));
        job.objects.put(&format!("state/1-{epoch}-orphan-0"), &[Arc::new(b"aborted".to_vec())]).unwrap();
        let own = job.objects.put(&format!("state/1-{epoch}-dedup-0"), &[Arc::new(epoch.to_le_bytes().to_vec())]);
        let before = job.manifests.last().map_or(&[][..], |it| &it.lists);
        let mut lists = before[before.len().saturating_sub(chain)..].to_vec();
        lists.push(own.unwrap());
        let number = ObjectNumber(epoch);
        create(&job.store, number);
        job.manifests.push(Manifest { number, lists });
    }
    job.clock.advance(Duration::from_secs(10));
    job
}

fn create(store: &JobStore, number: ObjectNumber) {
    assert_eq!(store.log.create(number, Nonce(1), b"x").unwrap(), Creation::Created);
}

impl Job {
    fn retained(&self, count: usize) -> &[Manifest] {
        &self.manifests[self.manifests.len() - count..]
    }

    fn garbage(&self, retain: usize) -> Garbage {
        let oldest = self.retained(retain)[0].number;
        let reachable = self.retained(retain).iter().flat_map(|it| &it.lists).map(|it| it.name.clone());
        Garbage {
            records: (1..oldest.0).map(ObjectNumber).collect(),
            reachable: reachable.collect(),
            written_before: self.clock.now(),
        }
    }

    /// Every manifest in the log can be restored, and those retained are in it.
    fn assert_whole(&self, retain: usize) {
        let there: BTreeSet<ObjectNumber> = self.store.log.list().unwrap().into_iter().collect();
        assert!(there.contains(&CLAIM));
        for manifest in self.retained(retain) {
            assert!(there.contains(&manifest.number), "manifest {} is gone", manifest.number);
        }
        for manifest in self.manifests.iter().filter(|it| there.contains(&it.number)) {
            for handle in &manifest.lists {
                assert!(self.store.objects.get(handle).is_ok(), "{} of {}", handle.name, manifest.number);
            }
        }
    }
}

#[test]
fn what_no_retained_checkpoint_needs_goes_and_nothing_else() {
    let job = job(6, 2);
    let listed = job.store.objects.list("").unwrap();
    let collected = collect(&job.store, &listed, &job.garbage(2)).unwrap();
    assert_eq!(collected.records, 4);
    let expected: Vec<String> = (3..=6).map(|epoch| format!("state/1-{epoch}-dedup-0")).collect();
    assert_eq!(job.objects.names(), expected);
    let freed: u64 = listed.iter().filter(|it| !expected.contains(&it.name)).map(|it| it.length_bytes).sum();
    assert_eq!((collected.objects, collected.bytes), (8, freed));
    assert_eq!(job.store.log.list().unwrap(), [CLAIM, ObjectNumber(5), ObjectNumber(6)]);
    job.assert_whole(2);
    let again = collect(&job.store, &job.store.objects.list("").unwrap(), &job.garbage(2)).unwrap();
    assert_eq!(again.objects, 0);
}

#[test]
fn what_is_younger_than_the_gate_stays() {
    let job = job(3, 1);
    let mut garbage = job.garbage(1);
    garbage.records.clear();
    garbage.written_before = HostTime(20_000);
    collect(&job.store, &job.store.objects.list("").unwrap(), &garbage).unwrap();
    assert!(!job.objects.names().iter().any(|it| it.contains("-1-")), "{:?}", job.objects.names());
    assert!(job.objects.names().contains(&"state/1-2-orphan-0".to_owned()));
}

#[test]
fn what_was_put_after_the_list_stays() {
    let job = job(3, 1);
    let listed = job.store.objects.list("").unwrap();
    let successor = job.objects.put("state/2-4-dedup-0", &[Arc::new(b"successor".to_vec())]).unwrap();
    job.clock.advance(Duration::from_hours(24));
    collect(&job.store, &listed, &job.garbage(1)).unwrap();
    assert!(job.store.objects.get(&successor).is_ok());
}

#[test]
fn the_newest_record_is_never_removed_whatever_is_asked() {
    let job = job(2, 1);
    let mut garbage = job.garbage(1);
    garbage.records = vec![ObjectNumber(2), ObjectNumber(1)];
    assert!(collect(&job.store, &[], &garbage).is_err());
    assert_eq!(job.store.log.list().unwrap(), [CLAIM, ObjectNumber(2)]);
}

#[test]
fn numbers_and_unfinished_writes_go_from_a_local_store_too() {
    let (root, store) = open();
    (0..3).for_each(|number| create(&store, ObjectNumber(number)));
    store.objects.put("state/1", &[]).unwrap();
    std::fs::write(root.path().join("jobs/orders/state/2#1"), "half").unwrap();
    let garbage =
        Garbage { records: vec![ObjectNumber(1)], reachable: BTreeSet::new(), written_before: HostTime(i64::MAX) };
    let collected = collect(&store, &store.objects.list("").unwrap(), &garbage).unwrap();
    assert_eq!((collected.records, collected.objects), (1, 2));
    assert_eq!(std::fs::read_dir(root.path().join("jobs/orders/state")).unwrap().count(), 0);
    assert_eq!(store.log.create(ObjectNumber(1), Nonce(5), b"zombie").unwrap(), Creation::Taken);
}

proptest! {
    #[test]
    fn broken_off_anywhere_it_leaves_retained_checkpoints_restorable(
        checkpoints in 1_u64..12,
        chain in 0_usize..4,
        retain in 1_usize..4,
        order in any::<u64>(),
        survived in 0_u32..40,
    ) {
        let retain = retain.min(checkpoints as usize);
        let job = job(checkpoints, chain);
        let mut listed = job.store.objects.list("").unwrap();
        listed.sort_by_key(|it| xxhash_rust::xxh3::xxh3_64_with_seed(it.name.as_bytes(), order));
        let garbage = job.garbage(retain);
        let removals = Arc::new(AtomicU32::new(0));
        let kill = |removals: &Arc<AtomicU32>| {
            let removals = Arc::clone(removals);
            move |call, _: &str| {
                let removes = matches!(call, StoreCall::Remove | StoreCall::Delete);
                if removes && removals.fetch_add(1, Ordering::SeqCst) >= survived {
                    panic!("killed after {survived} removals, as planned");
                }
            }
        };
        job.log.before_calls(kill(&removals));
        job.objects.before_calls(kill(&removals));
        let ran = catch_unwind(AssertUnwindSafe(|| collect(&job.store, &listed, &garbage)));
        let all = garbage.records.len() + listed.len() - garbage.reachable.len();
        prop_assert_eq!(ran.is_err(), (survived as usize) < all);
        job.log.before_calls(|_, _| {});
        job.objects.before_calls(|_, _| {});
        job.assert_whole(retain);
        // The next run goes on.
        let listed = job.store.objects.list("").unwrap();
        collect(&job.store, &listed, &garbage).unwrap();
        job.assert_whole(retain);
        let left: BTreeSet<String> = job.objects.names().into_iter().collect();
        prop_assert_eq!(left, garbage.reachable);
    }
}
