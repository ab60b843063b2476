//! The sandboxed functions of the cases: their crates, built to components.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use toolchain::{BuildOptions, build_guest};

/// Every function and its crate, from the root of the repository.
const GUESTS: &[(&str, &str)] = &[
    ("pass", "bench/guests/pass"),
    ("map-binary", "bench/guests/map-binary"),
    ("filter-binary", "bench/guests/filter-binary"),
    ("filter-json", "bench/guests/filter-json"),
    ("map-json", "bench/guests/map-json"),
    ("trap", "bench/guests/trap"),
    ("dedup", "examples/dedup/guest"),
    ("split", "bench/guests/split"),
    ("count", "examples/word-count/guest/count"),
];

/// Where the component of `name` is kept.
pub(crate) fn component_path(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.wasm"))
}

/// Builds every component into `directory`.
///
/// # Errors
/// When a crate does not build.
pub(crate) fn build(directory: &Path) -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the crate stands in the repository")?;
    let options = BuildOptions { target_dir: Some(directory.join("guests")), quiet: true, ..BuildOptions::default() };
    for (name, path) in GUESTS {
        let guest = build_guest(&root.join(path), &options).with_context(|| format!("build {path}"))?;
        fs::write(component_path(directory, name), guest.component)?;
    }
    Ok(())
}
