//! Who may import whom.
//!
//! ```text
//! L5  tidegate
//! L4  api
//! L3  runtime │ state │ guest │ connectors │ checkpoint │ toolchain
//! L2  contract
//! L1  protocol │ format
//! L0  model
//! ```
//! A room imports only rooms of lower levels, and rooms of one level do not import each other. Of level
//! 3, `api` sees `runtime` alone.

use crate::manifest::Manifest;

/// A room and what it must not import from outside.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Its package name.
    pub name: &'static str,
    /// Its folder.
    pub folder: &'static str,
    /// The rooms it may import.
    pub may: &'static [&'static str],
    /// Rooms that only its tests may import, besides those of `may`.
    pub tests_may: &'static [&'static str],
    /// Crates from outside that it must never depend on.
    pub never: &'static [&'static str],
}

/// What does I/O, waits, or is a system of its own.
const ENGINES: &[&str] = &["wasmtime", "rocksdb", "rdkafka", "object_store", "axum", "tokio"];
const PURE: &[&str] =
    &["wasmtime", "rocksdb", "rdkafka", "object_store", "axum", "tokio", "futures", "rand", "tempfile", "rustix"];
const NO_PEER: &[&str] = &["model", "protocol", "format", "contract"];

/// The rooms.
pub const ROOMS: &[Room] = &[
    room("model", "host/model", &[], PURE),
    room("protocol", "host/protocol", &["model"], PURE),
    room("format", "host/format", &["model"], PURE),
    room("contract", "host/contract", &["model", "protocol", "format"], PURE),
    room("runtime", "host/runtime", NO_PEER, &["wasmtime", "rocksdb", "rdkafka", "object_store", "axum"]),
    room("state", "host/state", NO_PEER, &["wasmtime", "rdkafka", "object_store", "axum", "tokio"]),
    // Its tests run guests, and those are built by `toolchain`.
    tested_with(
        room("guest", "host/guest", NO_PEER, &["rocksdb", "rdkafka", "object_store", "axum", "tokio"]),
        &["toolchain"],
    ),
    room("connectors", "host/connectors", NO_PEER, &["rocksdb", "wasmtime", "axum"]),
    room("checkpoint", "host/checkpoint", NO_PEER, &["rocksdb", "wasmtime", "rdkafka", "axum"]),
    room("toolchain", "host/toolchain", NO_PEER, ENGINES),
    room(
        "api",
        "host/api",
        &["model", "protocol", "format", "contract", "runtime"],
        &["rocksdb", "wasmtime", "rdkafka", "object_store"],
    ),
    room(
        "tidegate",
        "host/tidegate",
        &[
            "model",
            "protocol",
            "format",
            "contract",
            "runtime",
            "state",
            "guest",
            "connectors",
            "checkpoint",
            "toolchain",
            "api",
        ],
        &["wasmtime", "rocksdb", "rdkafka", "object_store", "axum"],
    ),
    room("tidegate-guest", "guest-sdk", &["tidegate-guest-macros"], ENGINES),
    room("tidegate-guest-macros", "guest-sdk/macros", &[], ENGINES),
    room(
        "it",
        "tests/it",
        &[
            "model",
            "protocol",
            "format",
            "contract",
            "runtime",
            "state",
            "guest",
            "connectors",
            "checkpoint",
            "toolchain",
            "api",
            "tidegate",
        ],
        &["wasmtime", "rocksdb", "rdkafka"],
    ),
    room("sim", "tests/sim", &["model", "protocol", "contract"], PURE),
    room("tidy", "tests/tidy", &[], ENGINES),
    room(
        "bench",
        "bench",
        &[
            "model",
            "protocol",
            "format",
            "contract",
            "runtime",
            "state",
            "checkpoint",
            "guest",
            "connectors",
            "toolchain",
        ],
        &["rocksdb", "rdkafka", "axum"],
    ),
    room("xtask", "xtask", &["toolchain"], ENGINES),
];

const fn room(
    name: &'static str,
    folder: &'static str,
    may: &'static [&'static str],
    never: &'static [&'static str],
) -> Room {
    Room { name, folder, may, tests_may: &[], never }
}

/// A room whose tests need what another room makes.
const fn tested_with(room: Room, tests_may: &'static [&'static str]) -> Room {
    Room { tests_may, ..room }
}

/// Edges that are not drawn, crates that are banned, rooms that are missing or not in the table.
/// `manifests` are those of the workspace's members, with their folders.
#[must_use]
pub fn check(rooms: &[Room], manifests: &[(String, Manifest)]) -> Vec<String> {
    let mut violations = Vec::new();
    for (folder, manifest) in manifests {
        let Some(room) = rooms.iter().find(|room| room.folder == folder && room.name == manifest.name) else {
            violations.push(format!(
                "{folder}: package `{}` is not in the table of rooms; add it to tests/tidy/src/edges.rs and ARCHITECTURE.md",
                manifest.name
            ));
            continue;
        };
        for dependency in &manifest.dependencies {
            let is_room = rooms.iter().any(|other| other.name == dependency);
            let for_tests = manifest.for_tests.contains(dependency);
            let drawn =
                room.may.contains(&dependency.as_str()) || (for_tests && room.tests_may.contains(&dependency.as_str()));
            if is_room && !drawn {
                violations.push(format!("{folder}: room `{}` must not import room `{dependency}`", room.name));
            }
            if room.never.contains(&dependency.as_str()) {
                violations.push(format!("{folder}: room `{}` must never depend on `{dependency}`", room.name));
            }
        }
        if !manifest.has_workspace_lints {
            violations.push(format!("{folder}: expected `[lints] workspace = true`"));
        }
    }
    for room in rooms {
        if !manifests.iter().any(|(folder, _)| folder == room.folder) {
            violations.push(format!("{}: room `{}` of the table is missing", room.folder, room.name));
        }
    }
    violations
}
