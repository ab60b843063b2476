//! The texts of version 1 are read for ever.

use super::super::formats::{Checksum, Commit, CommitEntry, Owner, StagedFile, encode, parse, parse_file};
use super::*;

#[track_caller]
fn check<T>(value: &T, sample: &str)
where
    T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    assert_eq!(String::from_utf8(encode(value)).expect("a text"), sample, "it is written as the sample");
    assert_eq!(&parse::<T>(sample.as_bytes()).expect("it is read"), value);
    let newer = sample.replace("\"version\": 1", "\"version\": 2");
    let refused = parse::<T>(newer.as_bytes()).expect_err("a newer one is refused");
    assert!(refused.contains("version 2"), "{refused}");
}

fn checksum_of(bytes: &[u8]) -> Checksum {
    let mut hasher = xxhash_rust::xxh3::Xxh3::new();
    hasher.update(bytes);
    Checksum::of_hasher(&hasher)
}

#[test]
fn texts_are_read_as_they_were_written_in_version_1() {
    let checksum = || checksum_of(b"one\n");
    check(&Owner::new(LINEAGE, "job `orders`, sink `clean`", FileLayout::Plain), include_str!("samples/owner-1.json"));
    let name = "0000000001-00000-000000.jsonl".to_owned();
    check(
        &StagedFile::new(FileLayout::Commits, LINEAGE, name.clone(), checksum()),
        include_str!("samples/staged-1.json"),
    );
    let entry = CommitEntry { name: format!("data/{LINEAGE}/{name}"), bytes: 4, records: 1, checksum: checksum() };
    check(&Commit::new(LINEAGE, Epoch(7), vec![entry]), include_str!("samples/commit-1.json"));
}

#[test]
fn a_staged_name_cannot_lead_elsewhere() {
    for name in ["../secret", ".hidden", "a/b"] {
        let body = encode(&StagedFile::new(FileLayout::Plain, LINEAGE, name.to_owned(), checksum_of(b"")));
        let output = StagedOutput { slot: 0, records: 1, bytes: 1, body };
        assert!(StagedFile::of(&output, Path::new("out")).is_err(), "{name}");
    }
}

#[test]
fn damage_names_the_file() {
    let refused = parse_file::<Commit>(b"[]", Path::new("out/x.json")).expect_err("it is damaged");
    assert!(refused.to_string().starts_with("`out/x.json` is damaged"), "{refused}");
}
