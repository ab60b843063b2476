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
wit-bindgen = { version = "=0.60.0", default-features = false, features = ["macros", "realloc"] }

[workspace]
"#;

const SOURCE: &str = r#"
wit_bindgen::generate!({ path: "wit", world: "operator" });
use exports::tidegate::flow::function::*;
struct Fixture;
impl Guest for Fixture {
    fn describe() -> Descriptor {
        Descriptor {
            inputs: vec![], outputs: vec![], states: vec![], keyed: false, wants_values: false,
            wants_headers: false, assigns: false, metrics: vec![],
        }
    }
    fn open(_: Task) -> Result<(), String> { Ok(()) }
    fn assign(_: OptionalColumn) -> Result<(OptionalColumn, Vec<i64>), BadRecord> { unreachable!() }
    fn process(_: InputBatch) -> Result<(), BadRecord> { Ok(()) }
    fn migrate(_: u16, _: u32, values: Column) -> Result<Column, String> { Ok(values) }
}
export!(Fixture);
"#;

/// A crate with the versions that this workspace locks, so that nothing new is resolved. Fixtures share
/// a target folder, so each has its own `name`.
fn fixture(name: &str, source: &str, wit: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::create_dir_all(folder.path().join("src")).unwrap();
    fs::create_dir_all(folder.path().join("wit")).unwrap();
    fs::write(folder.path().join("Cargo.toml"), MANIFEST.replace("NAME", name)).unwrap();
    fs::write(folder.path().join("src/lib.rs"), source).unwrap();
    fs::write(folder.path().join("wit/world.wit"), wit).unwrap();
    fs::copy(root.join("Cargo.lock"), folder.path().join("Cargo.lock")).unwrap();
    folder
}

fn flow_wit() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit/flow.wit")).unwrap()
}

/// Where the dependencies of the fixtures are compiled once for all tests.
fn target_dir() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("fixtures")
}

fn options() -> BuildOptions {
    BuildOptions { target_dir: Some(target_dir()), quiet: true, ..BuildOptions::default() }
}

fn check_is_ours(guest: &Guest) {
    let decoded = wit_component::decode(&guest.component).unwrap();
    let resolve = decoded.resolve();
    let (_, world) = resolve.worlds.iter().next().unwrap();
    let exports: Vec<_> = world.exports.keys().map(|key| resolve.name_world_key(key)).collect();
    assert_eq!(exports, ["tidegate:flow/function@0.1.0"]);
    for import in world.imports.keys().map(|key| resolve.name_world_key(key)) {
        assert!(import.starts_with("tidegate:flow/"), "foreign import {import}");
    }
}

#[test]
fn a_guest_becomes_a_component_of_our_world() {
    let folder = fixture("straight", SOURCE, &flow_wit());
    let guest = build_guest(folder.path(), &options()).unwrap();
    assert_eq!(guest.package, "straight");
    assert!(guest.core_wasm_path.is_file());
    check_is_ours(&guest);
    let by_manifest = build_guest(&folder.path().join("Cargo.toml"), &options()).unwrap();
    assert_eq!(by_manifest.component, guest.component);
}

#[test]
fn every_way_open_on_this_machine_builds_a_guest() {
    let folder = fixture("ways", SOURCE, &flow_wit());
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
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(fs::read_dir(stray.path()).unwrap().count(), 0);
}

#[test]
fn a_guest_of_another_world_is_told_which_one_is_expected() {
    let wit = "package other:thing@1.0.0;\nworld operator { export run: func() -> u32; }\n";
    let source = "wit_bindgen::generate!({ path: \"wit\" });\nstruct F;\nimpl Guest for F { fn run() -> u32 { 1 } }\nexport!(F);\n";
    let error = build_guest(fixture("foreign-world", source, wit).path(), &options()).unwrap_err();
    assert_eq!(error.code(), "E0256");
    assert!(error.to_string().contains("tidegate:flow/operator@0.1.0"), "{error}");
}

#[test]
fn a_cdylib_without_world_is_told_what_to_add() {
    let source = "#[unsafe(no_mangle)] pub extern \"C\" fn run() -> u32 { 1 }";
    let error = build_guest(fixture("bare", source, &flow_wit()).path(), &options()).unwrap_err();
    assert_eq!(error.code(), "E0255");
}

#[test]
fn a_guest_that_imports_what_no_world_offers_is_refused_by_name() {
    let foreign = "#[link(wasm_import_module = \"env\")] unsafe extern \"C\" { fn steal() -> i32; }\n";
    let source = SOURCE.replace("Ok(values)", "if unsafe { steal() } == 0 { Ok(values) } else { Err(String::new()) }");
    let error = build_guest(fixture("foreign-import", &format!("{foreign}{source}"), &flow_wit()).path(), &options())
        .unwrap_err();
    assert_eq!(error.code(), "E0257");
    assert!(error.to_string().contains("steal"), "{error}");
}
