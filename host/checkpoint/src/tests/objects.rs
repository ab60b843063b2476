use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use contract::{ListedObject, ObjectHandle, SnapshotStore, compliance};
use model::{Blame, Retry};
use tempfile::TempDir;
use xxhash_rust::xxh3::xxh3_64;

use super::{open, place};
use crate::JobStore;
use crate::pieces::{decode, encode};

/// The object of version 1, byte for byte: the pieces `one`, nothing, `three`.
const SAMPLE_V1: &[u8] = include_bytes!("../../samples/pieces-v1.bin");

/// A store that removes its folder with itself.
struct Temporary(Arc<dyn SnapshotStore>, #[expect(dead_code, reason = "kept for its drop")] TempDir);

impl SnapshotStore for Temporary {
    fn put(&self, name: &str, pieces: &[Arc<Vec<u8>>]) -> Result<ObjectHandle, contract::Error> {
        self.0.put(name, pieces)
    }
    fn get(&self, handle: &ObjectHandle) -> Result<Vec<Arc<Vec<u8>>>, contract::Error> {
        self.0.get(handle)
    }
    fn delete(&self, name: &str) -> Result<(), contract::Error> {
        self.0.delete(name)
    }
    fn list(&self, prefix: &str) -> Result<Vec<ListedObject>, contract::Error> {
        self.0.list(prefix)
    }
}

fn pieces(texts: &[&str]) -> Vec<Arc<Vec<u8>>> {
    texts.iter().map(|it| Arc::new(it.as_bytes().to_vec())).collect()
}

fn file_of(root: &TempDir, name: &str) -> PathBuf {
    root.path().join("jobs/orders").join(name)
}

fn bytes_of(name: &str, texts: &[&str]) -> (ObjectHandle, Vec<u8>) {
    let encoded = encode(name, &pieces(texts));
    (encoded.handle, encoded.payload.iter().flatten().copied().collect())
}

#[test]
fn the_local_store_keeps_every_promise() {
    compliance::object::check(&|| {
        let (root, store) = open();
        Box::new(Temporary(store.objects, root))
    });
}

#[test]
fn objects_lie_below_the_place_of_their_job_and_the_log_is_none_of_them() {
    let (root, store) = open();
    store.objects.put("state/1-7-dedup-0", &pieces(&["x"])).unwrap();
    assert!(file_of(&root, "state/1-7-dedup-0").is_file());
    fs::write(file_of(&root, "log/00000000000000000001"), "x").unwrap();
    let names: Vec<String> = store.objects.list("").unwrap().into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["state/1-7-dedup-0"]);
    for name in ["log", "log/00000000000000000001"] {
        assert_eq!(store.objects.put(name, &pieces(&["x"])).unwrap_err().blame(), Blame::Host);
        assert_eq!(store.objects.delete(name).unwrap_err().blame(), Blame::Host);
    }
    assert!(file_of(&root, "log/00000000000000000001").is_file());
}

#[test]
fn every_single_damaged_byte_is_noticed() {
    let (root, store) = open();
    let handle = store.objects.put("state/1", &pieces(&["first", "", "second"])).unwrap();
    let path = file_of(&root, "state/1");
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        fs::write(&path, &damaged).unwrap();
        assert_eq!(store.objects.get(&handle).unwrap_err().code(), Some("E0401"), "byte {at}");
    }
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        assert_eq!(store.objects.get(&handle).unwrap_err().code(), Some("E0401"), "cut to {length} bytes");
    }
    fs::write(&path, &whole).unwrap();
    assert_eq!(store.objects.get(&handle).unwrap(), pieces(&["first", "", "second"]));
    fs::remove_file(&path).unwrap();
    let error = store.objects.get(&handle).unwrap_err();
    assert_eq!((error.code(), error.retry()), (Some("E0404"), Retry::No));
}

#[test]
fn an_object_of_another_length_is_damage_and_is_not_read() {
    let (root, store) = open();
    let handle = store.objects.put("state/1", &pieces(&["first"])).unwrap();
    // More than memory holds, and nothing on the disk.
    fs::File::options().write(true).open(file_of(&root, "state/1")).unwrap().set_len(1 << 43).unwrap();
    let error = store.objects.get(&handle).unwrap_err();
    assert_eq!(error.code(), Some("E0401"));
    assert!(error.to_string().contains("8796093022208 bytes, expected"), "{error}");
}

#[test]
fn a_damaged_object_in_the_way_is_damage_and_not_another_content() {
    let (root, store) = open();
    let handle = store.objects.put("state/1", &pieces(&["first"])).unwrap();
    let path = file_of(&root, "state/1");
    let mut bytes = fs::read(&path).unwrap();
    bytes[20] ^= 1;
    fs::write(&path, bytes).unwrap();
    assert_eq!(store.objects.put("state/1", &pieces(&["first"])).unwrap_err().code(), Some("E0401"));
    assert_eq!(store.objects.get(&handle).unwrap_err().code(), Some("E0401"));
}

#[test]
fn what_an_interrupted_write_left_is_no_object_and_goes_when_it_is_old() {
    let (root, store) = open();
    store.objects.put("state/a/1", &pieces(&["x"])).unwrap();
    let (young, old) = (file_of(&root, "state/a/2#1"), file_of(&root, "state/a/2#2"));
    let old_claim = file_of(&root, "log/00000000000000000000#1");
    for path in [&young, &old, &old_claim] {
        fs::write(path, "half").unwrap();
    }
    for path in [&old, &old_claim] {
        let file = fs::File::options().write(true).open(path).unwrap();
        let written = file.metadata().unwrap().modified().unwrap() - Duration::from_secs(3600);
        file.set_modified(written).unwrap();
    }
    let names =
        |store: &JobStore| -> Vec<String> { store.objects.list("").unwrap().into_iter().map(|it| it.name).collect() };
    assert_eq!(names(&store), ["state/a/1"]);
    let store = place(root.path());
    assert_eq!(names(&store), ["state/a/1"]);
    assert!(young.exists() && !old.exists() && !old_claim.exists());
    // The name is free whatever was left of an earlier attempt.
    assert!(store.objects.put("state/a/2", &pieces(&["whole"])).is_ok());
    assert!(store.objects.list("").unwrap().iter().all(|it| it.modified.0 > 1_600_000_000_000));
}

#[test]
fn a_newer_format_is_refused_by_its_number() {
    let (mut handle, mut bytes) = bytes_of("state/1", &["x"]);
    bytes[4..6].copy_from_slice(&9_u16.to_le_bytes());
    handle.checksum = xxh3_64(&bytes);
    let error = decode(&handle, &bytes).unwrap_err();
    assert_eq!(error.code(), Some("E0402"));
    assert!(error.to_string().contains("format version 9, expected at most 1"), "{error}");
}

#[test]
fn the_sample_of_version_1_is_read_and_written_byte_for_byte() {
    let (handle, bytes) = bytes_of("state/1", &["one", "", "three"]);
    assert_eq!(bytes, SAMPLE_V1);
    assert_eq!(handle.length_bytes, SAMPLE_V1.len() as u64);
    assert_eq!(decode(&handle, SAMPLE_V1).unwrap(), pieces(&["one", "", "three"]));
}

#[test]
fn a_table_of_lengths_that_does_not_fit_is_damage() {
    for (at, value) in [(6, 0xFF), (7, 0xFF), (9, 0xFF), (10, 0xFF), (17, 0xFF), (10, 0)] {
        let (mut handle, mut bytes) = bytes_of("state/1", &["one", "two"]);
        bytes[at] = value;
        let end = bytes.len() - 8;
        let own = xxh3_64(&bytes[..end]).to_le_bytes();
        bytes[end..].copy_from_slice(&own);
        handle.checksum = xxh3_64(&bytes);
        let error = decode(&handle, &bytes).unwrap_err();
        assert_eq!(error.code(), Some("E0401"), "{value} at {at}: {error}");
    }
}
