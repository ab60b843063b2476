//! Files that are not modules, each told for what it is.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "tests")]

#[path = "behaviour/kit.rs"]
mod kit;

use guest::inspect::inspect;
use guest::{Compiler, Sandbox, SandboxOptions, caps};
use kit::{check_error, component, core_module};
use proptest::prelude::*;

fn check(bytes: &[u8], code: &str, parts: &[&str]) {
    check_error(&inspect(bytes).unwrap_err(), code, parts);
}

#[test]
fn an_empty_file_is_said_to_be_empty() {
    check(b"", "E0201", &["empty"]);
}

#[test]
fn text_is_said_to_be_text() {
    check(b"name: orders\nsources: {}\n", "E0202", &["is text"]);
    check("fn main() { println!(\"gr\u{fc}n\") }".as_bytes(), "E0202", &["is text"]);
    check(b"<!DOCTYPE html><title>404</title>", "E0202", &["is text"]);
}

#[test]
fn webassembly_as_text_is_said_to_be_that() {
    check(b"(component)", "E0202", &["WebAssembly as text"]);
    check(b"\xef\xbb\xbf\n  (module (func))", "E0202", &["WebAssembly as text"]);
    check(b";; a comment\n(module)", "E0202", &["WebAssembly as text"]);
}

#[test]
fn archives_and_noise_are_told_apart() {
    check(b"PK\x03\x04rest", "E0202", &["archive"]);
    check(b"\x1f\x8b\x08\0rest", "E0202", &["archive"]);
    check(b"\x28\xb5\x2f\xfdrest", "E0202", &["archive"]);
    check(&[0xff; 64], "E0202", &["no kind we know"]);
    check(&[0; 64], "E0202", &["no kind we know"]);
}

#[test]
fn webassembly_of_another_binary_version_is_said_to_be_that() {
    check(b"\0asm\x07\0\0\0", "E0202", &["unknown binary version"]);
    check(b"\0asm", "E0202", &["unknown binary version"]);
}

#[test]
fn a_core_module_is_told_how_to_become_a_component() {
    check(&core_module("echo"), "E0203", &["core module", "tidegate build"]);
    check(b"\0asm\x01\0\0\0", "E0203", &["core module"]);
}

#[test]
fn precompiled_code_is_refused_whoever_compiled_it() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("compiled");
    let compiler = Compiler::in_process().with_cache(&cache).unwrap();
    let sandbox = Sandbox::new(&SandboxOptions { max_instances: 1, ..SandboxOptions::default() }, compiler).unwrap();
    sandbox.load(&component("echo")).unwrap();
    let file = std::fs::read_dir(&cache).unwrap().next().unwrap().unwrap().path();
    let cached = std::fs::read(file).unwrap();
    check(&cached[48..], "E0204", &["a component that wasmtime compiled"]);
    check_error(&sandbox.load(&cached[48..]).unwrap_err(), "E0204", &[]);
    check(&cached, "E0202", &[]);
    check(&std::fs::read(std::env::current_exe().unwrap()).unwrap()[..4096], "E0204", &["native program"]);
}

#[test]
fn a_file_beyond_the_cap_is_refused_unread() {
    check(&vec![0; caps::MODULE_BYTES + 1], "E0205", &["67108865 bytes", "67108864"]);
}

#[test]
fn a_component_cut_anywhere_is_refused_and_not_panicked_over() {
    let whole = component("echo");
    for end in (8..whole.len()).step_by(997) {
        assert!(inspect(&whole[..end]).is_err(), "cut at {end}");
    }
}

#[test]
fn a_component_without_anything_is_told_what_it_lacks() {
    check(b"\0asm\x0d\0\x01\0", "E0207", &["tidegate:flow/function@0.1.0", "exports nothing"]);
}

#[test]
fn a_function_shows_what_it_imports_and_exports() {
    let surface = inspect(&component("dedup")).unwrap();
    assert!(surface.imports.contains(&"tidegate:flow/state@0.1.0".to_owned()), "{surface:?}");
    assert!(surface.imports.contains(&"tidegate:flow/types@0.1.0".to_owned()), "types hold no functions");
    assert_eq!(surface.exports, ["tidegate:flow/function@0.1.0"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn bytes_changed_at_random_never_panic(changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..20)) {
        let mut bytes = component("echo");
        let length = bytes.len();
        for (at, byte) in changes {
            bytes[at % length] = byte;
        }
        // Most are refused; a change in code passes here and meets the compiler.
        inspect(&bytes).ok();
    }

    #[test]
    fn any_bytes_at_all_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        inspect(&bytes).unwrap_err();
        inspect(&[b"\0asm\x0d\0\x01\0", bytes.as_slice()].concat()).ok();
    }
}
