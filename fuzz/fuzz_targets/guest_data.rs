//! Whatever a guest passes through any argument of its imports, or returns, is refused or keeps what the
//! rooms behind rely on: `cargo +nightly fuzz run guest_data`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| guest::fuzzing::check_anything(data));
