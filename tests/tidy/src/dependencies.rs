//! Every crate from outside has a line in `docs/dependencies.md` that says why.

use std::collections::BTreeSet;

use crate::edges::Room;
use crate::manifest::Manifest;

/// The crates named in the page: lines that begin with a name in backticks, in a list or a table.
#[must_use]
pub fn listed(page: &str) -> Vec<(String, String)> {
    page.lines()
        .filter_map(|line| {
            let rest = line.trim_start_matches(['|', '-', '*', ' ']).strip_prefix('`')?;
            let (name, why) = rest.split_once('`')?;
            let why = why.trim_matches(|it: char| it == '|' || it == ':' || it.is_whitespace());
            let is_line = line.starts_with(['|', '-', '*']);
            is_line.then(|| (name.to_owned(), why.to_owned()))
        })
        .collect()
}

/// Crates without a line, lines without a crate, lines that say nothing, lines said twice.
#[must_use]
pub fn check(rooms: &[Room], manifests: &[(String, Manifest)], page: &str) -> Vec<String> {
    let mut violations = Vec::new();
    let ours = |name: &str| rooms.iter().any(|room| room.name == name);
    let mut used = BTreeSet::new();
    for (_, manifest) in manifests {
        let outside = |name: &&String| !ours(name) && !manifest.by_path.contains(name);
        used.extend(manifest.dependencies.iter().filter(outside).cloned());
    }
    for name in manifests.iter().flat_map(|(_, manifest)| &manifest.workspace_dependencies) {
        if !used.contains(name) && !ours(name) {
            violations
                .push(format!("Cargo.toml: no room depends on `{name}`; remove it from [workspace.dependencies]"));
        }
    }
    let lines = listed(page);
    let mut seen = BTreeSet::new();
    for (name, why) in &lines {
        if !seen.insert(name.clone()) {
            violations.push(format!("docs/dependencies.md: `{name}` stands there twice"));
        }
        if why.len() < 10 {
            violations.push(format!("docs/dependencies.md: `{name}` does not say why"));
        }
        if !used.contains(name) {
            violations.push(format!("docs/dependencies.md: no manifest depends on `{name}`; remove its line"));
        }
    }
    for name in used.difference(&seen) {
        violations.push(format!("docs/dependencies.md: `{name}` has no line; add one that says why it is there"));
    }
    violations
}
