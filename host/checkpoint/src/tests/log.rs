use std::fs;
use std::path::PathBuf;

use contract::{CheckpointStore, Creation, Nonce, ObjectNumber, StoredObject, compliance};
use tempfile::TempDir;

use super::{open, place};
use crate::frame::{decode, encode};

/// The frame of version 1, byte for byte: nonce 1, body `hello`.
const SAMPLE_V1: &[u8] = include_bytes!("../../samples/object-v1.bin");

/// A store that removes its folder with itself.
struct Temporary(std::sync::Arc<dyn CheckpointStore>, #[expect(dead_code, reason = "kept for its drop")] TempDir);

impl CheckpointStore for Temporary {
    fn create(&self, number: ObjectNumber, nonce: Nonce, body: &[u8]) -> Result<Creation, contract::Error> {
        self.0.create(number, nonce, body)
    }
    fn list(&self) -> Result<Vec<ObjectNumber>, contract::Error> {
        self.0.list()
    }
    fn remove(&self, number: ObjectNumber) -> Result<(), contract::Error> {
        self.0.remove(number)
    }
    fn read(&self, number: ObjectNumber) -> Result<Option<StoredObject>, contract::Error> {
        self.0.read(number)
    }
}

#[test]
fn the_local_store_keeps_every_promise() {
    compliance::checkpoint::check(&|| {
        let (folder, store) = open();
        let store = store.log;
        Box::new(Temporary(store, folder))
    });
}

#[test]
fn a_store_opened_again_holds_what_was_created() {
    let (folder, store) = open();
    let store = store.log;
    assert_eq!(store.create(ObjectNumber(7), Nonce(1), b"body").unwrap(), Creation::Created);
    drop(store);
    let again = place(folder.path()).log;
    assert_eq!(again.read(ObjectNumber(7)).unwrap().unwrap().body, b"body");
    assert_eq!(again.create(ObjectNumber(7), Nonce(2), b"other").unwrap(), Creation::Taken);
}

#[test]
fn two_stores_on_one_folder_have_one_winner() {
    let folder = tempfile::tempdir().unwrap();
    let stores: Vec<_> = (0..4).map(|_| place(folder.path()).log).collect();
    for number in 0..16 {
        let won = std::thread::scope(|scope| {
            let racers: Vec<_> = (0..)
                .zip(&stores)
                .map(|(nonce, store)| {
                    scope.spawn(move || store.create(ObjectNumber(number), Nonce(nonce), b"x").unwrap())
                })
                .collect();
            racers.into_iter().map(|it| it.join().unwrap()).filter(|it| *it == Creation::Created).count()
        });
        assert_eq!(won, 1, "winners of object {number}");
    }
}

fn file_of(folder: &TempDir, number: u64) -> PathBuf {
    folder.path().join(format!("jobs/orders/log/{number:020}"))
}

#[test]
fn an_unfinished_upload_is_no_object() {
    let (folder, store) = open();
    let store = store.log;
    assert_eq!(store.create(ObjectNumber(1), Nonce(1), b"x").unwrap(), Creation::Created);
    fs::write(folder.path().join("jobs/orders/log/00000000000000000002#1"), "half").unwrap();
    fs::write(folder.path().join("jobs/orders/log/notes.txt"), "mine").unwrap();
    assert_eq!(store.list().unwrap(), [ObjectNumber(1)]);
    assert_eq!(store.create(ObjectNumber(2), Nonce(1), b"whole").unwrap(), Creation::Created);
}

#[test]
fn every_single_damaged_byte_is_noticed() {
    let (folder, store) = open();
    let store = store.log;
    assert_eq!(store.create(ObjectNumber(3), Nonce(9), b"a body of some length").unwrap(), Creation::Created);
    let path = file_of(&folder, 3);
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x40;
        fs::write(&path, &damaged).unwrap();
        let error = store.read(ObjectNumber(3)).unwrap_err();
        assert!(["E0401", "E0402"].contains(&error.code().unwrap()), "byte {at}: {error}");
    }
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        assert_eq!(store.read(ObjectNumber(3)).unwrap_err().code(), Some("E0401"), "cut to {length} bytes");
    }
    fs::write(&path, &whole).unwrap();
    assert!(store.read(ObjectNumber(3)).is_ok());
}

#[test]
fn a_damaged_object_in_the_way_is_an_error_and_not_an_answer() {
    let (folder, store) = open();
    let store = store.log;
    fs::write(file_of(&folder, 4), b"").unwrap();
    assert_eq!(store.create(ObjectNumber(4), Nonce(1), b"x").unwrap_err().code(), Some("E0401"));
}

#[test]
fn a_newer_format_is_refused_by_its_number() {
    let mut frame = encode(Nonce(1), b"x");
    frame[4..6].copy_from_slice(&9_u16.to_le_bytes());
    let error = decode(ObjectNumber(5), &frame).unwrap_err();
    assert_eq!(error.code(), Some("E0402"));
    assert!(error.to_string().contains("format version 9, expected at most 1"), "{error}");
}

#[test]
fn the_sample_of_version_1_is_read_and_written_byte_for_byte() {
    let object = decode(ObjectNumber(0), SAMPLE_V1).unwrap();
    assert_eq!(object, StoredObject { nonce: Nonce(1), body: b"hello".to_vec() });
    assert_eq!(encode(object.nonce, &object.body), SAMPLE_V1);
}

#[test]
fn a_number_freed_by_removal_is_not_given_to_a_latecomer() {
    let (_folder, store) = open();
    for number in 0..4 {
        assert_eq!(store.log.create(ObjectNumber(number), Nonce(1), b"x").unwrap(), Creation::Created);
    }
    store.log.remove(ObjectNumber(2)).unwrap();
    let late = Nonce(7);
    assert_eq!(store.log.create(ObjectNumber(2), late, b"late").unwrap(), Creation::Taken);
    assert_eq!(store.log.create(ObjectNumber(2), late, b"late").unwrap(), Creation::Taken, "asked again");
    assert_eq!(store.log.create(ObjectNumber(4), Nonce(1), b"x").unwrap(), Creation::Created);
}
