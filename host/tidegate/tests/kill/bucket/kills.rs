//! A kill at every step of a job whose storage is a bucket.

use super::*;

/// Kills at `point` at its first and second time, and inside the recovery between; then lets the job end, at another
/// parallelism.
fn survives(seed: u64, point: &str) {
    survives_in(Bucket::new(seed), point);
}

fn survives_in(mut bucket: Bucket, point: &str) {
    let first = format!("{PACE};{point}=kill(1)");
    let second = format!("{PACE};{point}=kill(2)");
    for points in [first.as_str(), "after-claim=kill(1)", &second, &first] {
        bucket.append();
        assert!(bucket.run_armed(points, &[]), "{points} is never reached");
    }
    bucket.append();
    bucket.finish(&["--parallelism", "3"]);
    bucket.world.check();
}

#[test]
fn killed_when_some_state_is_in_the_bucket() {
    survives(100, "after-upload");
}

#[test]
fn killed_when_everything_is_in_the_bucket_but_the_manifest() {
    survives(101, "before-manifest");
}

#[test]
fn killed_when_the_manifest_is_in_the_bucket_and_nobody_knows() {
    survives(102, "after-manifest");
}

#[test]
fn killed_between_the_manifest_in_the_bucket_and_its_publication() {
    survives(103, "before-publish");
}

#[test]
fn killed_when_some_files_of_an_epoch_are_visible_and_the_manifest_is_in_a_bucket() {
    survives(104, "mid-publish");
}

#[test]
fn killed_when_an_epoch_is_published_and_no_manifest_in_the_bucket_says_so() {
    survives(105, "after-publish");
}

/// The create is on its way and the process ends; it arrives afterwards.
#[test]
fn killed_while_a_create_is_on_its_way() {
    let mut bucket = Bucket::new(106);
    for _ in 0..3 {
        bucket.append();
        bucket.server.set(Condition::Holds);
        let mut child = bucket.spawn(PACE, &[]);
        assert!(World::wait_for(&mut child, || bucket.server.is_held()), "nothing is uploaded");
        kill(child);
        bucket.server.set(Condition::Sound);
        bucket.look();
    }
    bucket.finish_and_check();
}

#[test]
fn of_two_owners_of_a_bucket_the_later_one_has_the_job() {
    let mut bucket = Bucket::new(107);
    let first = bucket.running();
    bucket.finish(&[]);
    let first = silent(first.wait_with_output().expect("it ends"));
    assert_eq!(first.status.code(), Some(1), "{}", said(&first));
    assert!(said(&first).contains("E0433"), "{}", said(&first));
    bucket.finish_and_check();
}
