//! What a machine needs to compile the C++ of RocksDB: a compiler, and libclang for the bindings.
//!
//! Only the whole product needs it: the demo and `--lean` do without.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::setup;
use crate::shell::has;
use crate::stages::Outcome;

/// Rooms with features of the product that are not on by themselves; in `tidegate`, and so in a build of all, they are.
const FEATURES: [(&str, &str); 2] = [("state", "rocksdb"), ("checkpoint", "s3")];

/// Debian's packages for it.
const PACKAGES: [&str; 2] = ["g++", "libclang-dev"];

/// What to pass to cargo so that `packages` are built as in the whole product, or without what is lean to leave out;
/// no packages: the whole workspace.
pub(crate) fn features_of(packages: &[String], lean: bool) -> Vec<String> {
    if lean {
        return vec!["--no-default-features".to_owned()];
    }
    let chosen = FEATURES.iter().filter(|(name, _)| packages.iter().any(|package| package == name));
    let chosen: Vec<String> = chosen.map(|(name, feature)| format!("{name}/{feature}")).collect();
    if chosen.is_empty() { Vec::new() } else { vec!["--features".to_owned(), chosen.join(",")] }
}

/// Whether C++ is compiled for the tests of `packages`.
pub(crate) fn is_needed(packages: &[String], lean: bool) -> bool {
    !lean && (packages.is_empty() || packages.iter().any(|name| name == "state" || name == "tidegate"))
}

/// Makes sure that RocksDB can be compiled; says what it found.
pub(crate) fn stage() -> Result<Outcome> {
    let missing = missing();
    if missing.is_empty() {
        return Ok(Outcome::Done("nothing to install: a C++ compiler and libclang are there".to_owned()));
    }
    let packages = PACKAGES.join(" ");
    let without = "or leave RocksDB out: `cargo xtask test --lean`";
    if !has("apt-get") {
        bail!("missing for RocksDB: {}; install a C++ compiler and libclang, {without}", missing.join(" and "));
    }
    if !setup::is_root() {
        bail!("missing for RocksDB: {}; run `apt-get install {packages}` as root, {without}", missing.join(" and "));
    }
    println!("missing for RocksDB: {}; installing {packages} with apt-get", missing.join(" and "));
    setup::apt_install(&PACKAGES).context("install what RocksDB is compiled with")?;
    Ok(Outcome::Done(format!("installed {packages}")))
}

fn missing() -> Vec<&'static str> {
    let mut missing = Vec::new();
    if !["c++", "g++", "clang++"].iter().any(has) {
        missing.push("a C++ compiler");
    }
    if !places().iter().any(|place| holds_libclang(place)) {
        missing.push("libclang");
    }
    missing
}

/// Where the bindings' generator looks for libclang on Linux, and what it is told to look at.
fn places() -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> = std::env::var_os("LIBCLANG_PATH").map(PathBuf::from).into_iter().collect();
    let mut config = Command::new("llvm-config");
    if let Ok(output) = config.arg("--libdir").stdin(Stdio::null()).output() {
        places.push(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
    }
    for above in ["/usr/lib", "/usr/lib64", "/usr/local/lib"] {
        places.push(PathBuf::from(above));
        let entries = std::fs::read_dir(above).into_iter().flatten().flatten();
        for place in entries.map(|entry| entry.path()).filter(|path| path.is_dir()) {
            places.push(place.join("lib"));
            places.push(place);
        }
    }
    places
}

fn holds_libclang(place: &Path) -> bool {
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).any(|name| is_libclang(&name))
}

/// `libclang.so`, `libclang-14.so.1`, and no `libclang-cpp.so`.
fn is_libclang(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("libclang").map(|rest| rest.strip_prefix('-').unwrap_or(rest)) else {
        return false;
    };
    rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').starts_with("so")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_is_tested_with_its_own_features_and_the_workspace_with_all() {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let of = |some: &[&str]| features_of(&names(some), false);
        assert!(of(&[]).is_empty(), "they are the defaults of the binary");
        assert_eq!(of(&["model", "state"]), ["--features", "state/rocksdb"]);
        assert_eq!(of(&["state", "checkpoint"]), ["--features", "state/rocksdb,checkpoint/s3"]);
        assert!(of(&["model"]).is_empty());
        assert_eq!(features_of(&names(&["state"]), true), ["--no-default-features"]);
        let needed = |some: &[&str]| is_needed(&names(some), false);
        assert!(needed(&[]) && needed(&["state"]) && needed(&["tidegate"]) && !needed(&["model", "checkpoint"]));
        assert!(!is_needed(&[], true));
    }

    #[test]
    fn the_library_that_reads_headers_is_told_from_its_neighbours() {
        assert!(
            ["libclang.so", "libclang-14.so.1", "libclang-14.so.14.0.6", "libclang.so.14"].into_iter().all(is_libclang)
        );
        assert!(!["libclang-cpp.so.14", "libclangAST.a", "libc.so", "libclang"].into_iter().any(is_libclang));
    }
}
