//! Jobs with checkpoints as a person meets them: what is said, what is refused, and what is there after a kill.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Lines go from a file into an exactly-once directory.
const COPY: &str = "
name: copy
checkpoint: { interval: 50ms }
sources:
  lines: { file: { path: in }, format: raw }
sinks:
  out: { input: lines, file: { path: out } }
";

/// Made-up lines without end, in order, slowly.
const ENDLESS: &str = "
name: endless
checkpoint: { interval: 20ms }
sources:
  numbers: { generator: { shape: raw, rate: 2000 } }
sinks:
  out: { input: numbers, file: { path: out } }
";

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    command.args(arguments).current_dir(folder).env("XDG_CACHE_HOME", folder.join("cache"));
    command.env_remove("TIDEGATE_LOG").env_remove("TIDEGATE_STORAGE").stdin(Stdio::null());
    command
}

fn tidegate(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().expect("the binary starts")
}

/// Runs and returns what was said on both outputs; it must end well.
fn done(folder: &Path, arguments: &[&str]) -> String {
    let output = tidegate(folder, arguments);
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8(said).expect("UTF-8")).concat();
    assert!(output.status.success(), "{arguments:?}: {said}");
    said
}

fn refused(folder: &Path, arguments: &[&str]) -> String {
    let output = tidegate(folder, arguments);
    let said = String::from_utf8(output.stderr).expect("messages are UTF-8");
    assert!(!output.status.success(), "{arguments:?} is refused");
    // Messages are wrapped at the width of the terminal.
    said.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ")
}

fn json(folder: &Path, arguments: &[&str]) -> serde_json::Value {
    let output = tidegate(folder, &[arguments, &["--output", "json"]].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {said}");
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

/// A folder with the job, and lines to read.
fn folder(job: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("job.yaml"), job).expect("a file");
    fs::create_dir(folder.path().join("in")).expect("a folder");
    fs::write(folder.path().join("in/a.txt"), "one\ntwo\n").expect("a file");
    folder
}

/// The lines that are published, sorted.
fn published(folder: &Path) -> Vec<String> {
    let files = done(folder, &["files", "list", "out"]);
    let mut lines = Vec::new();
    for file in files.lines() {
        let text = fs::read_to_string(folder.join(file)).expect("a listed file is there");
        lines.extend(text.lines().map(str::to_owned));
    }
    lines.sort();
    lines
}

#[test]
fn a_job_resumes_by_itself_and_reads_what_was_added() {
    let folder = folder(COPY);
    let folder = folder.path();
    let said = done(folder, &["run", "job.yaml"]);
    assert!(said.contains("begins lineage") && said.contains("exactly-once: `out`"), "{said}");
    assert_eq!(published(folder), ["one", "two"]);
    fs::write(folder.join("in/b.txt"), "three\n").expect("a file");
    // Named in another way, the job file is the same.
    let elsewhere = folder.join("./job.yaml");
    let said = done(Path::new("/"), &["run", elsewhere.to_str().expect("UTF-8")]);
    assert!(said.contains("resumes from checkpoint 1 of lineage"), "{said}");
    assert_eq!(published(folder), ["one", "three", "two"]);
    let summary = json(folder, &["run", "job.yaml"]);
    assert_eq!(summary["records_in"], 0);
    assert_eq!(summary["checkpoints"]["delivery"]["out"], "exactly-once");
    assert_eq!(summary["checkpoints"]["generation"], 3);
}

#[test]
fn checkpoints_are_listed_and_shown() {
    let folder = folder(COPY);
    let folder = folder.path();
    done(folder, &["run", "job.yaml"]);
    let list = json(folder, &["checkpoint", "list"]);
    assert_eq!((&list["job"], &list["checkpoints"][0]["kind"]), (&"copy".into(), &"final".into()));
    let shown = json(folder, &["checkpoint", "show", "1", "--job", "copy"]);
    assert_eq!(shown["sources"][0]["splits"][0]["split"], "in/a.txt");
    assert_eq!(shown["sources"][0]["splits"][0]["position"], 8);
    assert!(done(folder, &["checkpoint", "list"]).contains("1 complete checkpoint\n"));
    assert!(done(folder, &["checkpoint", "show"]).contains("in/a.txt"));
    assert!(refused(folder, &["checkpoint", "show", "7"]).contains("E0471"));
    assert!(refused(folder, &["checkpoint", "list", "--job", "other"]).contains("its jobs: `copy`"));
    assert!(refused(folder, &["checkpoint", "list", "--storage", "nowhere"]).contains("E0405"));
}

#[test]
fn a_new_beginning_has_to_be_said_twice() {
    let folder = folder(COPY);
    let folder = folder.path();
    done(folder, &["run", "job.yaml", "--quiet"]);
    let said = refused(folder, &["run", "job.yaml", "--fresh"]);
    assert!(said.contains("E0472") && said.contains("--fresh --yes"), "{said}");
    assert_eq!(published(folder), ["one", "two"]);
    done(folder, &["run", "job.yaml", "--fresh", "--yes"]);
    assert_eq!(published(folder), ["one", "one", "two", "two"]);
    let said = done(folder, &["run", "job.yaml"]);
    assert!(said.contains("resumes from checkpoint"), "{said}");
    assert_eq!(published(folder), ["one", "one", "two", "two"]);
}

#[test]
fn a_new_beginning_may_have_another_number_of_key_groups() {
    let folder = folder(COPY);
    let folder = folder.path();
    done(folder, &["run", "job.yaml", "--quiet"]);
    fs::write(folder.join("job.yaml"), format!("key_groups: 64{COPY}")).expect("a file");
    done(folder, &["run", "job.yaml", "--fresh", "--yes"]);
    assert_eq!(published(folder), ["one", "one", "two", "two"]);
    assert_eq!(json(folder, &["checkpoint", "show"])["key_groups"], 64);
    done(folder, &["run", "job.yaml"]);
}

#[test]
fn the_number_of_key_groups_never_changes() {
    let folder = folder(COPY);
    let folder = folder.path();
    done(folder, &["run", "job.yaml", "--quiet"]);
    fs::write(folder.join("job.yaml"), format!("key_groups: 64{COPY}")).expect("a file");
    let said = refused(folder, &["run", "job.yaml"]);
    assert!(said.contains("E0434") && said.contains("64") && said.contains("128"), "{said}");
}

#[test]
fn options_of_jobs_with_checkpoints_are_refused_where_there_are_none() {
    let folder = folder(&COPY.replace("checkpoint: { interval: 50ms }\n", ""));
    for options in [&["--fresh"][..], &["--from-savepoint", "x"], &["--allow-dropped-state", "a/b"]] {
        let said = refused(folder.path(), &[&["run", "job.yaml"], options].concat());
        assert!(said.contains("has no `checkpoint`"), "{said}");
    }
}

#[test]
fn a_storage_root_that_is_named_has_to_be_there() {
    let folder = folder(COPY);
    let said = refused(folder.path(), &["run", "job.yaml", "--storage", "not-mounted"]);
    assert!(said.contains("E0405") && said.contains("not-mounted"), "{said}");
    assert!(!folder.path().join("out").exists());
}

#[test]
fn a_killed_job_goes_on_without_a_loss_or_a_repeat() {
    let folder = folder(ENDLESS);
    let folder = folder.path();
    for _ in 0..3 {
        let records = records_of_log(folder) + 4;
        let mut child = command(folder, &["run", "job.yaml", "--quiet"]).spawn().expect("the binary starts");
        while records_of_log(folder) < records {
            assert!(child.try_wait().expect("it can be looked at").is_none(), "an endless job does not end");
            std::thread::park_timeout(Duration::from_millis(2));
        }
        child.kill().expect("it can be killed");
        child.wait().expect("it was killed");
    }
    let ended = ENDLESS.replace("rate: 2000", "records: 5000");
    fs::write(folder.join("job.yaml"), ended).expect("a file");
    done(folder, &["run", "job.yaml", "--quiet"]);
    let lines = published(folder);
    let distinct: std::collections::BTreeSet<&String> = lines.iter().collect();
    assert_eq!((lines.len(), distinct.len()), (5000, 5000));
}

/// How many records the log of the only job has had.
fn records_of_log(folder: &Path) -> u64 {
    let log = fs::read_dir(folder.join(".tidegate/jobs/endless/log"));
    let names = log.into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.filter_map(|name| name.to_str()?.parse::<u64>().ok()).max().map_or(0, |newest| newest + 1)
}

#[test]
fn published_files_are_verified() {
    let folder = folder(&COPY.replace("file: { path: out }", "file: { path: out, layout: commits }"));
    let folder = folder.path();
    done(folder, &["run", "job.yaml", "--quiet"]);
    assert!(done(folder, &["files", "verify", "out"]).contains("1 files with 2 records"));
    let file = done(folder, &["files", "list", "out"]);
    let file = folder.join(file.trim());
    let whole = fs::read(&file).expect("it is there");
    fs::write(&file, [&whole[..1], b"N", &whole[2..]].concat()).expect("it can be broken");
    assert!(refused(folder, &["files", "verify", "out"]).contains("E0473"));
    fs::remove_file(&file).expect("it can be removed");
    assert!(refused(folder, &["files", "verify", "out"]).contains("missing"));
}

#[test]
fn savepoints_are_made_listed_shown_and_removed() {
    let folder = folder(COPY);
    let folder = folder.path();
    assert!(refused(folder, &["savepoint", "create", "--to", "sp", "--storage", "."]).contains("E0470"));
    done(folder, &["run", "job.yaml", "--quiet", "--stop-with-savepoint", "first"]);
    let made = json(folder, &["savepoint", "create", "--to", "second"]);
    assert_eq!(made["metadata"]["job"], "copy");
    assert!(refused(folder, &["savepoint", "create", "--to", "second"]).contains("E0424"));
    let list = json(folder, &["savepoint", "list", "."]);
    assert_eq!(list["savepoints"].as_array().map(Vec::len), Some(2));
    let shown = json(folder, &["savepoint", "show", "first"]);
    assert_eq!(shown["sources"]["lines"]["splits"][0]["name"], "in/a.txt");
    assert!(done(folder, &["savepoint", "show", "first"]).contains("whole"));
    assert_eq!(done(folder, &["savepoint", "export", "first"]), "");
    fs::write(folder.join("first/mine.txt"), "keep me").expect("a file");
    assert!(refused(folder, &["savepoint", "remove", "first"]).contains("E0476"));
    fs::remove_file(folder.join("first/mine.txt")).expect("it is there");
    done(folder, &["savepoint", "remove", "first"]);
    assert!(!folder.join("first").exists() && folder.join("second").exists());
    assert!(refused(folder, &["savepoint", "remove", "in"]).contains("E0421"));
    assert!(folder.join("in/a.txt").exists());
    assert!(refused(folder, &["savepoint", "show", "nowhere"]).contains("E0420"));
}

#[test]
fn going_back_to_a_savepoint_has_to_be_said() {
    let folder = folder(COPY);
    let folder = folder.path();
    done(folder, &["run", "job.yaml", "--quiet", "--stop-with-savepoint", "before"]);
    fs::write(folder.join("in/b.txt"), "three\n").expect("a file");
    done(folder, &["run", "job.yaml", "--quiet"]);
    let said = refused(folder, &["run", "job.yaml", "--from-savepoint", "before"]);
    assert!(said.contains("E0474") && said.contains("--rewind"), "{said}");
    assert_eq!(published(folder), ["one", "three", "two"]);
    let rewind = ["run", "job.yaml", "--from-savepoint", "before", "--rewind"];
    done(folder, &rewind);
    assert_eq!(published(folder), ["one", "three", "three", "two"]);
    // The same command again, as who restarts it after a crash does, goes on and does not go back.
    done(folder, &rewind);
    assert_eq!(published(folder), ["one", "three", "three", "two"]);
}

#[test]
fn a_savepoint_of_another_job_or_with_other_key_groups_is_refused_by_name() {
    let folder = folder(COPY);
    let folder = folder.path();
    done(folder, &["run", "job.yaml", "--quiet", "--stop-with-savepoint", "sp"]);
    fs::write(folder.join("other.yaml"), COPY.replace("name: copy", "name: other")).expect("a file");
    let said = refused(folder, &["run", "other.yaml", "--from-savepoint", "sp"]);
    assert!(said.contains("E0475") && said.contains("is of job `copy`: expected `other`"), "{said}");
    fs::write(folder.join("job.yaml"), format!("key_groups: 64{COPY}")).expect("a file");
    fs::create_dir(folder.join("elsewhere")).expect("a folder");
    let said = refused(folder, &["run", "job.yaml", "--from-savepoint", "sp", "--storage", "elsewhere"]);
    assert!(said.contains("E0475") && said.contains("128 key groups"), "{said}");
    assert_eq!(fs::read_dir(folder.join("elsewhere/jobs/copy/log")).expect("the log").count(), 0);
}

#[test]
fn another_spelling_of_a_path_is_the_same_source() {
    let folder = folder(COPY);
    let folder = folder.path();
    done(folder, &["run", "job.yaml"]);
    std::os::unix::fs::symlink("in", folder.join("link")).expect("a link");
    for spelled in ["./in/", "./in/../in", "link"] {
        fs::write(folder.join("job.yaml"), COPY.replace("path: in }", &format!("path: {spelled} }}"))).expect("a file");
        done(folder, &["run", "job.yaml"]);
        assert_eq!(published(folder), ["one", "two"], "{spelled}");
    }
}
