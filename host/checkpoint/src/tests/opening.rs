use std::fs;
use std::io;
use std::path::Path;

use contract::{Creation, Nonce, ObjectNumber};
use model::{Blame, JobName, Retry};

use super::{job, place};
use crate::{Error, LocalStore};

#[test]
fn a_missing_root_is_refused_and_not_made() {
    let root = tempfile::tempdir().unwrap();
    let missing = root.path().join("not-mounted");
    let error = LocalStore::open(&missing, &job()).unwrap_err();
    assert_eq!(error.code(), Some("E0405"));
    assert!(error.to_string().contains("not-mounted` does not exist"), "{error}");
    assert!(!missing.exists());
    assert_eq!(LocalStore::list_jobs(&missing).unwrap_err().code(), Some("E0405"));
}

#[test]
fn a_root_that_is_a_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "mine").unwrap();
    assert_eq!(LocalStore::open(&file, &job()).unwrap_err().code(), Some("E0406"));
    assert_eq!(fs::read(&file).unwrap(), b"mine");
}

#[test]
fn what_the_system_says_of_a_root_decides_what_the_user_reads() {
    let cases = [
        (io::ErrorKind::NotFound, "E0405", Blame::Config, Retry::No),
        (io::ErrorKind::NotADirectory, "E0406", Blame::Config, Retry::No),
        (io::ErrorKind::PermissionDenied, "E0407", Blame::Config, Retry::Backoff),
        (io::ErrorKind::ReadOnlyFilesystem, "E0407", Blame::Config, Retry::Backoff),
        (io::ErrorKind::StorageFull, "E0408", Blame::External, Retry::Backoff),
        (io::ErrorKind::QuotaExceeded, "E0408", Blame::External, Retry::Backoff),
        (io::ErrorKind::Other, "E0403", Blame::External, Retry::No),
    ];
    for (kind, code, blame, retry) in cases {
        let error = contract::Error::from(Error::root(Path::new("somewhere"), kind.into()));
        assert_eq!((error.code(), error.blame(), error.retry()), (Some(code), blame, retry), "{kind}");
        assert!(error.to_string().contains("somewhere"), "{error}");
    }
}

#[test]
fn a_full_disk_is_told_from_one_that_does_not_answer() {
    let of = |kind: io::ErrorKind| {
        let inner = object_store::Error::Generic { store: "disk", source: Box::new(io::Error::from(kind)) };
        Error::medium("put object `a`", object_store::Error::Generic { store: "outer", source: Box::new(inner) })
    };
    assert_eq!(of(io::ErrorKind::StorageFull).code(), Some("E0408"));
    assert_eq!(of(io::ErrorKind::ReadOnlyFilesystem).code(), Some("E0407"));
    assert_eq!(of(io::ErrorKind::TimedOut).code(), Some("E0403"));
}

#[test]
fn opening_leaves_nothing_but_the_place_behind() {
    let root = tempfile::tempdir().unwrap();
    let store = place(root.path());
    let names = |folder: &Path| -> Vec<String> {
        fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect()
    };
    assert_eq!(names(root.path()), ["jobs"]);
    assert_eq!(names(&root.path().join("jobs/orders")), ["log"]);
    assert!(store.objects.list("").unwrap().is_empty());
}

#[test]
fn whoever_only_looks_leaves_everything_as_it_is() {
    let root = tempfile::tempdir().unwrap();
    assert!(LocalStore::inspect(root.path(), &job()).unwrap().log.list().unwrap().is_empty());
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    let written = place(root.path());
    assert_eq!(written.log.create(ObjectNumber(0), Nonce(1), b"x").unwrap(), Creation::Created);
    let handle = written.objects.put("state/1", &[]).unwrap();
    let unfinished = root.path().join("jobs/orders/state/2#1");
    fs::write(&unfinished, "half").unwrap();
    let old = fs::File::options().write(true).open(&unfinished).unwrap();
    old.set_modified(std::time::UNIX_EPOCH).unwrap();
    let looked_at = LocalStore::inspect(root.path(), &job()).unwrap();
    assert_eq!(looked_at.log.read(ObjectNumber(0)).unwrap().unwrap().body, b"x");
    assert!(looked_at.objects.get(&handle).unwrap().is_empty());
    assert!(unfinished.exists());
    place(root.path());
    assert!(!unfinished.exists());
}

#[test]
fn a_root_that_is_not_there_cannot_be_looked_at() {
    let root = tempfile::tempdir().unwrap();
    assert_eq!(LocalStore::inspect(&root.path().join("gone"), &job()).unwrap_err().code(), Some("E0405"));
    let file = root.path().join("file");
    fs::write(&file, "").unwrap();
    assert_eq!(LocalStore::inspect(&file, &job()).unwrap_err().code(), Some("E0406"));
}

#[test]
fn jobs_are_kept_apart_and_listed() {
    let root = tempfile::tempdir().unwrap();
    assert!(LocalStore::list_jobs(root.path()).unwrap().is_empty());
    let (one, other) = (JobName::new("billing").unwrap(), job());
    let (orders, billing) = (place(root.path()), LocalStore::open(root.path(), &one).unwrap());
    assert_eq!(orders.log.create(ObjectNumber(0), Nonce(1), b"x").unwrap(), Creation::Created);
    assert!(billing.log.list().unwrap().is_empty());
    fs::write(root.path().join("jobs/a-file"), "").unwrap();
    fs::create_dir(root.path().join("jobs/Not A Job")).unwrap();
    assert_eq!(LocalStore::list_jobs(root.path()).unwrap(), [one, other]);
}

#[test]
fn a_place_may_be_used_from_an_asynchronous_runtime() {
    let root = tempfile::tempdir().unwrap();
    let store = place(root.path());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let created = runtime.block_on(async {
        let log = std::sync::Arc::clone(&store.log);
        tokio::task::spawn_blocking(move || log.create(ObjectNumber(0), Nonce(1), b"x").unwrap()).await.unwrap()
    });
    assert_eq!(created, Creation::Created);
}
