//! What is removed from a bucket, and what is not.

use std::collections::BTreeSet;

use super::*;

/// What the manifests of the log list of state.
fn listed(bucket: &Bucket) -> BTreeSet<String> {
    bucket.look();
    let log = bucket.world.log();
    let mut listed = BTreeSet::new();
    for number in oracle::numbers(&log) {
        let Some(LogRecord::Complete(manifest)) = oracle::record(&log, number) else { continue };
        oracle::check_objects(&bucket.world.place(), &manifest);
        let parts = manifest.operators.values().flat_map(|operator| &operator.parts);
        listed.extend(parts.flat_map(|part| &part.objects).map(|object| format!("{PLACE}/{}", object.name)));
    }
    listed
}

/// Ends a process whose upload arrives afterwards. Returns what nobody lists then.
fn orphans(bucket: &mut Bucket) -> Vec<String> {
    bucket.append();
    bucket.server.set(Condition::Holds);
    let mut child = bucket.spawn(PACE, &[]);
    assert!(World::wait_for(&mut child, || bucket.server.is_held()), "nothing is uploaded");
    let before = bucket.state().len();
    kill(child);
    bucket.server.set(Condition::Sound);
    bucket.server.wait_for_keys(|keys| keys.iter().filter(|key| key.contains("/state/")).count() > before);
    let listed = listed(bucket);
    let orphans: Vec<String> = bucket.state().into_iter().filter(|key| !listed.contains(key)).collect();
    assert!(!orphans.is_empty(), "{:?}", bucket.state());
    orphans
}

#[test]
fn an_upload_that_was_cut_short_is_collected_when_it_is_old_and_not_before() {
    let mut bucket = Bucket::with_checkpoints(110, "interval: 10ms, retain: 1");
    bucket.append();
    bucket.finish(&[]);
    let orphans = orphans(&mut bucket);
    bucket.finish_and_check();
    let state = bucket.state();
    assert!(orphans.iter().all(|orphan| state.contains(orphan)), "a young one is gone: {orphans:?}, {state:?}");
    bucket.server.age();
    bucket.finish_and_check();
    let state = bucket.state();
    assert!(orphans.iter().all(|orphan| !state.contains(orphan)), "an old one is left: {orphans:?}, {state:?}");
    assert_eq!(state.into_iter().collect::<BTreeSet<_>>(), listed(&bucket));
}

#[test]
fn what_is_no_object_of_a_job_is_left_alone_however_old() {
    let mut bucket = Bucket::with_checkpoints(111, "interval: 10ms, retain: 1");
    let foreign = [format!("{PLACE}/state/notes.txt"), "some/prefix/jobs/other/state/1-1-dedup-0-0".to_owned()];
    for key in &foreign {
        bucket.server.add_old(key, b"mine");
    }
    bucket.finish_and_check();
    bucket.finish_and_check();
    let keys = bucket.server.keys();
    assert!(foreign.iter().all(|key| keys.contains(key)), "{keys:?}");
}

#[test]
fn killed_while_old_checkpoints_are_removed_from_a_bucket_every_one_left_is_whole() {
    let mut bucket = Bucket::with_checkpoints(112, "interval: 10ms, retain: 2");
    for hit in 1..=3 {
        bucket.append();
        bucket.append();
        assert!(bucket.run_armed(&format!("{PACE};mid-sweep=kill({hit})"), &[]), "nothing is removed");
        listed(&bucket);
    }
    bucket.finish_and_check();
}
