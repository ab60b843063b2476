//! Any bytes are a JSON document for us exactly when they are one for `serde_json`, with the same values:
//! `cargo +nightly fuzz run json_scan`. Line feeds separate documents, which one decoder reads in a batch.
#![no_main]

#[path = "../../host/format/tests/oracle/mod.rs"]
mod oracle;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let documents: Vec<&[u8]> = data.split(|&byte| byte == b'\n').take(8).collect();
    oracle::compare(&documents);
    oracle::compare(&[data]);
});
