//! The guest contract is documented to the last item, and the SDK's copy is the same text.

use std::path::Path;

use wit_parser::Resolve;

/// Items of the contract without a doc line: the package's interfaces, types, functions and worlds.
#[must_use]
pub fn check_docs(text: &str) -> Vec<String> {
    let mut resolve = Resolve::default();
    if let Err(error) = resolve.push_str(Path::new("wit/flow.wit"), text) {
        return vec![format!("wit/flow.wit: does not parse: {error}")];
    }
    let mut violations = Vec::new();
    let mut items = 0_usize;
    let mut need = |what: String, docs: &wit_parser::Docs| {
        items += 1;
        if docs.contents.as_deref().is_none_or(|text| text.trim().is_empty()) {
            violations.push(format!("wit/flow.wit: {what} has no doc line"));
        }
    };
    for (_, package) in resolve.packages.iter() {
        need(format!("package {}", package.name), &package.docs);
    }
    for (_, world) in resolve.worlds.iter() {
        need(format!("world {}", world.name), &world.docs);
    }
    for (_, interface) in resolve.interfaces.iter() {
        let name = interface.name.as_deref().unwrap_or_default();
        need(format!("interface {name}"), &interface.docs);
        for (function, it) in &interface.functions {
            need(format!("function {name}.{function}"), &it.docs);
        }
        for (type_name, id) in &interface.types {
            let Some(it) = resolve.types.get(*id) else { continue };
            // `use` makes an alias that has its docs where it comes from.
            let is_alias = matches!(it.kind, wit_parser::TypeDefKind::Type(_));
            if !is_alias {
                need(format!("type {name}.{type_name}"), &it.docs);
            }
        }
    }
    if items < 2 {
        violations.push("wit/flow.wit: no items".to_owned());
    }
    violations
}

/// The SDK's copy where it is not the contract.
#[must_use]
pub fn check_copy(contract: Option<&str>, copy: Option<&str>) -> Option<String> {
    match (contract, copy) {
        (Some(contract), Some(copy)) if contract == copy => None,
        (None, _) => Some("wit/flow.wit: is missing".to_owned()),
        _ => Some("guest-sdk/wit/flow.wit: is not wit/flow.wit; copy it over".to_owned()),
    }
}
