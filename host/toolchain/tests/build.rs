//! Real builds of a small guest, with whatever this machine offers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use toolchain::{BuildOptions, Facts, Guest, Preference, build_guest, decide};

const MANIFEST: &str = r#"
[package]
name = "NAME"
edition = "2024"
publish = false

[lib]
crate-type = ["cdylib"]

[dependencies]
wit-bindgen = { version = "0.60.0", default-features = false, features = ["realloc"] }

[workspace]
"#;

/// A guest on the bare bindings: nothing of the SDK but what is generated from the contract.
const SOURCE: &str = r#"
extern crate self as tidegate;
pub mod bindings {
    mod generated;
    pub use generated::{export_operator, exports};
    pub use wit_bindgen::rt;
}
use bindings::exports::tidegate::flow::function::*;
struct Fixture;
impl Guest for Fixture {
    fn describe() -> Descriptor {
        Descriptor {
            inputs: vec![], outputs: vec![], states: vec![], keyed: false, wants_values: false,
            wants_headers: false, assigns: false, timers: false, metrics: vec![],
        }
    }
    fn open(_: Task) -> Result<(), String> { Ok(()) }
    fn assign(_: OptionalColumn) -> Result<(OptionalColumn, Vec<i64>), BadRecord> { unreachable!() }
    fn process(_: InputBatch) -> Result<(), BadRecord> { Ok(()) }
    fn migrate(_: u16, _: u32, values: Column) -> Result<Column, String> { Ok(values) }
}
bindings::export_operator!(Fixture with_types_in bindings);
"#;

/// A crate with the versions that this workspace locks, so that nothing new is resolved. Fixtures share
/// a target folder, so each has its own `name`.
fn fixture(name: &str, source: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let write = |file: &str, text: &str| {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folders can be made");
        fs::write(path, text).expect("files can be written");
    };
    let read = |file: &str| fs::read_to_string(root.join(file)).expect("the repository is whole");
    write("Cargo.toml", &MANIFEST.replace("NAME", name));
    write("Cargo.lock", &read("Cargo.lock"));
    write("src/lib.rs", source);
    write("src/bindings/generated.rs", &read("guest-sdk/src/bindings/generated.rs"));
    folder
}

/// Where the dependencies of the fixtures are compiled once for all tests.
fn target_dir() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("fixtures")
}

fn options() -> BuildOptions {
    BuildOptions { target_dir: Some(target_dir()), quiet: true, ..BuildOptions::default() }
}

fn check_is_ours(guest: &Guest) {
    let decoded = wit_component::decode(&guest.component).expect("a component was built");
    let resolve = decoded.resolve();
    let (_, world) = resolve.worlds.iter().next().expect("a component has a world");
    let exports: Vec<_> = world.exports.keys().map(|key| resolve.name_world_key(key)).collect();
    assert_eq!(exports, ["tidegate:flow/function@0.1.0"]);
    for import in world.imports.keys().map(|key| resolve.name_world_key(key)) {
        assert!(import.starts_with("tidegate:flow/"), "foreign import {import}");
    }
}

#[test]
fn a_guest_becomes_a_component_of_our_world() {
    let folder = fixture("straight", SOURCE);
    let guest = build_guest(folder.path(), &options()).unwrap();
    assert_eq!(guest.package, "straight");
    assert!(guest.core_wasm_path.is_file());
    check_is_ours(&guest);
    let by_manifest = build_guest(&folder.path().join("Cargo.toml"), &options()).unwrap();
    assert!(by_manifest.component == guest.component, "the same crate gave another component");
}

#[test]
fn every_way_open_on_this_machine_builds_a_guest() {
    let folder = fixture("ways", SOURCE);
    let facts = Facts::probe(folder.path());
    let ways: Vec<_> =
        [Preference::Shipped, Preference::Source].into_iter().filter_map(|way| decide(&facts, way).ok()).collect();
    assert!(!ways.is_empty(), "no way to build guests: {:?}", decide(&facts, Preference::Any));
    for way in ways {
        let guest = build_guest(folder.path(), &BuildOptions { toolchain: Some(way.clone()), ..options() }).unwrap();
        assert_eq!(guest.toolchain, way);
        check_is_ours(&guest);
    }
}

/// Runs another test of this file in a child whose environment would break any build it reached.
#[test]
fn the_environment_of_an_outer_cargo_does_not_reach_the_build() {
    let stray = tempfile::tempdir().unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_guest_becomes_a_component_of_our_world"])
        .env("RUSTFLAGS", "--no-such-flag")
        .env("CARGO_ENCODED_RUSTFLAGS", "--no-such-flag")
        .env("RUSTC_WRAPPER", "/no/such/wrapper")
        .env("RUSTC_WORKSPACE_WRAPPER", "/no/such/wrapper")
        .env("CARGO_BUILD_TARGET", "no-such-target")
        .env("CARGO_TARGET_DIR", stray.path())
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "nonsense")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    assert_eq!(fs::read_dir(stray.path()).unwrap().count(), 0);
}

#[test]
fn a_cdylib_that_binds_nothing_is_told_what_to_add() {
    let source = "#[unsafe(no_mangle)] pub extern \"C\" fn run() -> u32 { 1 }";
    let error = build_guest(fixture("bare", source).path(), &options()).unwrap_err();
    assert_eq!(error.code(), "E0255");
}

#[test]
fn a_guest_that_imports_what_no_world_offers_is_refused_by_name() {
    let foreign = "#[link(wasm_import_module = \"env\")] unsafe extern \"C\" { fn steal() -> i32; }\n";
    let steals = SOURCE.replace("Ok(values)", "if unsafe { steal() } == 0 { Ok(values) } else { Err(String::new()) }");
    let source = steals.replacen("\nstruct Fixture;", &format!("\n{foreign}struct Fixture;"), 1);
    let error = build_guest(fixture("foreign-import", &source).path(), &options()).unwrap_err();
    assert_eq!(error.code(), "E0257");
    assert!(error.to_string().contains("steal"), "{error}");
}
