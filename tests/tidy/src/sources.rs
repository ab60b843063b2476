//! Rules on the text of source files.

use crate::File;

/// Lines a source file may have. The aim is 400.
pub const MAX_LINES: usize = 600;

/// Files that are longer and wait to be cut, with the length they may not exceed. Empty, and to stay so.
pub const RATCHET: &[(&str, usize)] = &[];

/// Whether a file was written by a generator, which a test runs again to compare.
fn is_generated(path: &str) -> bool {
    path.ends_with("/generated.rs")
}

/// A file that is too long.
#[must_use]
pub fn check_length(file: &File, ratchet: &[(&str, usize)]) -> Option<String> {
    let lines = file.text.lines().count();
    let limit = ratchet.iter().find(|(path, _)| *path == file.path).map_or(MAX_LINES, |(_, limit)| *limit);
    (lines > limit && !is_generated(&file.path))
        .then(|| format!("{}: {lines} lines, at most {limit}; cut it in two", file.path))
}

/// What no source file may hold, and what to do instead. Spelled in halves, so that this file holds none.
const BANNED: [(&str, &str); 7] = [
    (concat!("to", "do!("), "write it, or refuse with `not available yet`"),
    (concat!("unimpl", "emented!("), "write it, or refuse with `not available yet`"),
    (concat!("FIX", "ME"), "fix it; comments describe the code as it is"),
    (concat!("TO", "DO"), "do it; comments describe the code as it is"),
    (concat!("#[ig", "nore"), "a test runs always or is removed"),
    (concat!("thread::sl", "eep("), "wait for a signal; a test moves the clock"),
    (concat!("time::sl", "eep("), "wait for a signal; a test moves the clock"),
];

/// What a source file holds and may not.
#[must_use]
pub fn check_banned(file: &File) -> Vec<String> {
    let mut violations = Vec::new();
    for (number, line) in (1..).zip(file.text.lines()) {
        for (text, instead) in BANNED {
            if line.contains(text) {
                violations.push(format!("{}:{number}: `{text}`: {instead}", file.path));
            }
        }
    }
    violations
}

/// Tests whose name begins with `test_`.
#[must_use]
pub fn check_test_names(file: &File) -> Vec<String> {
    let mut violations = Vec::new();
    let mut is_test = false;
    for (number, line) in (1..).zip(file.text.lines()) {
        let line = line.trim();
        if line.starts_with("#[") || line.starts_with("///") {
            is_test |= line == "#[test]" || line.starts_with("#[tokio::test");
            continue;
        }
        let function = line.trim_start_matches("pub ").trim_start_matches("async ").strip_prefix("fn ");
        if let Some(name) = function.filter(|_| is_test)
            && name.starts_with("test_")
        {
            let name = name.split('(').next().unwrap_or(name);
            violations.push(format!("{}:{number}: `{name}`: say the behaviour, without `test_`", file.path));
        }
        is_test = false;
    }
    violations
}

/// A crate's root without a header that says what the crate is.
#[must_use]
pub fn check_header(file: &File) -> Option<String> {
    let first = file.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    (!first.starts_with("//!")).then(|| format!("{}: expected a `//!` header that says what the room is", file.path))
}

/// Whether a file is the root of a crate.
#[must_use]
pub fn is_crate_root(path: &str) -> bool {
    path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs")
}

/// Folders that exist on one machine only.
const PRIVATE: [&str; 5] = [
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
    concat!("/wo", "rk/"),
    concat!("/tmp/", "t/"),
];

/// Paths of somebody's machine.
#[must_use]
pub fn check_private_paths(file: &File) -> Vec<String> {
    let mut violations = Vec::new();
    for (number, line) in (1..).zip(file.text.lines()) {
        for text in PRIVATE {
            // A path begins there: in `a/b` the slash follows a name.
            let begins = |at: usize| !line[..at].ends_with(|it: char| it.is_alphanumeric() || it == '.' || it == '_');
            if line.match_indices(text).any(|(at, _)| begins(at)) {
                violations.push(format!("{}:{number}: names a folder of one machine: `{text}`", file.path));
            }
        }
    }
    violations
}
