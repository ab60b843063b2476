//! Jobs with checkpoints, five ways against one output.
//!
//! 1. straight
//! 2. checkpoint, then restore: half of the input, then all of it
//! 3. as 2, restored at another parallelism
//! 4. killed between its first manifest and its publication, and within that, and started again
//! 5. half of the input, a savepoint, and all of it from there in an empty storage at another parallelism
//!
//! The one output is that of the same job without checkpoints.
//!
//! Where the end of the input has an effect of its own, since every timer fires there, half of the input is no part of
//! the whole. Such a job is killed in the middle instead, and goes on as in 2, 3 and 5 from its last checkpoint.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::{Output, collect, difference, root};

/// A job in a folder of its own.
struct Job {
    folder: tempfile::TempDir,
    /// The inputs, with what they hold.
    inputs: Vec<(PathBuf, Vec<u8>)>,
}

impl Job {
    /// The job file at `from`, its paths of modules made whole; with checkpoints, nothing is overwritten.
    fn new(from: &Path, has_checkpoints: bool) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let mut inputs = Vec::new();
        copy_inputs(from, folder.path(), &mut inputs);
        let job = fs::read_to_string(from.join("job.yaml")).expect("there is a job file");
        let examples = root().join("examples").display().to_string();
        let mut job =
            job.replace("$EXAMPLES", &examples).replace("module: ./", &format!("module: {}/", from.display()));
        if has_checkpoints {
            job = job.replace(", overwrite: true", "");
            job.push_str("\ncheckpoint: { interval: 20ms }\n");
        }
        fs::write(folder.path().join("job.yaml"), job).expect("the job file can be written");
        Self { folder, inputs }
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
        command.args(["run", "job.yaml", "--quiet"]).args(more).current_dir(self.folder.path());
        command.env_remove("TIDEGATE_STORAGE").stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    fn run(&self, more: &[&str]) {
        let ran = self.command(more).output().expect("the binary runs");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    }

    fn output(&self) -> Output {
        collect(&self.folder.path().join("out"))
    }

    /// Leaves of each input the lines of its first half.
    fn halve(&self) {
        for (path, bytes) in &self.inputs {
            fs::write(path, halves(bytes).0).expect("an input can be cut");
        }
    }

    /// Adds the other half.
    fn complete(&self) {
        for (path, bytes) in &self.inputs {
            let mut file = OpenOptions::new().append(true).open(path).expect("an input can be opened");
            file.write_all(halves(bytes).1).expect("an input can grow");
        }
    }

    /// Makes a savepoint, and an empty storage to go to.
    fn savepoint(&self) {
        fs::create_dir(self.folder.path().join("elsewhere")).expect("a folder can be made");
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
        command.args(["savepoint", "create", "--to", "savepoint"]).current_dir(self.folder.path());
        let made = command.env_remove("TIDEGATE_STORAGE").output().expect("the binary runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }

    /// Few records a batch, few batches on their way, and no rest between checkpoints: a job is at work for some of them.
    fn in_small_batches(self) -> Self {
        let job = self.folder.path().join("job.yaml");
        let text = fs::read_to_string(&job).expect("the job file is there");
        let mut text = text.replace("interval: 20ms", "interval: 20ms, min_pause: 0s");
        text.push_str("batch: { max_rows: 64 }\nqueue_bytes: 64KiB\n");
        fs::write(&job, text).expect("the job file can be written");
        self
    }

    /// Runs the job until something of it is published, and stops it with a savepoint.
    fn stop_with_savepoint(&self) {
        let mut command = self.command(&["--stop-with-savepoint", "savepoint"]);
        let mut child = command.env("FAILPOINTS", "after-state-write=sleep(10)").spawn().expect("the binary starts");
        while !self.folder.path().join("out").is_dir() || self.output().values().all(Vec::is_empty) {
            assert!(
                child.try_wait().expect("a child can be asked").is_none(),
                "it ended before anything was published"
            );
            std::thread::park_timeout(Duration::from_millis(2));
        }
        let stopped = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
        assert!(stopped.expect("a signal can be sent").success());
        assert_eq!(child.wait().expect("it ends").code(), Some(130));
        fs::create_dir(self.folder.path().join("elsewhere")).expect("a folder can be made");
    }

    /// The savepoint shows the pending timers, each with its time, without the code that set them.
    fn check_timers_can_be_read(&self) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
        command.args(["savepoint", "export", "savepoint", "--state", "timers:event-time"]);
        let shown = command.current_dir(self.folder.path()).output().expect("the binary runs");
        let shown = String::from_utf8(shown.stdout).expect("it writes text");
        assert!(!shown.is_empty(), "timers are pending");
        for line in shown.lines() {
            let timer: Value = serde_json::from_str(line).expect("a line of JSON");
            assert!(timer.get("entry_key").is_some_and(Value::is_i64), "{line}");
            assert!(timer.get("value").is_some_and(Value::is_null), "{line}");
            let at = timer.get("at").and_then(Value::as_str);
            assert!(at.is_some_and(|at| at.starts_with("20") && at.ends_with('Z')), "{line}");
        }
    }

    /// Runs the job with these points armed, at one of which it is killed.
    fn kill_at(&self, points: &str) {
        let mut command = self.command(&[]);
        let killed = command.env("FAILPOINTS", points).output().expect("the binary runs");
        let said = String::from_utf8_lossy(&killed.stderr).into_owned();
        assert_eq!(killed.status.signal(), Some(SIGKILL), "{points}: {:?} {said}", killed.status);
    }
}

const SIGKILL: i32 = 9;

/// Cuts after the line at the middle.
fn halves(bytes: &[u8]) -> (&[u8], &[u8]) {
    let line = bytes.split_at(bytes.len() / 2).1.iter().position(|byte| *byte == b'\n');
    bytes.split_at(line.map_or(bytes.len(), |at| bytes.len() / 2 + at + 1))
}

/// Copies what a job reads: its folder `input`, or the files beside the job file.
fn copy_inputs(from: &Path, to: &Path, inputs: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(from).expect("the folder can be read").flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let is_input = name.to_str().is_some_and(|name| !["job.yaml", "README.md", "make.py"].contains(&name));
        if path.is_dir() && (from.ends_with("input") || name == "input") {
            fs::create_dir_all(to.join(&name)).expect("a folder can be made");
            copy_inputs(&path, &to.join(&name), inputs);
        } else if path.is_file() && is_input {
            let bytes = fs::read(&path).expect("an input can be read");
            fs::write(to.join(&name), &bytes).expect("an input can be copied");
            inputs.push((to.join(&name), bytes));
        }
    }
}

/// Runs the job at `from` every way. `may_grow`: whether its input can be cut between two lines.
fn check(from: &str, may_grow: bool) {
    let from = root().join(from);
    let plain = Job::new(&from, false);
    plain.run(&[]);
    let expected = plain.output();
    assert!(expected.values().any(|lines| !lines.is_empty()), "the job writes something");

    let straight = Job::new(&from, true);
    straight.run(&[]);
    compare("straight", &expected, &straight.output());

    for point in ["after-manifest", "mid-publish"] {
        let killed = Job::new(&from, true);
        killed.kill_at(&format!("{point}=kill(1)"));
        killed.run(&[]);
        compare(&format!("killed {point}"), &expected, &killed.output());
    }

    let restores: &[(&str, &[&str])] =
        &[("restored", &[]), ("restored at another parallelism", &["--parallelism", "3"])];
    for (way, more) in restores.iter().filter(|_| may_grow) {
        let restored = Job::new(&from, true);
        restored.halve();
        restored.run(&[]);
        restored.complete();
        restored.run(more);
        compare(way, &expected, &restored.output());
    }
    if may_grow {
        let moved = Job::new(&from, true);
        moved.halve();
        moved.run(&[]);
        moved.savepoint();
        moved.complete();
        moved.run(&["--storage", "elsewhere", "--from-savepoint", "savepoint", "--parallelism", "3"]);
        compare("from a savepoint", &expected, &moved.output());
    }
}

/// Runs the job at `from` every way, without an end that is none.
fn check_between_ends(from: &str) {
    let from = root().join(from);
    let plain = Job::new(&from, false);
    plain.run(&[]);
    let expected = plain.output();
    assert!(expected.values().any(|lines| !lines.is_empty()), "the job writes something");

    let straight = Job::new(&from, true);
    straight.run(&[]);
    compare("straight", &expected, &straight.output());

    // Held up, so that checkpoints fall between its first record and its last.
    let killed_in_the_middle = |point: &str| {
        let job = Job::new(&from, true).in_small_batches();
        job.kill_at(&format!("after-state-write=sleep(10);{point}"));
        assert_ne!(job.output(), expected, "{point}: it was killed too late");
        job
    };
    let restores: &[(&str, &[&str])] =
        &[("restored", &[]), ("restored at another parallelism", &["--parallelism", "3"])];
    for point in ["after-manifest=kill(1)", "after-manifest=kill(3)", "mid-publish=kill(2)", "before-snapshot=kill(4)"]
    {
        for (way, more) in restores {
            let restored = killed_in_the_middle(point);
            restored.run(more);
            compare(&format!("killed {point}, {way}"), &expected, &restored.output());
        }
    }
    let moved = Job::new(&from, true).in_small_batches();
    moved.stop_with_savepoint();
    assert_ne!(moved.output(), expected, "it was stopped too late");
    moved.check_timers_can_be_read();
    moved.run(&["--storage", "elsewhere", "--from-savepoint", "savepoint", "--parallelism", "3"]);
    compare("from a savepoint", &expected, &moved.output());
}

fn compare(way: &str, expected: &Output, found: &Output) {
    assert_eq!(expected.keys().collect::<Vec<_>>(), found.keys().collect::<Vec<_>>(), "{way}: sinks");
    for (sink, lines) in expected {
        let text = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let (expected, found) = (text(lines), text(&found[sink]));
        assert!(expected == found, "{way}, sink `{sink}`:\n{}", difference(&expected, &found));
    }
}

#[test]
fn dedup_survives() {
    check("examples/dedup", true);
}

#[test]
fn quakes_survive() {
    check("examples/quakes", true);
}

#[test]
fn mask_survives() {
    check("examples/mask", true);
}

#[test]
fn word_count_survives() {
    check("examples/word-count", true);
}

#[test]
fn airport_delays_survive() {
    check("examples/airport-delays", true);
}

#[test]
fn unpaid_orders_survive() {
    check_between_ends("examples/unpaid-orders");
}

#[test]
fn broken_json_survives() {
    check("tests/golden/cases/broken-json", true);
}

/// A quote that opens in one line and closes in another spans every place at which the file could be cut.
#[test]
fn broken_csv_survives() {
    check("tests/golden/cases/broken-csv", false);
}

#[test]
fn poison_survives() {
    check("tests/golden/cases/poison", true);
}
