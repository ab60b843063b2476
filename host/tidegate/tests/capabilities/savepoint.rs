//! From a savepoint.

use std::fs;

use crate::kit::Job;

const FROM: [&str; 4] = ["run", "job.yaml", "--from-savepoint", "sp"];

/// Starts from the savepoint in a storage of its own.
const ELSEWHERE: [&str; 6] = ["run", "job.yaml", "--from-savepoint", "sp", "--storage", "elsewhere"];

/// The output goes to a folder of its own, as that of a job elsewhere does.
fn elsewhere(job: &Job, text: &str) {
    job.is(text);
    fs::rename(job.path("out"), job.path("out-before")).expect("the output can be moved");
    job.add("b", "a\n");
}

#[test]
fn at_another_parallelism_every_key_finds_its_state() {
    let job = Job::counted();
    elsewhere(&job, &Job::with("first"));
    job.done(&[&ELSEWHERE[..], &["--parallelism", "3"]].concat());
    assert_eq!(job.counts(), ["a 3"]);
}

#[test]
fn a_copy_of_it_is_as_good() {
    let job = Job::counted();
    fs::create_dir(job.path("copy")).expect("a folder");
    for entry in fs::read_dir(job.path("sp")).expect("the savepoint").flatten() {
        fs::copy(entry.path(), job.path("copy").join(entry.file_name())).expect("a file can be copied");
    }
    fs::remove_dir_all(job.path("sp")).expect("it is there");
    fs::remove_dir_all(job.path(".tidegate")).expect("it is there");
    elsewhere(&job, &Job::with("first"));
    job.done(&["run", "job.yaml", "--from-savepoint", "copy", "--storage", "elsewhere"]);
    assert_eq!(job.counts(), ["a 3"]);
}

#[test]
fn it_stays_when_the_job_goes_on() {
    let job = Job::counted();
    for more in ["b", "c", "d", "e", "f"] {
        job.add(more, "a\n");
        job.done(&["run", "job.yaml"]);
    }
    assert!(job.done(&["savepoint", "show", "sp"]).contains("whole"));
}

#[test]
fn a_new_version_of_another_type_migrates_before_anything_is_begun() {
    let job = Job::counted();
    job.is(&Job::with("traps"));
    let said = job.refused(&ELSEWHERE);
    assert!(said.contains("E0631") && said.contains("key `a`"), "{said}");
    elsewhere(&job, &Job::with("retyped"));
    job.done(&ELSEWHERE);
    assert_eq!(job.counts(), ["a 21"]);
}

#[test]
fn a_new_version_with_other_names_is_mapped() {
    let job = Job::counted();
    elsewhere(&job, &Job::with("renamed"));
    let said = job.refused(&ELSEWHERE);
    assert!(said.contains("E0630") && said.contains("`count/visits`"), "{said}");
    let wrong = [&ELSEWHERE[..], &["--map-state", "count/visit=calls"]].concat();
    let said = job.refused(&wrong);
    assert!(said.contains("E0445") && said.contains("its states: `visits`, `words`"), "{said}");
    let mapped = ["--map-state", "count/visits=calls", "--map-state", "count/words=texts"];
    job.done(&[&ELSEWHERE[..], &mapped].concat());
    assert_eq!(job.counts(), ["a 3"]);
    // The same command again, as who restarts it after a crash does, goes on.
    job.add("c", "a\n");
    job.done(&[&ELSEWHERE[..], &mapped].concat());
    assert_eq!(job.counts(), ["a 3", "a 4"]);
}

#[test]
fn a_changed_job_graph_is_mapped_by_uid() {
    let job = Job::counted();
    let changed = Job::with("first")
        .replace("lines:", "texts:")
        .replace("input: lines", "input: texts")
        .replace("count:", "tally:")
        .replace("input: count", "input: tally")
        .replace("name: texts", "name: lines");
    elsewhere(&job, &changed);
    let said = job.refused(&ELSEWHERE);
    assert!(said.contains("E0436"), "{said}");
    let said = job.refused(&[&ELSEWHERE[..], &["--map-operator", "counts=tally"]].concat());
    assert!(said.contains("E0445") && said.contains("`count`, `lines`, `out`"), "{said}");
    let mapped = ["--map-operator", "count=tally", "--map-operator", "lines=texts"];
    job.done(&[&ELSEWHERE[..], &mapped].concat());
    assert_eq!(job.counts(), ["a 3"]);
}

#[test]
fn a_changed_job_graph_goes_on_in_the_storage_it_has() {
    let job = Job::counted();
    job.is(&Job::with("first").replace("count:", "tally:").replace("input: count", "input: tally"));
    job.add("b", "a\n");
    job.done(&[&FROM[..], &["--map-operator", "count=tally"]].concat());
    assert_eq!(job.counts(), ["a 1", "a 2", "a 3", "b 1"]);
}

#[test]
fn what_a_changed_job_graph_has_no_more_is_dropped_by_name() {
    let job = Job::counted();
    elsewhere(&job, &Job::with("without"));
    let said = job.refused(&ELSEWHERE);
    assert!(said.contains("E0630") && said.contains("`count/words`"), "{said}");
    job.done(&[&ELSEWHERE[..], &["--allow-dropped-state", "count/words"]].concat());
    assert_eq!(job.counts(), ["a 3"]);
}

#[test]
fn another_job_is_refused_unless_it_is_named() {
    let job = Job::counted();
    elsewhere(&job, &Job::with("first").replace("name: lines", "name: other"));
    assert!(job.refused(&ELSEWHERE).contains("E0475"));
    assert!(job.refused(&[&ELSEWHERE[..], &["--savepoint-of", "another"]].concat()).contains("E0475"));
    job.done(&[&ELSEWHERE[..], &["--savepoint-of", "lines"]].concat());
    assert_eq!(job.counts(), ["a 3"]);
}

#[test]
fn another_key_is_refused() {
    let job = Job::counted();
    job.is(&Job::with("first").replace("key: $value", "key: $key"));
    let said = job.refused(&ELSEWHERE);
    assert!(said.contains("E0447"), "{said}");
}

#[test]
fn its_state_is_exported_without_the_code_that_wrote_it() {
    let job = Job::counted();
    let lines = job.done(&["savepoint", "export", "sp", "--state", "visits"]);
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    let mut shown: Vec<String> = lines.iter().map(|line| format!("{} {}", line["key"], line["value"])).collect();
    shown.sort();
    assert_eq!(shown, [r#""a" {"n":2}"#, r#""b" {"n":1}"#]);
    let words = job.done(&["savepoint", "export", "sp", "--state", "words"]);
    assert!(words.contains(r#""entry_key":1"#) && words.contains(r#""value":"x""#), "{words}");
    let said = job.refused(&["savepoint", "export", "sp", "--state", "visit"]);
    assert!(said.contains("its states: visits, words"), "{said}");
}
