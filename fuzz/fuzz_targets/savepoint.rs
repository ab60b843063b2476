//! Any bytes given as the metadata or the entries of a savepoint, with every checksum as it should be, are read or
//! refused, without a panic and in bounded memory:
//! `cargo +nightly fuzz run savepoint fuzz/corpus/savepoint fuzz/seeds/savepoint`.
#![no_main]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use checkpoint::savepoint::{Reader, inspect};
use libfuzzer_sys::fuzz_target;
use model::OperatorUid;
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

const SAMPLE: &str = include_str!("../../host/checkpoint/samples/savepoint-v1/savepoint.json");

/// A folder of this process, in memory where the system has such.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let folder = parent.join(format!("tidegate-fuzz-savepoint-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder can be made");
    folder
});

/// Writes metadata whose text is `savepoint`.
fn write_metadata(savepoint: &str) {
    let checksum = format!("{:016x}", xxh3_64(savepoint.as_bytes()));
    let text = format!(
        "{{\"format\":\"tidegate-savepoint\",\"version\":1,\"checksum\":\"{checksum}\",\"savepoint\":{savepoint}}}"
    );
    fs::write(FOLDER.join("savepoint.json"), text).expect("a file can be written");
}

fn metadata(text: &str) {
    write_metadata(text);
    if inspect(&FOLDER).is_ok() {
        // Files that it lists are not there, or are others.
        drop(Reader::open(&FOLDER));
    }
}

/// One block of entries, with its frame.
fn entries(block: &[u8], count: u8) {
    let mut file = b"TGSE\x01\0".to_vec();
    file.extend(u32::try_from(block.len()).expect("a small block").to_le_bytes());
    file.extend(block);
    file.extend(xxh3_64(block).to_le_bytes());
    file.extend(0_u32.to_le_bytes());
    file.extend(u64::from(count).to_le_bytes());
    file.extend(xxh3_64(&file).to_le_bytes());
    fs::write(FOLDER.join("dedup.entries"), &file).expect("a file can be written");
    let mut sample: Value = serde_json::from_str(SAMPLE).expect("the sample is JSON");
    let savepoint = &mut sample["savepoint"];
    savepoint["operators"].as_object_mut().expect("operators").remove("empty");
    let checksum = format!("{:016x}", xxh3_64(&file));
    savepoint["operators"]["dedup"]["entries"] =
        json!({ "file": "dedup.entries", "entries": count, "length_bytes": file.len(), "checksum": checksum });
    write_metadata(&savepoint.to_string());
    let reader = Reader::open(&FOLDER).expect("every checksum is as it should be");
    let operator = OperatorUid::new("dedup").expect("a name");
    let mut entries = reader.entries(&operator).expect("the file is there");
    let mut read = 0_u64;
    while let Ok(Some(_)) = entries.next_entry() {
        read += 1;
        assert!(read <= block.len() as u64, "an entry takes more than nothing");
    }
}

fuzz_target!(|data: &[u8]| {
    match data {
        [b'm', text @ ..] => drop(std::str::from_utf8(text).map(metadata)),
        [b'e', count, block @ ..] => entries(block, *count),
        _ => {}
    }
});
