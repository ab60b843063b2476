//! A new crate passes its own test and becomes a component.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use toolchain::{BuildOptions, SdkSource, Template, build_guest, cargo, new_crate};

fn check(name: &str, template: Template) {
    let parent = tempfile::tempdir().expect("a temporary folder can be made");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let sdk = SdkSource::Path(root.join("guest-sdk").canonicalize().expect("the repository has its SDK"));
    let folder = new_crate(parent.path(), name, template, &sdk).expect("the folder is new");
    // The versions that this workspace locks, so that nothing new is resolved.
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).expect("the lock can be copied");
    let target_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("templates");

    let mut tests = cargo();
    tests.arg("test").arg("--target-dir").arg(&target_dir).current_dir(&folder).stdin(Stdio::null());
    let output = tests.output().expect("cargo runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("test result: ok. 1 passed"), "{said}");

    let options = BuildOptions { target_dir: Some(target_dir), quiet: true, ..BuildOptions::default() };
    let guest = build_guest(&folder, &options).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(guest.package, name);
}

#[test]
fn a_new_dedup_builds_and_passes_its_test() {
    check("fresh-dedup", Template::Dedup);
}

#[test]
fn a_new_map_builds_and_passes_its_test() {
    check("fresh-map", Template::Map);
}
