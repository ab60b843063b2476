use crate::edges::{ROOMS, Room};
use crate::manifest::Manifest;
use crate::{File, dependencies, edges, error_pages, sources, wit};

fn file(path: &str, text: &str) -> File {
    File { path: path.to_owned(), text: text.to_owned() }
}

const TWO: &[Room] = &[
    Room { name: "model", folder: "host/model", may: &[], tests_may: &[], never: &["tokio"] },
    Room { name: "state", folder: "host/state", may: &["model"], tests_may: &[], never: &[] },
];

fn manifest(name: &str, rest: &str) -> (String, Manifest) {
    let text = format!("[package]\nname = \"{name}\"\n[lints]\nworkspace = true\n{rest}");
    (format!("host/{name}"), Manifest::parse(&text).unwrap())
}

fn check_edges(model: &str, state: &str) -> Vec<String> {
    edges::check(TWO, &[manifest("model", model), manifest("state", state)])
}

#[test]
fn an_edge_that_is_drawn_is_fine() {
    assert!(check_edges("", "[dependencies]\nmodel = { path = \"../model\" }\n").is_empty());
}

#[test]
fn an_edge_that_is_not_drawn_is_found_in_every_kind_of_dependency() {
    for kind in ["dependencies", "dev-dependencies", "build-dependencies", "target.'cfg(unix)'.dependencies"] {
        let found = check_edges(&format!("[{kind}]\nstate.workspace = true\n"), "");
        assert_eq!(found, ["host/model: room `model` must not import room `state`"]);
    }
}

#[test]
fn a_renamed_edge_is_found() {
    let found = check_edges("[dependencies]\nother = { package = \"state\", path = \"../state\" }\n", "");
    assert_eq!(found, ["host/model: room `model` must not import room `state`"]);
}

#[test]
fn an_edge_drawn_for_tests_is_one_for_tests_only() {
    let rooms = [Room { tests_may: &["state"], ..TWO[0] }, TWO[1]];
    let check = |uses: &str| edges::check(&rooms, &[manifest("model", uses), manifest("state", "")]);
    assert!(check("[dev-dependencies]\nstate.workspace = true\n").is_empty());
    assert_eq!(check("[dependencies]\nstate.workspace = true\n").len(), 1);
    assert_eq!(check("[dependencies]\nstate = \"1\"\n[dev-dependencies]\nstate = \"1\"\n").len(), 1);
}

#[test]
fn a_banned_crate_is_found() {
    let found = check_edges("[dependencies]\ntokio = \"1\"\n", "");
    assert_eq!(found, ["host/model: room `model` must never depend on `tokio`"]);
}

#[test]
fn a_room_missing_from_the_tree_or_from_the_table_is_found() {
    assert_eq!(edges::check(TWO, &[manifest("model", "")]), ["host/state: room `state` of the table is missing"]);
    let found = edges::check(&TWO[..1], &[manifest("model", ""), manifest("annex", "")]);
    assert!(found[0].contains("`annex` is not in the table"), "{found:?}");
}

#[test]
fn a_room_without_the_lints_of_the_workspace_is_found() {
    let bare = Manifest::parse("[package]\nname = \"model\"\n").unwrap();
    let found = edges::check(&TWO[..1], &[("host/model".to_owned(), bare)]);
    assert_eq!(found, ["host/model: expected `[lints] workspace = true`"]);
}

#[test]
fn the_table_draws_no_edge_between_rooms_of_one_level() {
    let level = |name: &str| match name {
        "model" => 0,
        "protocol" | "format" => 1,
        "contract" => 2,
        "runtime" | "state" | "guest" | "connectors" | "checkpoint" | "toolchain" => 3,
        "api" => 4,
        "tidegate" => 5,
        _ => 6,
    };
    for room in ROOMS.iter().filter(|room| level(room.name) < 6) {
        for other in room.may {
            assert!(level(other) < level(room.name), "{} may import {other}", room.name);
        }
    }
}

fn check_dependencies(page: &str) -> Vec<String> {
    let uses = "[dependencies]\nserde = \"1\"\nmodel = { path = \"../model\" }\n[dev-dependencies]\ncsv = \"1\"\n";
    dependencies::check(TWO, &[manifest("state", uses)], page)
}

#[test]
fn a_dependency_without_a_line_and_a_line_without_a_dependency_are_found() {
    let found = check_dependencies(
        "| `serde` | reads and writes what a user configures |\n| `gone` | was useful once upon a time |\n",
    );
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("no manifest depends on `gone`"), "{found:?}");
    assert!(found[1].contains("`csv` has no line"), "{found:?}");
}

#[test]
fn a_line_that_says_nothing_or_stands_twice_is_found() {
    let found = check_dependencies("- `serde`: fine\n- `csv`: reads CSV in tests\n- `csv`: reads CSV in tests\n");
    assert!(found[0].contains("`serde` does not say why"), "{found:?}");
    assert!(found[1].contains("`csv` stands there twice"), "{found:?}");
}

#[test]
fn a_dependency_of_the_workspace_that_no_room_uses_is_found() {
    let root =
        Manifest::parse("[workspace.dependencies]\ncsv = \"1\"\nrand = \"0.9\"\nmodel = { path = \"m\" }\n").unwrap();
    let uses = manifest("state", "[dependencies]\ncsv.workspace = true\n");
    let found = dependencies::check(TWO, &[(String::new(), root), uses], "- `csv`: reads CSV in tests\n");
    assert_eq!(found, ["Cargo.toml: no room depends on `rand`; remove it from [workspace.dependencies]"]);
}

#[test]
fn a_page_in_order_passes() {
    assert!(check_dependencies("- `serde`: reads and writes config\n- `csv`: reads CSV in tests\n").is_empty());
}

const PAGE: &str = "# E0123 a title\n\n## What happened\nx\n\n## Why\nx\n\n## What to do\nx\n";

fn check_pages(source: &str, name: &str, page: &str) -> Vec<String> {
    let sources = [file("host/a/src/lib.rs", source)];
    let pages = [file(name, page), file("docs/errors/README.md", "# Errors")];
    error_pages::check(sources.iter(), pages.iter())
}

#[test]
fn a_code_with_its_page_passes() {
    assert!(check_pages("code(\"E0123\")", "docs/errors/E0123.md", PAGE).is_empty());
}

#[test]
fn a_code_without_page_and_a_page_without_code_are_found() {
    let found = check_pages("code(\"E0124\")", "docs/errors/E0123.md", PAGE);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("no source of the host has the code E0123"));
    assert!(found[1].contains("E0124 has no page docs/errors/E0124.md"));
}

#[test]
fn a_page_without_its_title_or_a_section_is_found() {
    let found = check_pages("\"E0123\"", "docs/errors/E0123.md", "# E0123\n\n## Why\n\n## What happened\n");
    assert!(found[0].contains("expected the first line `# E0123 title`"), "{found:?}");
    assert!(found[1].contains("expected the sections"), "{found:?}");
}

#[test]
fn a_code_is_a_word_of_its_own() {
    assert_eq!(error_pages::codes("E0101 (E0102) \"E0103\" xE0104 E01055 E0x E0"), ["E0101", "E0102", "E0103"]);
}

#[test]
fn a_long_file_is_found_and_the_ratchet_only_holds_it_where_it_is() {
    let long = file("a/b.rs", &"x\n".repeat(601));
    assert!(sources::check_length(&long, &[]).is_some());
    assert!(sources::check_length(&long, &[("a/b.rs", 601)]).is_none());
    assert!(sources::check_length(&long, &[("a/b.rs", 600)]).is_some());
    assert!(sources::check_length(&file("a/b.rs", &"x\n".repeat(600)), &[]).is_none());
    assert!(sources::check_length(&file("a/generated.rs", &"x\n".repeat(601)), &[]).is_none());
}

#[test]
fn the_ratchet_is_empty() {
    assert!(sources::RATCHET.is_empty());
}

#[test]
fn unfinished_code_and_sleeping_tests_are_found() {
    for text in [
        concat!("to", "do!()"),
        concat!("unimpl", "emented!()"),
        concat!("// FIX", "ME later"),
        concat!("// TO", "DO later"),
        concat!("#[ig", "nore]"),
        concat!("#[ig", "nore = \"slow\"]"),
        concat!("std::thread::sl", "eep(d)"),
        concat!("tokio::time::sl", "eep(d)"),
    ] {
        let found = sources::check_banned(&file("a.rs", &format!("fn a() {{}}\n{text}\n")));
        assert_eq!(found.len(), 1, "{text}");
        assert!(found[0].starts_with("a.rs:2: "), "{found:?}");
    }
}

#[test]
fn a_test_named_test_is_found_and_a_helper_is_not() {
    let text =
        "#[test]\n/// why\nfn test_a() {}\n#[tokio::test]\nasync fn test_b() {}\nfn test_c() {}\n#[test]\nfn d() {}\n";
    let found = sources::check_test_names(&file("a.rs", text));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains(":3: `test_a`") && found[1].contains(":5: `test_b`"), "{found:?}");
}

#[test]
fn a_room_without_header_is_found() {
    assert!(sources::check_header(&file("a/src/lib.rs", "use x;\n")).is_some());
    assert!(sources::check_header(&file("a/src/lib.rs", "")).is_some());
    assert!(sources::check_header(&file("a/src/lib.rs", "\n//! A room.\n")).is_none());
}

#[test]
fn a_folder_of_one_machine_is_found_and_a_folder_of_the_tree_is_not() {
    let found = sources::check_private_paths(&file("a.md", concat!("see /ho", "me/ada/x\nand wit/ro", "ot/x\n")));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("a.md:1: "));
}

#[test]
fn an_item_of_the_contract_without_doc_line_is_found() {
    let text = "/// P.\npackage a:b@1.0.0;\n/// I.\ninterface i {\n  record bare { x: u8 }\n  /// F.\n  f: func();\n  g: func();\n}\nworld w { import i; }\n";
    let found = wit::check_docs(text);
    assert_eq!(found.len(), 3, "{found:?}");
    for name in ["type i.bare", "function i.g", "world w"] {
        assert!(found.iter().any(|it| it.contains(name)), "{name}: {found:?}");
    }
    assert!(wit::check_docs("package").first().unwrap().contains("does not parse"));
    assert!(!wit::check_docs("").is_empty());
}

#[test]
fn a_copy_of_the_contract_that_differs_or_is_missing_is_found() {
    assert!(wit::check_copy(Some("a"), Some("a")).is_none());
    assert!(wit::check_copy(Some("a"), Some("b")).is_some());
    assert!(wit::check_copy(Some("a"), None).is_some());
    assert!(wit::check_copy(None, None).is_some());
}

#[test]
fn a_manifest_that_is_no_toml_is_an_error() {
    assert!(Manifest::parse("[package").is_err());
}
