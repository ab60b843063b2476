use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tempfile::TempDir;
use xxhash_rust::xxh3::xxh3_64;

use contract::StateEntry;
use model::{
    Delivery, Epoch, EventTime, Generation, HostTime, JobName, KeyGroup, LineageId, ModuleDigest, OperatorUid,
    Position, Refresh, StateDescriptor, StateId, StateKind, Ttl, TtlClock,
};

use super::entries::{BLOCK_BYTES, VERSION};
use super::{Error, Metadata, Operator, Reader, Sink, Source, Split, Writer, inspect, unfinished};

/// A savepoint of version 1, as [`sample`] and [`sample_entries`] describe it.
const SAMPLE_V1: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/savepoint-v1");

const GROUPS: u16 = 128;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    state: u16,
    hash: u64,
    key: Vec<u8>,
    entry_key: Option<Vec<u8>>,
    value: Vec<u8>,
    written_millis: i64,
}

impl Entry {
    fn new(hash: u64, key: &str, value: &[u8]) -> Self {
        let (key, value) = (key.as_bytes().to_vec(), value.to_vec());
        Self { state: 1, hash, key, entry_key: None, value, written_millis: 1_700_000_000_000 }
    }

    fn borrowed(&self) -> StateEntry<'_> {
        StateEntry {
            state: StateId(self.state),
            hash: self.hash,
            key: &self.key,
            entry_key: self.entry_key.as_deref(),
            value: &self.value,
            written_millis: self.written_millis,
        }
    }

    fn of(entry: StateEntry<'_>) -> Self {
        Self {
            state: entry.state.0,
            hash: entry.hash,
            key: entry.key.to_vec(),
            entry_key: entry.entry_key.map(<[u8]>::to_vec),
            value: entry.value.to_vec(),
            written_millis: entry.written_millis,
        }
    }
}

fn uid(name: &str) -> OperatorUid {
    OperatorUid::new(name).unwrap()
}

fn descriptor(id: u16, name: &str, kind: StateKind, ttl: Option<Ttl>) -> StateDescriptor {
    StateDescriptor { id: StateId(id), name: name.to_owned(), kind, schema: "\"u64\"".to_owned(), version: 1, ttl }
}

fn sample() -> Metadata {
    let ttl = Ttl { millis: 604_800_000, clock: TtlClock::EventTime, refresh: Refresh::OnWrite };
    let operator = Operator {
        module: Some(ModuleDigest([0xAB; 32])),
        states: vec![
            descriptor(1, "first-seen", StateKind::Value, Some(ttl)),
            descriptor(2, "counts", StateKind::MapEntries, None),
        ],
        ..Operator::default()
    };
    let split = Split {
        name: "in/orders.jsonl".to_owned(),
        position: Position(88_213),
        identity: vec![1, 0xFE],
        greatest_event_time: EventTime(1_700_000_000_000),
        ended: false,
    };
    Metadata {
        job: JobName::new("orders").unwrap(),
        lineage: LineageId(0x0123_4567_89AB_CDEF),
        generation: Generation(3),
        epoch: Epoch(41),
        key_groups: GROUPS,
        key_hash: "xxh3-64".to_owned(),
        host_clock: HostTime(1_700_000_001_000),
        watermark: EventTime::UNKNOWN,
        sources: BTreeMap::from([(uid("orders"), Source { splits: vec![split] })]),
        operators: BTreeMap::from([(uid("dedup"), operator), (uid("empty"), Operator::default())]),
        sinks: BTreeMap::from([(
            uid("clean"),
            Sink { delivery: Delivery::ExactlyOnce, published: Some(Epoch(40)), pending: vec![Epoch(41)] },
        )]),
    }
}

fn sample_entries() -> Vec<Entry> {
    let mut mapped = Entry::new(1 << 60, "key-2", b"\x93\x01\x02\x03");
    mapped.entry_key = Some(b"inner".to_vec());
    mapped.state = 2;
    let mut nothing = Entry::new(u64::MAX, "", b"");
    nothing.entry_key = Some(Vec::new());
    nothing.state = 2;
    nothing.written_millis = i64::MIN;
    vec![Entry::new(5, "key-1", b"\x2a"), mapped, nothing]
}

fn write(folder: &Path, entries: &[Entry]) -> Result<Metadata, Error> {
    let mut writer = Writer::create(folder, GROUPS)?;
    let mut operator = writer.operator(&uid("dedup"))?;
    for entry in entries {
        operator.write(&entry.borrowed())?;
    }
    operator.finish()?;
    writer.operator(&uid("empty"))?.finish()?;
    writer.finish(sample())
}

fn read(folder: &Path, operator: &str) -> Result<Vec<Entry>, Error> {
    let reader = Reader::open(folder)?;
    let mut entries = reader.entries(&uid(operator))?;
    let mut read = Vec::new();
    while let Some(entry) = entries.next_entry()? {
        read.push(Entry::of(entry));
    }
    assert!(entries.next_entry()?.is_none(), "the end stays the end");
    Ok(read)
}

/// A savepoint in a folder that vanishes.
fn written() -> (TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("sp");
    write(&folder, &sample_entries()).unwrap();
    (root, folder)
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_was_written_is_read_back() {
    let (_root, folder) = written();
    assert_eq!(names(&folder), ["dedup.entries", "empty.entries", "savepoint.json"]);
    let mut found = Reader::open(&folder).unwrap().metadata().clone();
    assert_eq!(found.operators[&uid("dedup")].entries.entries, 3);
    for operator in found.operators.values_mut() {
        operator.entries = Operator::default().entries;
    }
    assert_eq!(found, sample());
    assert_eq!(read(&folder, "dedup").unwrap(), sample_entries());
    assert_eq!(read(&folder, "empty").unwrap(), []);
    assert!(matches!(read(&folder, "other"), Err(Error::NoOperator { .. })));
}

#[test]
fn the_sample_of_version_1_is_read_and_written_byte_for_byte() {
    let sample_folder = Path::new(SAMPLE_V1);
    assert_eq!(read(sample_folder, "dedup").unwrap(), sample_entries());
    let (_root, folder) = written();
    for name in names(&folder) {
        assert_eq!(fs::read(folder.join(&name)).unwrap(), fs::read(sample_folder.join(&name)).unwrap(), "{name}");
    }
    assert_eq!(inspect(&folder).unwrap(), inspect(sample_folder).unwrap());
}

#[test]
fn a_copy_elsewhere_is_the_same_savepoint() {
    let (root, folder) = written();
    let moved = root.path().join("moved elsewhere");
    fs::rename(&folder, &moved).unwrap();
    assert_eq!(read(&moved, "dedup").unwrap(), sample_entries());
}

#[test]
fn a_savepoint_that_is_missing_or_none_is_refused_by_name() {
    let (root, folder) = written();
    let code = |path: &Path| Reader::open(path).unwrap_err().code();
    assert_eq!(code(&root.path().join("nowhere")), Some("E0420"));
    assert_eq!(code(&folder.join("savepoint.json")), Some("E0421"));
    assert_eq!(code(root.path()), Some("E0421"));
    let foreign = root.path().join("foreign");
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join("savepoint.json"), "{\"format\": \"other\", \"savepoint\": {}}").unwrap();
    assert_eq!(code(&foreign), Some("E0421"));
    fs::write(foreign.join("savepoint.json"), "not JSON").unwrap();
    assert_eq!(code(&foreign), Some("E0422"));
}

#[test]
fn a_half_written_savepoint_is_none() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("sp");
    let code = || Reader::open(&folder).unwrap_err().code();
    let mut writer = Writer::create(&folder, GROUPS).unwrap();
    assert_eq!(code(), Some("E0421"));
    let mut operator = writer.operator(&uid("dedup")).unwrap();
    operator.write(&sample_entries()[0].borrowed()).unwrap();
    assert_eq!(names(&folder), ["dedup.entries.part"]);
    operator.finish().unwrap();
    writer.operator(&uid("empty")).unwrap().finish().unwrap();
    assert_eq!(code(), Some("E0421"));
    drop(writer);
    assert_eq!(code(), Some("E0421"));
}

#[test]
fn a_folder_that_holds_something_is_not_written_to() {
    let (root, folder) = written();
    assert_eq!(Writer::create(&folder, GROUPS).unwrap_err().code(), Some("E0424"));
    let file = root.path().join("file");
    fs::write(&file, "mine").unwrap();
    assert_eq!(Writer::create(&file, GROUPS).unwrap_err().code(), Some("E0424"));
    assert_eq!(Writer::create(&root.path().join("a/b"), GROUPS).unwrap_err().code(), Some("E0425"));
    let empty = root.path().join("empty");
    fs::create_dir(&empty).unwrap();
    assert!(write(&empty, &[]).is_ok());
}

#[test]
fn every_single_damaged_byte_of_every_file_is_noticed() {
    let (_root, folder) = written();
    for name in names(&folder) {
        let path = folder.join(&name);
        let whole = fs::read(&path).unwrap();
        // In place: writing a file anew waits for the disk.
        let file = fs::File::options().write(true).open(&path).unwrap();
        for (at, byte) in (0..).zip(&whole) {
            file.write_all_at(&[byte ^ 1], at).unwrap();
            let error = Reader::open(&folder).unwrap_err();
            let code = error.code().unwrap();
            assert!(["E0421", "E0422", "E0423"].contains(&code), "{name}, byte {at}: {error}");
            assert!(code == "E0421" || error.to_string().contains(&name), "{error}");
            file.write_all_at(&[*byte], at).unwrap();
        }
        // Without its last line break, `savepoint.json` says the same.
        for length in (0..whole.len() as u64 - 1).rev() {
            file.set_len(length).unwrap();
            let error = Reader::open(&folder).unwrap_err();
            assert_eq!(error.code(), Some("E0422"), "{name} cut to {length} bytes: {error}");
        }
        file.write_all_at(&whole, 0).unwrap();
        assert!(Reader::open(&folder).is_ok());
    }
    fs::remove_file(folder.join("dedup.entries")).unwrap();
    let error = Reader::open(&folder).unwrap_err();
    assert!(error.to_string().ends_with("is damaged: `dedup.entries`: it is missing"), "{error}");
}

#[test]
fn a_file_that_goes_on_for_ever_is_damage_after_the_length_it_should_have() {
    let (_root, folder) = written();
    let file = folder.join("dedup.entries");
    // Sparse: hashing all of it would take hours.
    fs::File::options().write(true).open(&file).unwrap().set_len(1 << 43).unwrap();
    let error = Reader::open(&folder).unwrap_err();
    assert!(matches!(&error, Error::Damaged { file, .. } if file == "dedup.entries"), "{error}");
    assert!(error.to_string().contains("more bytes than the"), "{error}");
}

#[test]
fn damage_after_the_check_is_noticed_too() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("sp");
    let large: Vec<Entry> = (0..8).map(|at| Entry::new(at, "key", &vec![7; BLOCK_BYTES])).collect();
    write(&folder, &large).unwrap();
    let reader = Reader::open(&folder).unwrap();
    let path = folder.join("dedup.entries");
    let mut bytes = fs::read(&path).unwrap();
    bytes[5 * BLOCK_BYTES] ^= 1;
    fs::write(&path, bytes).unwrap();
    let mut entries = reader.entries(&uid("dedup")).unwrap();
    let mut read = 0;
    let error = loop {
        match entries.next_entry() {
            Ok(Some(_)) => read += 1,
            Ok(None) => panic!("damage was read as entries"),
            Err(error) => break error,
        }
    };
    assert_eq!((error.code(), read), (Some("E0422"), 4));
}

#[test]
fn what_is_left_of_a_killed_writer_is_written_over_and_nothing_else() {
    let (_root, folder) = written();
    fs::remove_file(folder.join("savepoint.json")).unwrap();
    fs::write(folder.join("savepoint.json.part"), "{").unwrap();
    fs::write(folder.join("mine.txt"), "keep me").unwrap();
    assert_eq!(unfinished(&folder).unwrap(), None);
    assert_eq!(Writer::create(&folder, GROUPS).unwrap_err().code(), Some("E0424"));
    fs::remove_file(folder.join("mine.txt")).unwrap();
    assert_eq!(unfinished(&folder).unwrap().unwrap().len(), 3);
    write(&folder, &[]).unwrap();
    assert_eq!(unfinished(&folder).unwrap(), None);
    assert!(Reader::open(&folder).is_ok());
}

#[test]
fn a_newer_format_is_refused_by_its_number() {
    let (_root, folder) = written();
    let path = folder.join("savepoint.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"version\": 1,\n\"checksum\"", "\"version\": 9,\n\"checksum\"")).unwrap();
    let error = Reader::open(&folder).unwrap_err();
    assert_eq!(error.code(), Some("E0423"));
    assert!(error.to_string().ends_with("`savepoint.json` has version 9, expected at most 1"), "{error}");
    fs::write(&path, text).unwrap();
    let path = folder.join("dedup.entries");
    let mut bytes = fs::read(&path).unwrap();
    bytes[4..6].copy_from_slice(&(VERSION + 1).to_le_bytes());
    fs::write(&path, bytes).unwrap();
    assert_eq!(Reader::open(&folder).unwrap_err().code(), Some("E0423"));
}

#[test]
fn what_is_not_one_savepoint_is_not_written() {
    let root = tempfile::tempdir().unwrap();
    let begin = |name: &str| Writer::create(&root.path().join(name), GROUPS).unwrap();
    let mut writer = begin("order");
    let mut operator = writer.operator(&uid("dedup")).unwrap();
    operator.write(&Entry::new(u64::MAX, "last group", b"").borrowed()).unwrap();
    let error = operator.write(&Entry::new(0, "first group", b"").borrowed()).unwrap_err();
    assert!(error.to_string().contains("key group 0 after key group 127"), "{error}");

    let missing = begin("missing").finish(sample()).unwrap_err();
    assert!(missing.to_string().contains("`dedup` was not written"), "{missing}");

    let mut writer = begin("unknown");
    for name in ["dedup", "empty", "other"] {
        writer.operator(&uid(name)).unwrap().finish().unwrap();
    }
    assert!(writer.operator(&uid("other")).is_err(), "written twice");
    let unknown = writer.finish(sample()).unwrap_err();
    assert!(unknown.to_string().contains("lacks operator `other`"), "{unknown}");

    let stray = Entry { state: 7, ..Entry::new(0, "key", b"") };
    let undeclared = write(&root.path().join("undeclared"), &[stray]).unwrap_err();
    assert!(undeclared.to_string().contains("entries of state 7"), "{undeclared}");
    assert!(!root.path().join("undeclared/savepoint.json").exists());
}

#[test]
fn a_table_of_blocks_that_lies_is_damage_and_costs_no_memory() {
    let (_root, folder) = written();
    let path = folder.join("dedup.entries");
    let whole = fs::read(&path).unwrap();
    for (at, bytes) in [(6, u32::MAX.to_le_bytes()), (6, 1_u32.to_le_bytes()), (6, 0_u32.to_le_bytes())] {
        let mut lying = whole.clone();
        lying[at..at + 4].copy_from_slice(&bytes);
        fs::write(&path, &lying).unwrap();
        // The metadata agrees with the file.
        let mut metadata = inspect(Path::new(SAMPLE_V1)).unwrap();
        metadata.operators.get_mut(&uid("dedup")).unwrap().entries.checksum = xxh3_64(&lying);
        fs::write(folder.join("savepoint.json"), super::metadata::encode(&metadata)).unwrap();
        assert_eq!(read(&folder, "dedup").unwrap_err().code(), Some("E0422"), "{bytes:?}");
    }
}

prop_compose! {
    fn any_entry()(
        state in 1_u16..3,
        hash in any::<u64>(),
        key in prop::collection::vec(any::<u8>(), 0..40),
        entry_key in prop::option::of(prop::collection::vec(any::<u8>(), 0..10)),
        value in prop::collection::vec(any::<u8>(), 0..3000),
        written_millis in any::<i64>(),
    ) -> Entry {
        Entry { state, hash, key, entry_key, value, written_millis }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn any_entries_by_rising_key_group_come_back_in_order(
        mut entries in prop::collection::vec(any_entry(), 0..400),
    ) {
        entries.sort_by_key(|it| KeyGroup::of_hash(it.hash, GROUPS));
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("sp");
        let metadata = write(&folder, &entries).unwrap();
        prop_assert_eq!(metadata.operators[&uid("dedup")].entries.entries, entries.len() as u64);
        prop_assert_eq!(read(&folder, "dedup").unwrap(), entries);
    }

    #[test]
    fn any_body_of_a_file_of_entries_is_entries_or_damage(body in prop::collection::vec(prop_oneof![Just(0_u8), any::<u8>()], 0..120)) {
        let (_root, folder) = written();
        // One block of any bytes, in a file that fits its metadata.
        let mut bytes = super::entries::head().to_vec();
        bytes.extend_from_slice(&u32::try_from(body.len()).unwrap().to_le_bytes());
        bytes.extend_from_slice(&body);
        bytes.extend_from_slice(&xxh3_64(&body).to_le_bytes());
        bytes.extend_from_slice(&[0; 4 + 8 + 8]);
        fs::write(folder.join("dedup.entries"), &bytes).unwrap();
        let mut metadata = inspect(Path::new(SAMPLE_V1)).unwrap();
        let entries = &mut metadata.operators.get_mut(&uid("dedup")).unwrap().entries;
        (entries.length_bytes, entries.checksum) = (bytes.len() as u64, xxh3_64(&bytes));
        fs::write(folder.join("savepoint.json"), super::metadata::encode(&metadata)).unwrap();
        prop_assert_eq!(read(&folder, "dedup").unwrap_err().code(), Some("E0422"));
    }

    #[test]
    fn any_text_is_metadata_or_refused(text in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(super::metadata::decode(Path::new("sp"), &text).is_err());
    }
}
