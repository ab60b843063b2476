//! Any bytes given as a record of the log are a record or told for what they are, without a panic; a record is written
//! back as it was read: `cargo +nightly fuzz run manifest fuzz/corpus/manifest fuzz/seeds/manifest`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use protocol::manifest::{decode, encode};

fuzz_target!(|data: &[u8]| {
    let Ok(record) = decode(data) else { return };
    let written = encode(&record);
    let again = decode(&written).expect("what was written can be read");
    assert_eq!(again, record, "a record changes when it is written");
    assert_eq!(encode(&again), written);
});
