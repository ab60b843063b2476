//! The store on S3 keeps the promises of the local one, and refuses what cannot keep them.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test says what it expects")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use checkpoint::{JobStore, S3Credentials, S3Store};
use contract::{
    CheckpointStore, Creation, Error, ListedObject, Nonce, ObjectHandle, ObjectNumber, Randomness, SnapshotStore,
    StoredObject, compliance,
};
use model::{Blame, JobName, Retry};

use server::{Condition, Exclusive, Fault, Server};

mod server;

/// Counts: what is drawn once is not drawn again.
struct Counter(AtomicU64);

impl Randomness for Counter {
    fn draw(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }
}

fn try_open(server: &Server) -> Result<JobStore, Error> {
    let keys = S3Credentials::Keys { access_key_id: "id".to_owned(), secret_access_key: "secret".to_owned() };
    let job = JobName::new("orders").unwrap();
    Ok(S3Store::open(&server.url(), &keys, &job, &Counter(AtomicU64::new(1)))?)
}

fn open() -> (Server, JobStore) {
    let server = Server::start(Exclusive::Honoured);
    let store = try_open(&server).unwrap();
    (server, store)
}

/// Seams are made as boxes.
struct Log(Arc<dyn CheckpointStore>);

impl CheckpointStore for Log {
    fn create(&self, number: ObjectNumber, nonce: Nonce, body: &[u8]) -> Result<Creation, Error> {
        self.0.create(number, nonce, body)
    }
    fn list(&self) -> Result<Vec<ObjectNumber>, Error> {
        self.0.list()
    }
    fn read(&self, number: ObjectNumber) -> Result<Option<StoredObject>, Error> {
        self.0.read(number)
    }
    fn remove(&self, number: ObjectNumber) -> Result<(), Error> {
        self.0.remove(number)
    }
}

struct Objects(Arc<dyn SnapshotStore>);

impl SnapshotStore for Objects {
    fn put(&self, name: &str, pieces: &[Arc<Vec<u8>>]) -> Result<ObjectHandle, Error> {
        self.0.put(name, pieces)
    }
    fn get(&self, handle: &ObjectHandle) -> Result<Vec<Arc<Vec<u8>>>, Error> {
        self.0.get(handle)
    }
    fn delete(&self, name: &str) -> Result<(), Error> {
        self.0.delete(name)
    }
    fn list(&self, prefix: &str) -> Result<Vec<ListedObject>, Error> {
        self.0.list(prefix)
    }
}

#[test]
fn the_log_on_s3_keeps_every_promise() {
    compliance::checkpoint::check(&|| Box::new(Log(open().1.log)));
}

#[test]
fn objects_on_s3_keep_every_promise() {
    compliance::object::check(&|| Box::new(Objects(open().1.objects)));
}

#[test]
fn the_place_of_a_job_lies_below_the_prefix_and_probes_leave_nothing() {
    let (server, store) = open();
    assert!(server.keys().is_empty(), "{:?}", server.keys());
    assert_eq!(store.log.create(ObjectNumber(3), Nonce(1), b"x").unwrap(), Creation::Created);
    store.objects.put("state/1", &[]).unwrap();
    let place = "some/prefix/jobs/orders";
    assert_eq!(server.keys(), [format!("{place}/log/00000000000000000003"), format!("{place}/state/1")]);
    let jobs = S3Store::list_jobs(
        &server.url(),
        &S3Credentials::Keys { access_key_id: "id".to_owned(), secret_access_key: "secret".to_owned() },
    );
    assert_eq!(jobs.unwrap(), [JobName::new("orders").unwrap()]);
}

#[test]
fn a_store_that_ignores_the_condition_is_refused_by_name() {
    let server = Server::start(Exclusive::Ignored);
    let error = try_open(&server).unwrap_err();
    assert_eq!((error.code(), error.blame(), error.retry()), (Some("E0410"), Blame::Config, Retry::No));
    assert!(error.to_string().contains("ignores `If-None-Match: *`"), "{error}");
    assert!(error.to_string().contains(&server.url()), "{error}");
    assert!(server.keys().is_empty(), "{:?}", server.keys());
}

#[test]
fn a_store_that_looks_first_and_writes_then_is_refused_by_name() {
    let error = try_open(&Server::start(Exclusive::LooksThenWrites)).unwrap_err();
    assert_eq!(error.code(), Some("E0410"));
    assert!(error.to_string().contains("of 20 that create one object at once"), "{error}");
}

#[test]
fn what_a_probe_left_that_was_ended_goes_when_it_is_old() {
    let server = Server::start(Exclusive::Honoured);
    server.add_old("some/prefix/probe/left-3", b"racer 7");
    try_open(&server).unwrap();
    assert!(server.keys().is_empty(), "{:?}", server.keys());
}

#[test]
fn a_store_whose_list_does_not_show_what_is_there_is_refused_by_name() {
    let server = Server::start(Exclusive::Honoured);
    server.set(Condition::HidesNewest);
    let error = try_open(&server).unwrap_err();
    assert_eq!(error.code(), Some("E0410"));
    assert!(error.to_string().contains("not in the list"), "{error}");
}

#[test]
fn whoever_only_looks_writes_nothing_and_is_not_refused() {
    let (server, store) = open();
    assert_eq!(store.log.create(ObjectNumber(0), Nonce(1), b"x").unwrap(), Creation::Created);
    let before = server.keys();
    let keys = S3Credentials::Keys { access_key_id: "id".to_owned(), secret_access_key: "secret".to_owned() };
    server.set(Condition::ReadOnly);
    let looked_at = S3Store::inspect(&server.url(), &keys, &JobName::new("orders").unwrap()).unwrap();
    assert_eq!(looked_at.log.list().unwrap(), [ObjectNumber(0)]);
    assert_eq!(looked_at.log.read(ObjectNumber(0)).unwrap().unwrap().body, b"x");
    assert_eq!(server.keys(), before);
}

#[test]
fn a_creation_whose_answer_is_lost_is_found_to_be_ours() {
    let (server, store) = open();
    for (number, fault) in (0..).zip([Fault::AnswerLost, Fault::WrittenThen(500), Fault::WrittenThen(409)]) {
        server.inject([fault]);
        assert_eq!(store.log.create(ObjectNumber(number), Nonce(7), b"mine").unwrap(), Creation::Created, "{fault:?}");
        assert_eq!(store.log.read(ObjectNumber(number)).unwrap().unwrap().body, b"mine");
    }
}

#[test]
fn a_conflict_of_which_nothing_is_there_is_tried_again_and_then_unknown() {
    let (server, store) = open();
    server.inject([Fault::Status(409)]);
    assert_eq!(store.log.create(ObjectNumber(0), Nonce(7), b"mine").unwrap(), Creation::Created);
    server.inject([Fault::Status(409), Fault::Status(409), Fault::Status(409)]);
    let error = store.log.create(ObjectNumber(1), Nonce(7), b"mine").unwrap_err();
    assert_eq!((error.code(), error.retry()), (Some("E0403"), Retry::Backoff));
    assert_eq!(store.log.create(ObjectNumber(1), Nonce(7), b"mine").unwrap(), Creation::Created);
}

#[test]
fn a_store_that_stays_busy_is_an_error_that_may_be_tried_later() {
    let (server, store) = open();
    server.inject([Fault::Status(503); 3]);
    let error = store.objects.put("state/1", &[Arc::new(b"x".to_vec())]).unwrap_err();
    assert_eq!((error.code(), error.retry()), (Some("E0403"), Retry::Backoff));
    server.inject([Fault::Status(503)]);
    assert!(store.objects.put("state/1", &[Arc::new(b"x".to_vec())]).is_ok());
}

#[test]
fn a_lack_of_rights_is_told_as_such() {
    let (server, store) = open();
    server.inject([Fault::Status(403)]);
    let error = store.log.create(ObjectNumber(0), Nonce(7), b"mine").unwrap_err();
    assert_eq!((error.code(), error.blame()), (Some("E0407"), Blame::Config));
}

#[test]
fn a_lack_of_rights_and_a_missing_bucket_are_told_of_every_call() {
    let (server, store) = open();
    let keys = S3Credentials::Keys { access_key_id: "id".to_owned(), secret_access_key: "secret".to_owned() };
    server.set(Condition::NoRights);
    let errors = [store.log.list().unwrap_err(), store.log.read(ObjectNumber(0)).unwrap_err()];
    assert!(errors.iter().all(|error| error.code() == Some("E0407")), "{errors:?}");
    assert_eq!(S3Store::list_jobs(&server.url(), &keys).unwrap_err().code(), Some("E0407"));
    server.set(Condition::NoBucket);
    assert_eq!(S3Store::list_jobs(&server.url(), &keys).unwrap_err().code(), Some("E0405"));
    // An empty log would be a job that never ran.
    assert!(store.log.list().is_err());
}

#[test]
fn an_answer_that_breaks_off_is_asked_for_again() {
    let (server, store) = open();
    let handle = store.objects.put("state/1", &[Arc::new(vec![7; 4096])]).unwrap();
    server.cut_answers(1);
    assert_eq!(store.objects.get(&handle).unwrap()[0].len(), 4096);
    server.cut_answers(1);
    assert!(store.log.list().unwrap().is_empty());
    server.cut_answers(9);
    assert_eq!(store.log.list().unwrap_err().retry(), Retry::Backoff);
}

#[test]
fn a_bucket_that_does_not_exist_is_a_missing_root() {
    let server = Server::start(Exclusive::Honoured);
    server.inject([Fault::Status(404)]);
    let error = try_open(&server).unwrap_err();
    assert_eq!((error.code(), error.blame()), (Some("E0405"), Blame::Config));
    assert!(error.to_string().contains("s3://flows/some/prefix"), "{error}");
}

#[test]
fn damage_in_the_bucket_is_noticed() {
    let (server, store) = open();
    let handle = store.objects.put("state/1", &[Arc::new(b"some state".to_vec())]).unwrap();
    server.damage("some/prefix/jobs/orders/state/1", |bytes| bytes[20] ^= 1);
    assert_eq!(store.objects.get(&handle).unwrap_err().code(), Some("E0401"));
    server.damage("some/prefix/jobs/orders/state/1", Vec::clear);
    assert_eq!(store.objects.get(&handle).unwrap_err().code(), Some("E0401"));
}
