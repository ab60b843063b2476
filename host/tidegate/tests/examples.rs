//! Every example, run by the real binary, against what its script expects.
//!
//! The expected files were computed by the scripts beside the inputs, without the engine. Where two
//! subtasks write, the order between them is free: output is compared as a multiset.

#![expect(clippy::indexing_slicing, reason = "a test that finds another document than it expects is to fail")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

/// An example that was run in a folder of its own.
struct Ran {
    example: PathBuf,
    folder: TempDir,
    summary: Value,
}

impl Ran {
    /// Runs the example called `name`, with its job file changed by `change`.
    fn changed(name: &str, change: impl FnOnce(String) -> String) -> Self {
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
        let example = example.canonicalize().expect("the example is there");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let job = fs::read_to_string(example.join("job.yaml")).expect("an example has a job file");
        // Input and module stay where they are; output goes to the folder.
        let there = |part: &str| format!("{}/{part}", example.display());
        let job = job.replace("./input", &there("input")).replace("./guest", &there("guest"));
        fs::write(folder.path().join("job.yaml"), change(job)).expect("write the job file");
        let output = Command::new(env!("CARGO_BIN_EXE_tidegate"))
            .args(["run", "job.yaml", "--output", "json"])
            .current_dir(folder.path())
            .env("XDG_CACHE_HOME", folder.path().join("cache"))
            .output()
            .expect("the binary starts");
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let summary = serde_json::from_slice(&output.stdout).expect("the summary is one JSON document");
        Self { example, folder, summary }
    }

    fn new(name: &str) -> Self {
        Self::changed(name, |job| job)
    }

    /// A file of the example.
    fn file(&self, path: &str) -> String {
        fs::read_to_string(self.example.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// The counts its script expects.
    fn expected_counts(&self) -> Value {
        serde_json::from_str(&self.file("expected/counts.json")).expect("counts are JSON")
    }

    /// What the summary says of an operator.
    fn operator(&self, uid: &str) -> &Value {
        let operators = self.summary["operators"].as_array().expect("a list of operators");
        operators.iter().find(|operator| operator["uid"] == uid).unwrap_or_else(|| panic!("no operator `{uid}`"))
    }

    /// The lines of every file of an output folder, sorted.
    fn sorted_lines(&self, output: &str) -> Vec<String> {
        sorted(self.parts(output).iter().flat_map(|part| part.lines()))
    }

    /// The files of an output folder.
    fn parts(&self, output: &str) -> Vec<String> {
        let files = fs::read_dir(self.folder.path().join("out").join(output)).expect("the output folder");
        let paths = files.map(|file| file.expect("a file of the output folder").path());
        paths.map(|path| fs::read_to_string(path).expect("output is text")).collect()
    }
}

fn sorted<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut lines: Vec<String> = lines.map(str::to_owned).collect();
    lines.sort();
    lines
}

/// JSON lines, each written anew, sorted: the spelling of a number does not matter, its value does.
fn sorted_json<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let anew = |line: &str| serde_json::from_str::<Value>(line).expect("a line of JSON").to_string();
    let mut lines: Vec<String> = lines.map(anew).collect();
    lines.sort();
    lines
}

fn json(line: &str) -> Value {
    serde_json::from_str(line).expect("a line of JSON")
}

/// The first line of every id, sorted.
fn first_deliveries(input: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    sorted(input.lines().filter(|line| seen.insert(json(line)["id"].to_string())))
}

#[test]
fn dedup_lets_the_first_delivery_of_every_flight_through() {
    let ran = Ran::new("dedup");
    let expected = ran.expected_counts();
    assert_eq!(ran.summary["records_in"], expected["records_in"]);
    assert_eq!(ran.operator("clean")["records_out"], expected["unique"]);
    assert_eq!(ran.operator("dedup")["counters"]["duplicates"].as_f64(), expected["duplicates"].as_f64());
    assert_eq!(ran.sorted_lines("clean"), first_deliveries(&ran.file("input/flights.jsonl")));
    let parts = ran.parts("clean");
    assert_eq!(parts.len(), 2, "two subtasks write a file each");
    assert!(parts.iter().all(|part| !part.is_empty()), "both subtasks have keys");
}

#[test]
fn dedup_does_not_depend_on_the_parallelism() {
    let expected = first_deliveries(&Ran::new("dedup").file("input/flights.jsonl"));
    for parallelism in ["1", "3"] {
        let ran = Ran::changed("dedup", |job| job.replace("parallelism: 2", &format!("parallelism: {parallelism}")));
        assert_eq!(ran.sorted_lines("clean"), expected, "parallelism {parallelism}");
    }
}

#[test]
fn quakes_keeps_the_newest_version_under_every_id() {
    let ran = Ran::new("quakes");
    let expected = ran.expected_counts();
    assert_eq!(ran.summary["records_in"], expected["records_in"]);
    assert_eq!(ran.operator("newest")["records_in"], expected["under_ids"]);
    assert_eq!(ran.operator("newest")["counters"]["stale"].as_f64(), expected["stale"].as_f64());
    assert_eq!(ran.operator("news")["records_out"], expected["news"]);
    let mut newest: BTreeMap<String, i64> = BTreeMap::new();
    for line in ran.sorted_lines("news") {
        let version = json(&line);
        let id = version["id"].as_str().expect("an id").to_owned();
        let updated = version["updated"].as_i64().expect("a time");
        newest.entry(id).and_modify(|newest| *newest = updated.max(*newest)).or_insert(updated);
    }
    let table: String = newest.iter().map(|(id, updated)| format!("{id} {updated}\n")).collect();
    assert_eq!(table, ran.file("expected/newest.txt"));
}

#[test]
fn mask_hides_customers_and_sets_broken_orders_aside() {
    let ran = Ran::new("mask");
    let expected = ran.expected_counts();
    assert_eq!(ran.summary["records_in"], expected["records_in"]);
    let masked = ran.sorted_lines("masked");
    assert_eq!(sorted_json(masked.iter().map(String::as_str)), sorted_json(ran.file("expected/masked.jsonl").lines()),);
    let mut kinds: Vec<String> = Vec::new();
    for line in ran.sorted_lines("dead") {
        let letter = json(&line);
        assert_eq!(letter["operator"], "mask", "{line}");
        assert_eq!(letter["origin"]["source"], "orders", "{line}");
        kinds.push(letter["error"]["kind"].as_str().expect("an error has a kind").to_owned());
    }
    kinds.sort();
    assert_eq!(kinds, ["broken-json", "invalid-utf8", "missing-field", "rejected", "wrong-type"]);
    assert_eq!(Some(kinds.len() as u64), expected["dead_letters"].as_u64());
}

#[test]
fn word_count_counts_every_word_from_one_without_a_gap() {
    let ran = Ran::new("word-count");
    let mut counts: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for line in ran.sorted_lines("counts") {
        let (word, count) = line.split_once(',').expect("a word and a count");
        counts.entry(word.to_owned()).or_default().push(count.parse().expect("a count"));
    }
    let mut table = String::new();
    for (word, mut seen) in counts {
        seen.sort_unstable();
        let all: Vec<u64> = (1..=seen.len() as u64).collect();
        assert_eq!(seen, all, "{word}");
        table.push_str(&format!("{word},{}\n", seen.len()));
    }
    assert_eq!(table, ran.file("expected/counts.csv"));
}

#[test]
fn airport_delays_gives_figures_and_alerts() {
    let ran = Ran::new("airport-delays");
    for output in ["figures", "alerts"] {
        let found = ran.sorted_lines(output);
        let expected = ran.file(&format!("expected/{output}.jsonl"));
        assert_eq!(sorted_json(found.iter().map(String::as_str)), sorted_json(expected.lines()), "{output}");
    }
}

#[test]
fn unpaid_orders_are_told_of_whatever_the_width() {
    for parallelism in ["1", "2", "5"] {
        let width = format!("parallelism: {parallelism}");
        let ran = Ran::changed("unpaid-orders", |job| job.replace("parallelism: 2", &width));
        let found = ran.sorted_lines("alerts");
        let expected = ran.file("expected/alerts.jsonl");
        let timers = &ran.operator("unpaid")["timers"];
        assert_eq!(sorted_json(found.iter().map(String::as_str)), sorted_json(expected.lines()), "{width}");
        assert_eq!(timers["fired"].as_u64(), Some(expected.lines().count() as u64), "{width}");
        assert_eq!(timers["pending"], 0, "{width}");
    }
}

#[test]
fn the_function_of_an_example_is_tested_as_the_help_says() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let guest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/dedup/guest");
    let record = |id: &str, at: u64| format!("{{\"id\":\"{id}\",\"delivered_at\":{at}}}\n");
    let week = 7 * 24 * 3600 * 1000;
    // The last comes when the first has expired.
    let input = [record("a", 1), record("b", 2), record("a", week), record("a", week + 1)];
    fs::write(folder.path().join("input.jsonl"), input.concat()).expect("write the input");
    let expected = [&input[0], &input[1], &input[3]].map(String::as_str).concat();
    fs::write(folder.path().join("expected.jsonl"), expected).expect("write what is expected");
    let test = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
        command.arg("test").arg(&guest).args(["--key", "/id", "--input", "input.jsonl", "--expect", "expected.jsonl"]);
        command.args(more).current_dir(folder.path()).env("XDG_CACHE_HOME", folder.path().join("cache"));
        command.output().expect("the binary starts")
    };
    let tested = test(&["--event-time", "/delivered_at:ms"]);
    let said = String::from_utf8_lossy(&tested.stdout);
    assert!(said.contains("ok: 3 records as expected"), "{said}{}", String::from_utf8_lossy(&tested.stderr));
    let refused = test(&[]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--event-time is missing"));
    assert_eq!(test(&["--event-time", "/at:days"]).status.code(), Some(2));
}

#[test]
fn every_record_that_a_function_rejects_is_shown_and_on_error_says_what_it_means() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/mask");
    let test = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
        command.arg("test").arg(example.join("guest")).arg("--input").arg(example.join("input/orders.jsonl"));
        command.args(["--config", "{\"keep_card_digits\":4}"]).args(more);
        command.current_dir(folder.path()).env("XDG_CACHE_HOME", folder.path().join("cache"));
        command.output().expect("the binary starts")
    };
    let failed = test(&["--print"]);
    let said = String::from_utf8_lossy(&failed.stderr).into_owned();
    assert_eq!(failed.status.code(), Some(1), "{said}");
    assert!(said.contains("5 records were rejected") && said.contains("at position"), "{said}");
    let passed = test(&["--print", "--on-error", "dead-letter"]);
    let said = String::from_utf8_lossy(&passed.stderr).into_owned();
    assert!(passed.status.success() && said.contains("5 records were rejected"), "{said}");
    assert_eq!(passed.stdout, failed.stdout);
    fs::write(folder.path().join("expected.jsonl"), &passed.stdout).expect("write what is expected");
    let compared = test(&["--expect", "expected.jsonl", "--on-error", "skip"]);
    let said = String::from_utf8_lossy(&compared.stdout).into_owned();
    assert!(compared.status.success() && said.contains("; 5 rejected"), "{said}");
    assert_eq!(test(&["--expect", "expected.jsonl"]).status.code(), Some(1));
}
