//! Golden cases: whole jobs by the real binary, in every way against one expectation.
//!
//! # Words
//! - *case*: a folder of `cases`; *way*: how it is run. A way may change nothing that a user can see
//!   but speed, so all of them share the case's expectation.
//!
//! Jobs with checkpoints have ways of their own: see [`durable`].

mod durable;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Set to write the expectation anew from the first way.
const BLESS: &str = "TIDEGATE_BLESS";

/// The ways, each with what it adds to the job file. The first is the one that is blessed.
const WAYS: [(&str, &str); 6] = [
    ("straight", ""),
    ("two subtasks", "parallelism: 2\n"),
    ("five subtasks", "parallelism: 5\n"),
    ("a record a batch", "batch: { max_rows: 1 }\n"),
    ("seven records a batch, three subtasks", "batch: { max_rows: 7 }\nparallelism: 3\n"),
    ("small queues, many key groups", "queue_bytes: 64KiB\nkey_groups: 1024\nparallelism: 4\n"),
];

/// What came out, by sink: the lines of all its files, sorted.
type Output = BTreeMap<String, Vec<String>>;

fn root() -> PathBuf {
    // This file is a test of `host/tidegate`, so that cargo builds the binary for it.
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository is there")
}

/// Runs a case in one way.
fn run(case: &Path, way: (&str, &str)) -> Output {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    for entry in fs::read_dir(case).expect("the case can be read").flatten().filter(|it| it.path().is_file()) {
        fs::copy(entry.path(), folder.path().join(entry.file_name())).expect("input can be copied");
    }
    let job = fs::read_to_string(case.join("job.yaml")).expect("a case has a job file");
    assert!(!job.contains("\nparallelism:") && !job.contains("\nbatch:"), "those belong to the ways");
    let job = job.replace("$EXAMPLES", &root().join("examples").display().to_string());
    fs::write(folder.path().join("job.yaml"), format!("{job}{}", way.1)).expect("the job file can be written");
    let ran = Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .args(["run", "job.yaml", "--quiet"])
        .current_dir(folder.path())
        .output()
        .expect("the binary runs");
    assert!(ran.status.success(), "{}: {}", way.0, String::from_utf8_lossy(&ran.stderr));
    collect(&folder.path().join("out"))
}

fn collect(out: &Path) -> Output {
    let sinks = fs::read_dir(out).expect("a case writes below ./out").flatten();
    sinks
        .map(|sink| {
            // What is staged lies in hidden folders.
            let files = fs::read_dir(sink.path()).expect("a sink writes into a folder").flatten();
            let files = files.filter(|file| file.path().is_file());
            let texts = files.map(|file| fs::read_to_string(file.path()).expect("output is text"));
            let mut lines: Vec<String> =
                texts.flat_map(|text| text.lines().map(comparable).collect::<Vec<_>>()).collect();
            lines.sort();
            (sink.file_name().to_string_lossy().into_owned(), lines)
        })
        .collect()
}

/// A line without what differs from way to way: a dead letter names its subtask, its module's digest,
/// and the folder of the run.
fn comparable(line: &str) -> String {
    let Ok(Value::Object(mut document)) = serde_json::from_str(line) else { return line.to_owned() };
    if !document.contains_key("error") {
        return line.to_owned();
    }
    document.remove("subtask");
    document.remove("module");
    if let Some(split) = document.get_mut("origin").and_then(|origin| origin.get_mut("split")) {
        let name = split.as_str().and_then(|path| path.rsplit('/').next()).unwrap_or_default().to_owned();
        *split = Value::String(name);
    }
    Value::Object(document).to_string()
}

fn check(name: &str) {
    let case = root().join("tests/golden/cases").join(name);
    let expected_folder = case.join("expected");
    for (index, way) in WAYS.into_iter().enumerate() {
        let output = run(&case, way);
        if index == 0 && std::env::var_os(BLESS).is_some() {
            bless(&expected_folder, &output);
        }
        assert_eq!(output.len(), fs::read_dir(&expected_folder).expect("a case has expectations").count(), "sinks");
        for (sink, lines) in output {
            let file = expected_folder.join(format!("{sink}.txt"));
            let expected = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            let found: String = lines.iter().map(|line| format!("{line}\n")).collect();
            assert!(found == expected, "{name}, {}, sink `{sink}`:\n{}", way.0, difference(&expected, &found));
        }
    }
}

fn bless(folder: &Path, output: &Output) {
    fs::remove_dir_all(folder).expect("the expectation can be removed");
    fs::create_dir_all(folder).expect("folders can be made");
    for (sink, lines) in output {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(folder.join(format!("{sink}.txt")), text).expect("the expectation can be written");
    }
}

/// The lines that only one side has, as often as it has them more.
fn difference(expected: &str, found: &str) -> String {
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    for line in expected.lines() {
        *counts.entry(line).or_default() -= 1;
    }
    for line in found.lines() {
        *counts.entry(line).or_default() += 1;
    }
    let lines = counts.into_iter().filter(|(_, count)| *count != 0).map(|(line, count)| match count {
        ..0 => format!("missing {}x: {line}", -count),
        _ => format!("too many {count}x: {line}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn broken_json_ends_as_dead_letters_and_its_neighbours_pass() {
    check("broken-json");
}

#[test]
fn broken_csv_ends_as_dead_letters_and_its_neighbours_pass() {
    check("broken-csv");
}

#[test]
fn a_record_that_the_function_refuses_is_set_aside_alone() {
    check("poison");
}

#[test]
fn a_difference_names_what_is_missing_and_what_is_too_many() {
    assert_eq!(difference("a\nb\nb\n", "a\nb\nc\n"), "missing 1x: b\ntoo many 1x: c");
}
