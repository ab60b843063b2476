//! A cargo that does not know of the cargo it is called from.

use std::ffi::OsStr;
use std::process::Command;

/// What a person sets for cargo on their machine: where it keeps things and how it reaches registries.
const KEPT_PREFIXES: [&str; 5] = ["CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTR", "CARGO_SOURCE_", "CARGO_TERM_"];
const KEPT: [&str; 2] = ["CARGO_HOME", "CARGO_BUILD_JOBS"];

/// What an outer cargo, or the shell it was called from, says to compilers and build scripts.
const DROPPED_PREFIXES: [&str; 4] = ["CARGO_", "__CARGO", "DEP_", "CLIPPY_"];
const DROPPED: [&str; 18] = [
    "CARGO",
    "DEBUG",
    "HOST",
    "MAKEFLAGS",
    "MFLAGS",
    "NUM_JOBS",
    "OPT_LEVEL",
    "OUT_DIR",
    "PROFILE",
    "RUSTC",
    "RUSTC_BOOTSTRAP",
    "RUSTC_LINKER",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "RUSTDOC",
    "RUSTDOCFLAGS",
    "RUSTFLAGS",
    "TARGET",
];

/// The cargo found on the path, free of the environment of an outer cargo.
#[must_use]
pub fn cargo() -> Command {
    let mut command = Command::new("cargo");
    clean(&mut command);
    command
}

/// Takes everything out of the environment of `command` that an outer cargo put there, or that would
/// change what an inner one builds.
pub fn clean(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if leaks(&name) {
            command.env_remove(name);
        }
    }
}

pub(crate) fn leaks(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let starts_with = |prefix: &&str| name.starts_with(*prefix);
    if KEPT.contains(&name) || KEPT_PREFIXES.iter().any(starts_with) {
        return false;
    }
    DROPPED.contains(&name) || DROPPED_PREFIXES.iter().any(starts_with)
}
