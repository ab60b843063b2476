//! Commands that look at a bucket, and savepoints of a job in one.

use super::*;

fn text(output: Output) -> String {
    assert!(output.status.success(), "{}", said(&output));
    String::from_utf8(output.stdout).expect("it is text")
}

#[test]
fn whoever_only_looks_needs_no_right_to_write() {
    let mut bucket = Bucket::new(140);
    bucket.append();
    bucket.finish(&[]);
    bucket.server.set(Condition::ReadOnly);
    let before = bucket.server.keys();
    assert!(text(bucket.other(&["checkpoint", "list"])).contains("`flights`: "));
    assert!(text(bucket.other(&["checkpoint", "show", "--output", "json"])).contains("\"key_groups\":128"));
    text(bucket.other(&["savepoint", "create", "--to", "saved"]));
    assert!(text(bucket.other(&["savepoint", "show", "saved"])).contains("of `flights`, whole"));
    assert!(text(bucket.other(&["savepoint", "export", "saved"])).lines().count() > 100);
    assert_eq!(bucket.server.keys(), before);
    assert!(bucket.refused().contains("E0407"));
}

#[test]
fn a_store_that_cannot_be_used_can_be_looked_at() {
    let mut bucket = Bucket { world: World::new(141), server: Server::start(Exclusive::Ignored) };
    bucket.append();
    let said = said(&bucket.other(&["checkpoint", "list"]));
    assert!(said.contains("E0470") && said.contains("holds no job"), "{said}");
}

#[test]
fn a_savepoint_of_a_job_in_a_bucket_begins_one_in_another() {
    let mut bucket = Bucket::new(142);
    bucket.append();
    bucket.finish(&["--stop-with-savepoint", "saved"]);
    let other = Server::start(Exclusive::Honoured);
    let first = std::mem::replace(&mut bucket.server, other);
    assert!(!first.keys().is_empty());
    // Everything was published before the savepoint was made: nothing comes again.
    bucket.append();
    bucket.finish(&["--from-savepoint", "saved"]);
    bucket.world.check();
    bucket.finish_and_check();
}

#[test]
fn a_savepoint_is_not_written_to_a_bucket_and_it_is_said_what_works() {
    let mut bucket = Bucket::new(143);
    bucket.append();
    for arguments in [
        &["savepoint", "create", "--to", "s3://flows/saved"][..],
        &["savepoint", "list", "s3://flows"],
        &["savepoint", "show", "s3://flows/saved"],
        &["savepoint", "export", "s3://flows/saved"],
        &["savepoint", "remove", "s3://flows/saved"],
        &["run", "job.yaml", "--from-savepoint", "s3://me:hunter22@flows/saved"],
        &["run", "job.yaml", "--stop-with-savepoint", "s3://flows/saved"],
    ] {
        let output = bucket.other(arguments);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("from a folder") && said.contains("aws s3 cp"), "{said}");
        assert!(!said.contains("hunter22"), "{said}");
    }
}

#[test]
fn a_name_of_a_store_that_is_none_is_refused_without_what_is_secret_in_it() {
    let bucket = Bucket::new(144);
    for (url, why) in [
        ("gs://flows", "names no store"),
        ("s3://me:hunter22@flows", "come from the environment"),
        ("s3://flows?secret=hunter22", "is unknown"),
        ("s3://flows?endpoint=http://s3.example.com", "AWS_ALLOW_HTTP=true"),
        ("s3://flows?endpoint=http://me:hunter22@127.0.0.1:1", "come from the environment"),
    ] {
        for arguments in [&["run", "job.yaml", "--storage", url][..], &["checkpoint", "list", "--storage", url]] {
            let said = said(&bucket.other(arguments));
            assert!(said.contains("E0409") && said.contains(why), "{said}");
            assert!(!said.contains("hunter22"), "{said}");
        }
    }
}
