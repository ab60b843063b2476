//! Any bytes given as a module are told for what they are, without a panic:
//! `cargo +nightly fuzz run module_file`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    // Bytes that happen to be a component of our world pass.
    guest::inspect::inspect(data).ok();
    let component = [b"\0asm\x0d\0\x01\0", data].concat();
    guest::inspect::inspect(&component).ok();
});
