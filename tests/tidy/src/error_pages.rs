//! Every error code has its page, and every page its code.

use std::collections::BTreeMap;

use crate::File;

const SECTIONS: [&str; 3] = ["## What happened", "## Why", "## What to do"];

/// Codes of the form `E0123` in a text.
#[must_use]
pub fn codes(text: &str) -> Vec<&str> {
    let word = |it: u8| it.is_ascii_alphanumeric() || it == b'_';
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    for (start, _) in text.match_indices("E0") {
        let end = start + 5;
        let Some(code) = text.get(start..end) else { continue };
        let alone = !start.checked_sub(1).and_then(|at| bytes.get(at)).is_some_and(|it| word(*it))
            && !bytes.get(end).is_some_and(|it| word(*it));
        if alone && code.bytes().skip(1).all(|it| it.is_ascii_digit()) {
            found.push(code);
        }
    }
    found
}

/// Codes without a page, pages without a code, pages without their title or a section, in order.
/// `sources` are the sources of the host, `pages` what lies in `docs/errors`.
#[must_use]
pub fn check<'a>(sources: impl Iterator<Item = &'a File>, pages: impl Iterator<Item = &'a File>) -> Vec<String> {
    let mut used: BTreeMap<&str, &str> = BTreeMap::new();
    for file in sources {
        for code in codes(&file.text) {
            used.entry(code).or_insert(&file.path);
        }
    }
    let mut violations = Vec::new();
    let mut seen = Vec::new();
    for page in pages {
        let name = page.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".md");
        if name == "README" {
            continue;
        }
        seen.push(name);
        if !used.contains_key(name) {
            violations.push(format!("{}: no source of the host has the code {name}", page.path));
        }
        let title = page.text.lines().next().unwrap_or_default();
        if title.strip_prefix(&format!("# {name} ")).is_none_or(|rest| rest.trim().is_empty()) {
            violations.push(format!("{}: expected the first line `# {name} title`, found `{title}`", page.path));
        }
        let found: Vec<&str> = page.text.lines().filter(|line| line.starts_with("## ")).map(str::trim_end).collect();
        if found != SECTIONS {
            violations.push(format!("{}: expected the sections {SECTIONS:?}, found {found:?}", page.path));
        }
    }
    for (code, file) in used {
        if !seen.contains(&code) {
            violations.push(format!("{file}: {code} has no page docs/errors/{code}.md"));
        }
    }
    if seen.is_empty() {
        violations.push("docs/errors: no pages".to_owned());
    }
    violations
}
