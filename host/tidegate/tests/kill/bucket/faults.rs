//! A bucket that is away, slow, or refuses; that lies and loses.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use super::*;
use crate::server::Fault;

#[test]
fn a_store_of_which_every_few_requests_fail_loses_and_doubles_nothing() {
    for (seed, every) in [(120, 11), (121, 5)] {
        let mut bucket = Bucket::new(seed);
        bucket.server.set(Condition::Flaky(every));
        for _ in 0..2 {
            bucket.append();
            bucket.finish(&[]);
        }
        bucket.world.check();
        bucket.append();
        bucket.run_armed(&format!("{PACE};after-manifest=kill(2)"), &[]);
        bucket.finish_and_check();
    }
}

#[test]
fn a_store_that_does_not_answer_holds_a_checkpoint_up_and_not_the_job() {
    let mut bucket = Bucket::with_checkpoints(122, "interval: 10ms, timeout: 500ms, tolerable_failures: 1000");
    // Reading takes longer than a checkpoint may: the last one, at the end of the input, waits as long as it takes.
    bucket.world.append(8 * LINES);
    let mut command = bucket.command(SLOW, &["--output", "json"]);
    bucket.server.set(Condition::Holds);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("the binary starts");
    let mut said = BufReader::new(child.stderr.take().expect("it is piped")).lines();
    let mut lines = said.by_ref().map(|line| line.expect("it is text"));
    let slow = lines.find(|line| line.contains("CheckpointSlow"));
    assert!(slow.is_some(), "it ended");
    assert!(World::wait_for(&mut child, || bucket.server.is_held()), "it ended");
    bucket.server.set(Condition::Sound);
    let rest: Vec<String> = lines.collect();
    let ended = silent(child.wait_with_output().expect("it ends"));
    assert!(ended.status.success(), "{rest:?}");
    let summary: serde_json::Value = serde_json::from_slice(&ended.stdout).expect("a summary");
    assert_eq!(summary["checkpoints"]["restarts"], 0, "{summary}");
    bucket.world.check();
}

#[test]
fn rights_that_are_lost_and_given_back() {
    lost_and_found(123, Condition::NoRights, "E0407");
}

#[test]
fn a_bucket_that_is_gone_and_comes_back() {
    lost_and_found(124, Condition::NoBucket, "E0405");
}

/// A job that runs asks again and again and publishes nothing more; it cannot be started meanwhile, and goes on after.
fn lost_and_found(seed: u64, condition: Condition, at_start: &str) {
    let mut bucket = Bucket::new(seed);
    let mut child = bucket.running();
    bucket.server.set(condition);
    let refused = bucket.server.requests();
    if !World::wait_for(&mut child, || bucket.server.requests() > refused + 3) {
        panic!("it ended: {}", said(&child.wait_with_output().expect("it ended")));
    }
    bucket.look();
    let told = said(&silent(bucket.command("", &[]).output().expect("the binary starts")));
    assert!(told.contains(at_start), "{told}");
    bucket.server.set(Condition::Sound);
    let ended = silent(child.wait_with_output().expect("it ends"));
    assert!(ended.status.success(), "{}", said(&ended));
    bucket.look();
    bucket.world.check();
    bucket.finish_and_check();
}

#[test]
fn a_list_that_does_not_show_the_newest_is_not_believed() {
    let mut bucket = Bucket::new(125);
    bucket.append();
    assert!(bucket.run_armed(&format!("{SLOW};before-publish=kill(4)"), &[]), "it ended too early");
    bucket.server.set(Condition::HidesNewest);
    assert!(bucket.refused().contains("E0410"));
    bucket.server.set(Condition::Sound);
    bucket.finish_and_check();
}

/// A store that was sound when the job began, and then hides what it has.
#[test]
fn a_list_that_stops_to_show_the_newest_costs_nothing_of_what_is_published() {
    let mut bucket = Bucket::new(126);
    let child = bucket.running();
    bucket.server.set(Condition::HidesNewest);
    let ended = silent(child.wait_with_output().expect("it ends"));
    assert!(matches!(ended.status.code(), Some(0 | 1)), "{}", said(&ended));
    bucket.look();
    bucket.server.set(Condition::Sound);
    bucket.finish_and_check();
}

#[test]
fn creates_that_are_answered_as_if_another_had_come_first_are_ours() {
    let mut bucket = Bucket::with_checkpoints(127, "interval: 1h");
    bucket.append();
    // The first writes try the store out; of these every one arrives, and is answered with the opposite.
    bucket.server.inject_after_probe([Fault::WrittenThen(412), Fault::WrittenThen(409), Fault::AnswerLost]);
    bucket.finish(&[]);
    bucket.world.check();
    bucket.finish_and_check();
}

#[test]
fn objects_that_are_cut_changed_swapped_or_gone_are_not_restored() {
    let mut bucket = Bucket::new(128);
    bucket.append();
    bucket.finish(&[]);
    bucket.append();
    let newest = oracle::newest_manifest(&bucket.world.log()).expect("there are checkpoints").1;
    let parts = newest.operators.values().flat_map(|operator| &operator.parts);
    let objects: Vec<String> =
        parts.flat_map(|part| &part.objects).map(|object| format!("{PLACE}/{}", object.name)).collect();
    let [first, second, ..] = objects.as_slice() else { panic!("it keeps too little state: {objects:?}") };
    let whole = bucket.server.body(first);
    let other = bucket.server.body(second);
    let middle = whole.len() / 2;
    let mut flipped = whole.clone();
    flipped[middle] ^= 0x10;
    for damaged in [whole[..middle].to_vec(), flipped, other, Vec::new()] {
        bucket.server.damage(first, |body| *body = damaged);
        let said = bucket.refused();
        assert!(said.contains("E0401"), "{said}");
    }
    bucket.server.lose(first);
    let said = bucket.refused();
    assert!(said.contains("E0404"), "{said}");
    bucket.server.add_old(first, &whole);
    bucket.finish_and_check();
}

#[test]
fn a_newest_manifest_that_is_damaged_in_the_bucket_is_refused_once_it_is_published() {
    // Each run has one checkpoint, and publishes with it.
    let mut bucket = Bucket::with_checkpoints(129, "interval: 1h");
    for _ in 0..2 {
        bucket.append();
        bucket.finish(&[]);
    }
    let (path, _) = oracle::newest_manifest(&bucket.world.log()).expect("there are checkpoints");
    let name = path.file_name().expect("it has a name").to_string_lossy().into_owned();
    let key = format!("{PLACE}/log/{name}");
    let whole = bucket.server.body(&key);
    bucket.server.damage(&key, |body| body.truncate(whole.len() / 2));
    let said = bucket.refused();
    assert!(said.contains("E0437"), "{said}");
    bucket.server.damage(&key, |body| *body = whole);
    bucket.finish_and_check();
}

#[test]
fn a_store_that_two_could_win_on_is_refused_by_name() {
    for (exclusive, why) in [
        (Exclusive::Ignored, "ignores `If-None-Match: *`"),
        (Exclusive::LooksThenWrites, "of 20 that create one object at once"),
    ] {
        let world = World::new(130);
        let mut bucket = Bucket { world, server: Server::start(exclusive) };
        bucket.append();
        let said = bucket.refused();
        assert!(said.contains("E0410") && said.contains(why), "{said}");
        assert!(said.contains(&bucket.server.url()), "{said}");
        assert!(bucket.server.keys().is_empty(), "{:?}", bucket.server.keys());
    }
}
