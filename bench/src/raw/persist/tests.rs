use std::fs;

use contract::{StateBackend, StatePart};
use state::MemoryBackend;

use super::{build_table, each_entry, encode, read_files, sort_encode_write};
use crate::checkpoints::{scope, tally_of_table, write_entries};
use crate::entries::{Churn, Key, Value, key_of, sum_entry, value_of};
use crate::tally::Tally;

fn entries(churn: Churn, epoch: u32) -> Vec<(Key, Value)> {
    churn.of_epoch(epoch).map(|number| (key_of(number), value_of(number, epoch))).collect()
}

#[test]
fn the_file_holds_what_the_delta_of_the_table_holds() {
    let churn = Churn::new(1_000_000, 100_000);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("entries");
    sort_encode_write(&mut entries(churn, 1), &path).unwrap();
    let mut of_file = Tally::default();
    each_entry(&fs::read(&path).unwrap(), |key, value| {
        sum_entry(&mut of_file, key, value);
        Ok(())
    })
    .unwrap();

    let backend = MemoryBackend::default();
    let mut table = backend.open(scope()).unwrap();
    write_entries(&mut *table, 0..churn.entries, 0).unwrap();
    drop(table.snapshot().unwrap());
    write_entries(&mut *table, churn.of_epoch(1), 1).unwrap();
    let part = StatePart { key_groups: scope().key_groups, segments: table.snapshot().unwrap().segments };
    let mut delta = backend.restore(scope(), &mut std::iter::once(Ok(part))).unwrap();

    assert_eq!(of_file, tally_of_table(&mut *delta).unwrap());
    assert_eq!(of_file, churn.tally_of(1));
}

#[test]
fn entries_are_written_in_the_order_of_their_keys() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("entries");
    let length = sort_encode_write(&mut entries(Churn::new(10_000, 10_000), 1), &path).unwrap();
    let bytes = fs::read(&path).unwrap();
    assert_eq!(length, bytes.len() as u64);
    let mut keys = Vec::new();
    each_entry(&bytes, |key, _| {
        keys.push(key.to_vec());
        Ok(())
    })
    .unwrap();
    assert_eq!(keys.len(), 100);
    assert!(keys.is_sorted());
}

#[test]
fn a_table_is_built_of_every_entry() {
    let churn = Churn::new(10_000, 10_000);
    let bytes = encode((0..churn.entries).map(|number| (key_of(number), value_of(number, 0)))).unwrap();
    let mut tally = Tally::default();
    build_table(&bytes).unwrap().iter().for_each(|(key, value)| sum_entry(&mut tally, key, value));
    assert_eq!(tally, churn.tally_after(0));
}

#[test]
fn a_file_that_is_cut_is_refused() {
    let bytes = encode(std::iter::once((key_of(1), value_of(1, 0)))).unwrap();
    for length in [1, 7, 8, bytes.len() - 1] {
        assert!(build_table(&bytes[..length]).is_err(), "{length} bytes");
    }
}

#[test]
fn every_byte_of_every_file_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let paths = [folder.path().join("a"), folder.path().join("b")];
    fs::write(&paths[0], vec![1; 3_000_000]).unwrap();
    fs::write(&paths[1], b"b").unwrap();
    assert_eq!(read_files(&paths).unwrap(), 3_000_001);
}
