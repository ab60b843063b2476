//! The rules, applied to this repository.

use std::path::Path;
use std::sync::LazyLock;

use tidy::edges::ROOMS;
use tidy::manifest::Manifest;
use tidy::{Tree, WORKSPACES, dependencies, edges, error_pages, sources, wit};

static TREE: LazyLock<Tree> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Tree::read(&root).expect("the repository can be read")
});

fn check(violations: impl IntoIterator<Item = String>) {
    let violations: Vec<String> = violations.into_iter().collect();
    assert!(violations.is_empty(), "\n{}\n", violations.join("\n"));
}

/// Every manifest below `prefix`, with its folder.
fn manifests(keep: impl Fn(&str) -> bool) -> Vec<(String, Manifest)> {
    TREE.select("", "Cargo.toml")
        .filter(|file| keep(&file.path))
        .map(|file| {
            let folder = file.path.trim_end_matches("Cargo.toml").trim_end_matches('/').to_owned();
            let manifest = Manifest::parse(&file.text).unwrap_or_else(|error| panic!("{}: {error}", file.path));
            (folder, manifest)
        })
        .collect()
}

/// Guests, fuzz targets and the crates that compile-fail tests are made of are workspaces of their own.
fn is_member(path: &str) -> bool {
    path != "Cargo.toml"
        && !WORKSPACES.iter().any(|outside| path.strip_prefix(outside).is_some_and(|rest| rest.starts_with('/')))
}

#[test]
fn rooms_import_only_what_is_drawn() {
    check(edges::check(ROOMS, &manifests(is_member)));
}

#[test]
fn every_dependency_says_why_it_is_there() {
    let page = TREE.text("docs/dependencies.md").unwrap_or_default();
    check(dependencies::check(ROOMS, &manifests(|_| true), page));
}

#[test]
fn every_error_code_has_its_page() {
    check(error_pages::check(TREE.select("host/", ".rs"), TREE.select("docs/errors/", ".md")));
}

#[test]
fn source_files_are_short() {
    check(TREE.select("", ".rs").filter_map(|file| sources::check_length(file, sources::RATCHET)));
}

#[test]
fn sources_hold_nothing_unfinished_and_nothing_that_sleeps() {
    check(TREE.select("", ".rs").flat_map(sources::check_banned));
}

#[test]
fn names_of_tests_say_a_behaviour() {
    check(TREE.select("", ".rs").flat_map(sources::check_test_names));
}

#[test]
fn every_room_has_a_header() {
    let roots = TREE.select("", ".rs").filter(|file| sources::is_crate_root(&file.path) && is_member(&file.path));
    check(roots.filter_map(sources::check_header));
}

#[test]
fn no_file_names_a_folder_of_one_machine() {
    check(TREE.files.iter().flat_map(sources::check_private_paths));
}

#[test]
fn the_guest_contract_is_documented_to_the_last_item() {
    check(wit::check_docs(TREE.text("wit/flow.wit").unwrap_or_default()));
}

#[test]
fn the_sdk_has_the_same_contract() {
    check(wit::check_copy(TREE.text("wit/flow.wit"), TREE.text("guest-sdk/wit/flow.wit")));
}
