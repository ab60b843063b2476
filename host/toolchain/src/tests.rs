use std::ffi::OsStr;
use std::path::PathBuf;
use std::str::FromStr;

use crate::env::leaks;
use crate::{
    BuildOptions, Compiler, Error, Facts, Preference, SdkSource, StandardLibrary, Template, build_guest, componentize,
    decide, new_crate,
};

fn compiler(program: &str, has_std: bool, has_source: bool) -> Compiler {
    Compiler { program: PathBuf::from(program), version: "1.96.0".to_owned(), llvm: Some(22), has_std, has_source }
}

fn linker() -> Option<PathBuf> {
    Some(PathBuf::from("/lld/rust-lld"))
}

/// What is chosen, in a word: the compiler and the origin of its standard library.
fn check_decision(facts: &Facts, preference: Preference) -> String {
    match decide(facts, preference) {
        Ok(it) => match it.standard_library {
            StandardLibrary::Shipped => format!("{} shipped", it.rustc.display()),
            StandardLibrary::FromSource { linker } => {
                format!("{} source {}", it.rustc.display(), linker.display())
            }
        },
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_shipped_standard_library_wins_over_one_from_source() {
    let facts = Facts {
        compilers: vec![compiler("rustc", false, true), compiler("/usr/bin/rustc", true, false)],
        linker: linker(),
        ..Facts::default()
    };
    assert_eq!(check_decision(&facts, Preference::Any), "/usr/bin/rustc shipped");
    assert_eq!(check_decision(&facts, Preference::Source), "rustc source /lld/rust-lld");
}

#[test]
fn a_compiler_with_source_and_a_linker_is_enough() {
    let facts = Facts {
        compilers: vec![compiler("rustc", false, false), compiler("/usr/bin/rustc", false, true)],
        linker: linker(),
        ..Facts::default()
    };
    assert_eq!(check_decision(&facts, Preference::Any), "/usr/bin/rustc source /lld/rust-lld");
}

#[test]
fn without_a_way_the_error_names_the_commands_that_open_one() {
    let facts = Facts { compilers: vec![compiler("rustc", false, false)], linker: None, rustup: true, apt: true };
    let said = check_decision(&facts, Preference::Any);
    assert!(said.contains("rustup target add wasm32-unknown-unknown"), "{said}");
    assert!(said.ends_with("apt-get install rustc-web rust-web-src"), "{said}");
}

#[test]
fn a_missing_linker_is_what_the_error_asks_for() {
    let facts =
        Facts { compilers: vec![compiler("/usr/bin/rustc", false, true)], linker: None, rustup: false, apt: true };
    let said = check_decision(&facts, Preference::Any);
    assert!(said.contains("no rust-lld or wasm-ld"), "{said}");
    assert!(said.ends_with("run as root: apt-get install lld-22"), "{said}");
}

#[test]
fn without_compiler_and_package_manager_the_error_names_rustup() {
    let said = check_decision(&Facts::default(), Preference::Any);
    assert!(said.contains("no rustc on the path"), "{said}");
    assert!(said.contains("install Rust with rustup"), "{said}");
}

#[test]
fn a_preference_that_cannot_be_met_is_named() {
    let facts = Facts { compilers: vec![compiler("rustc", true, false)], ..Facts::default() };
    assert!(check_decision(&facts, Preference::Source).contains("TIDEGATE_WASM_STD=source"));
}

#[test]
fn a_preference_is_one_of_two_words_or_nothing() {
    assert_eq!(Preference::parse("").unwrap(), Preference::Any);
    assert_eq!(Preference::parse("shipped").unwrap(), Preference::Shipped);
    let said = Preference::parse("ship").unwrap_err().to_string();
    assert_eq!(said, "TIDEGATE_WASM_STD=`ship`: expected `shipped` or `source`");
}

#[test]
fn what_an_outer_cargo_says_leaks_and_what_a_person_sets_does_not() {
    for name in [
        "RUSTFLAGS",
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_TARGET_DIR",
        "CARGO_BUILD_TARGET",
        "CARGO_PKG_NAME",
        "CARGO_PROFILE_RELEASE_LTO",
        "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER",
        "CARGO",
        "RUSTC",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTC_BOOTSTRAP",
        "TARGET",
        "OUT_DIR",
        "MAKEFLAGS",
    ] {
        assert!(leaks(OsStr::new(name)), "{name} must not reach the inner build");
    }
    for name in ["PATH", "HOME", "CARGO_HOME", "CARGO_NET_OFFLINE", "CARGO_HTTP_PROXY", "CARGO_REGISTRIES_X_INDEX"] {
        assert!(!leaks(OsStr::new(name)), "{name} must reach the inner build");
    }
}

#[test]
fn a_module_without_a_world_says_what_to_add() {
    let empty_module = b"\0asm\x01\0\0\0";
    let error = componentize("plain", empty_module).unwrap_err();
    assert_eq!(error.code(), "E0255");
    assert!(error.to_string().contains("#[tidegate::function]"), "{error}");
}

/// Says in a module without code that it is bound to the world of `wit`.
fn bound_to(wit: &str) -> Vec<u8> {
    let mut resolve = wit_parser::Resolve::default();
    let package = resolve.push_str("other.wit", wit).unwrap();
    let world = resolve.select_world(&[package], None).unwrap();
    let mut module = b"\0asm\x01\0\0\0".to_vec();
    wit_component::embed_component_metadata(&mut module, &resolve, world, wit_component::StringEncoding::UTF8).unwrap();
    module
}

#[test]
fn a_module_of_another_world_is_told_which_one_is_expected() {
    let module = bound_to("package other:thing@1.0.0;\ninterface run { go: func(); }\nworld w { export run; }\n");
    let error = componentize("foreign", &module).unwrap_err();
    assert_eq!(error.code(), "E0256");
    let said = error.to_string();
    assert!(said.contains("`other:thing/run@1.0.0`") && said.contains("`tidegate:flow/operator@0.1.0`"), "{said}");
}

#[test]
fn a_module_that_only_imports_provides_no_function() {
    let module = bound_to("package other:thing@1.0.0;\ninterface run { go: func(); }\nworld w { import run; }\n");
    assert_eq!(componentize("imports", &module).unwrap_err().code(), "E0255");
}

#[test]
fn what_is_no_module_is_refused() {
    for bytes in [&b""[..], b"#!/bin/sh", b"\0asm\x0d\0\x01\0"] {
        let error = componentize("odd", bytes).unwrap_err();
        assert!(["E0255", "E0257"].contains(&error.code()), "{error}");
    }
}

/// Writes files into a new folder and returns the error of building it.
fn check_refusal(files: &[(&str, &str)]) -> Error {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    build_guest(folder.path(), &BuildOptions { quiet: true, ..BuildOptions::default() }).unwrap_err()
}

const PACKAGE: &str = "[package]\nname = \"p\"\nedition = \"2024\"\n[workspace]\n";

#[test]
fn a_folder_without_manifest_is_not_a_crate() {
    assert_eq!(check_refusal(&[("a.txt", "")]).code(), "E0251");
}

#[test]
fn a_broken_manifest_is_not_a_crate_and_cargo_says_why() {
    let error = check_refusal(&[("Cargo.toml", "[package\n")]);
    assert_eq!(error.code(), "E0251");
    assert!(error.to_string().contains("Cargo.toml"), "{error}");
}

#[test]
fn a_file_and_a_missing_path_are_not_crates() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("function.wasm");
    std::fs::write(&file, "").unwrap();
    for path in [file, folder.path().join("gone")] {
        assert_eq!(build_guest(&path, &BuildOptions::default()).unwrap_err().code(), "E0251");
    }
}

#[test]
fn a_crate_without_cdylib_is_told_the_line_to_add() {
    let error = check_refusal(&[("Cargo.toml", PACKAGE), ("src/lib.rs", "")]);
    assert_eq!(error.code(), "E0253");
    assert!(error.to_string().contains("`lib`, expected `cdylib`"), "{error}");
    let error = check_refusal(&[("Cargo.toml", PACKAGE), ("src/main.rs", "fn main() {}")]);
    assert!(error.to_string().contains("`none`"), "{error}");
}

#[test]
fn a_workspace_with_several_modules_names_them() {
    let member = "[package]\nname = \"NAME\"\nedition = \"2024\"\n[lib]\ncrate-type = [\"cdylib\"]\n";
    let error = check_refusal(&[
        ("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"one\", \"two\"]\n"),
        ("one/Cargo.toml", &member.replace("NAME", "one")),
        ("one/src/lib.rs", ""),
        ("two/Cargo.toml", &member.replace("NAME", "two")),
        ("two/src/lib.rs", ""),
    ]);
    assert_eq!(error.code(), "E0252");
    assert!(error.to_string().contains("`one`, `two`"), "{error}");
}

#[test]
fn what_the_compiler_says_is_in_the_error_of_a_quiet_build() {
    let error = check_refusal(&[
        ("Cargo.toml", &format!("{PACKAGE}[lib]\ncrate-type = [\"cdylib\"]\n")),
        ("src/lib.rs", "pub fn broken() -> u32 { \"text\" }"),
    ]);
    assert_eq!(error.code(), "E0254");
    assert!(error.to_string().contains("mismatched types"), "{error}");
}

#[test]
fn a_template_is_found_by_name_and_a_slip_gets_the_nearest() {
    for template in Template::ALL {
        assert_eq!(Template::from_str(template.name()).unwrap(), template);
    }
    let error = Template::from_str("dedupe").unwrap_err();
    assert!(error.to_string().contains("did you mean `dedup`"), "{error}");
}

#[test]
fn a_new_crate_is_written_whole_with_its_names_filled_in() {
    let parent = tempfile::tempdir().unwrap();
    for template in [Template::Dedup, Template::Map] {
        let name = format!("my-{template}");
        let sdk = SdkSource::Version("0.1".to_owned());
        let folder = new_crate(parent.path(), &name, template, &sdk).unwrap();
        for file in ["Cargo.toml", "README.md", ".gitignore", "src/lib.rs", "input.jsonl", "job.yaml"] {
            let text = std::fs::read_to_string(folder.join(file)).unwrap();
            for hole in ["{name}", "{module}", "{template}", "{dependency}"] {
                assert!(!text.contains(hole), "{file} of {template} still holds {hole}");
            }
        }
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        assert!(manifest.contains("tidegate-guest = \"0.1\""), "{manifest}");
    }
}

#[test]
fn a_new_crate_never_overwrites() {
    let parent = tempfile::tempdir().unwrap();
    let sdk = SdkSource::Version("0.1".to_owned());
    let folder = new_crate(parent.path(), "mine", Template::Dedup, &sdk).unwrap();
    std::fs::write(folder.join("src/lib.rs"), "my work").unwrap();
    let error = new_crate(parent.path(), "mine", Template::Dedup, &sdk).unwrap_err();
    assert_eq!(error.code(), "E0260");
    assert_eq!(std::fs::read_to_string(folder.join("src/lib.rs")).unwrap(), "my work");
}

#[test]
fn a_template_that_is_not_available_writes_nothing() {
    let parent = tempfile::tempdir().unwrap();
    let sdk = SdkSource::Version("0.1".to_owned());
    let error = new_crate(parent.path(), "mine", Template::Window, &sdk).unwrap_err();
    assert!(error.to_string().contains("not available yet"), "{error}");
    assert!(!parent.path().join("mine").exists());
}

#[test]
fn names_that_cargo_would_refuse_are_refused_first() {
    let parent = tempfile::tempdir().unwrap();
    let sdk = SdkSource::Version("0.1".to_owned());
    for name in ["", "1st", "Über", "a b", "../up", "std", "tidegate"] {
        assert_eq!(new_crate(parent.path(), name, Template::Map, &sdk).unwrap_err().code(), "E0260", "{name}");
    }
}

#[test]
fn the_forms_of_the_dependency_are_what_cargo_reads() {
    let parent = tempfile::tempdir().unwrap();
    let git = |tag: Option<&str>| SdkSource::Git { url: "https://x/y".to_owned(), tag: tag.map(str::to_owned) };
    for (name, sdk, line) in [
        ("a", git(Some("v1")), "tidegate-guest = { git = \"https://x/y\", tag = \"v1\" }"),
        ("b", git(None), "tidegate-guest = { git = \"https://x/y\" }"),
        ("c", SdkSource::Path(PathBuf::from("/sdk")), "tidegate-guest = { path = \"/sdk\" }"),
    ] {
        let folder = new_crate(parent.path(), name, Template::Map, &sdk).unwrap();
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        assert!(manifest.contains(line), "{manifest}");
    }
}
