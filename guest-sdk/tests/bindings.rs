//! The checked-in bindings are what wit-bindgen makes of the contract.

use std::path::Path;

use wit_bindgen_core::wit_parser::Resolve;
use wit_bindgen_core::{Files, WorldGenerator};

/// Set to write the file anew instead of comparing it.
const BLESS: &str = "TIDEGATE_BLESS";

fn generate(contract: &Path) -> String {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(contract).expect("the contract parses");
    let world = resolve.select_world(&[package], Some("operator")).expect("the contract has the world `operator`");
    let options = wit_bindgen_rust::Opts {
        format: true,
        pub_export_macro: true,
        export_macro_name: Some("export_operator".to_owned()),
        default_bindings_module: Some("::tidegate::bindings".to_owned()),
        runtime_path: Some("::tidegate::bindings::rt".to_owned()),
        ..Default::default()
    };
    let mut files = Files::default();
    options.build().generate(&mut resolve, world, &mut files).expect("bindings can be made");
    let (_, text) = files.iter().next().expect("the generator writes one file");
    String::from_utf8(text.to_vec()).expect("Rust is UTF-8")
}

#[test]
fn generated_bindings_are_those_of_the_contract() {
    let room = Path::new(env!("CARGO_MANIFEST_DIR"));
    let checked_in = room.join("src/bindings/generated.rs");
    let fresh = generate(&room.join("wit"));
    if std::env::var_os(BLESS).is_some() {
        std::fs::write(&checked_in, &fresh).unwrap();
    }
    let kept = std::fs::read_to_string(&checked_in).unwrap_or_default();
    assert!(
        kept == fresh,
        "{} differs from what wit/flow.wit gives: run `{BLESS}=1 cargo test -p tidegate-guest --test bindings`",
        checked_in.display()
    );
}
