//! A job in a folder, and processes that run it.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use crate::input::{Input, SPLITS};
use crate::oracle;

/// Holds every batch up a little, so that a run has several checkpoints however fast the machine is.
pub(crate) const PACE: &str = "after-state-write=sleep(1)";

/// Holds them up so long that a test can do something meanwhile.
pub(crate) const SLOW: &str = "after-state-write=sleep(10)";

/// Lines of each split that one append brings.
pub(crate) const LINES: u64 = 750;

/// The functions, built once, and where they are kept compiled.
struct Modules {
    dedup: PathBuf,
    delays: PathBuf,
    cache: PathBuf,
}

static MODULES: LazyLock<Modules> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kill");
    fs::create_dir_all(&folder).expect("a folder for modules can be made");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let build = |name: &str| {
        let out = folder.join(format!("{name}.wasm"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
        command.arg("build").arg(examples.join(name).join("guest")).arg("-o").arg(&out);
        let built = command.output().expect("the binary starts");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        out
    };
    Modules { dedup: build("dedup"), delays: build("airport-delays"), cache: folder.join("compiled") }
});

/// See the module documentation of the crate.
pub(crate) struct World {
    folder: tempfile::TempDir,
    /// How the job takes checkpoints.
    checkpoint: String,
    pub(crate) input: Input,
}

impl World {
    /// A world whose checkpoints come as fast as they can.
    pub(crate) fn new(seed: u64) -> Self {
        Self::with_checkpoints(seed, "interval: 10ms")
    }

    pub(crate) fn with_checkpoints(seed: u64, checkpoint: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let world = Self { folder, checkpoint: checkpoint.to_owned(), input: Input::new(seed) };
        world.write_job();
        for folder in ["in", "out", ".tidegate"] {
            fs::create_dir(world.path(folder)).expect("a folder can be made");
        }
        world
    }

    /// Later runs take checkpoints so.
    pub(crate) fn take_checkpoints(&mut self, checkpoint: &str) {
        checkpoint.clone_into(&mut self.checkpoint);
        self.write_job();
    }

    fn write_job(&self) {
        let (dedup, delays) = (MODULES.dedup.display(), MODULES.delays.display());
        let checkpoint = &self.checkpoint;
        let job = format!(
            "
name: flights
parallelism: 2
batch: {{ max_rows: 32 }}
queue_bytes: 64KiB
checkpoint: {{ {checkpoint} }}
restart: {{ attempts: 3, backoff: 10ms }}
sources:
  flights:
    file: {{ path: in }}
    format: json
    event_time: {{ field: /number, unit: ms }}
    on_error: dead-letter
functions:
  dedup: {{ input: flights, key: /id, module: {dedup}, on_error: dead-letter }}
  delays:
    input: dedup
    key: /origin
    module: {delays}
    on_error: dead-letter
    config: {{ figures_every: 1, late_minutes: 15, alert_from: 1000000, raise_above: 1.0, clear_below: 0.5 }}
sinks:
  clean: {{ input: dedup, file: {{ path: out/clean, layout: commits }} }}
  figures: {{ input: delays, format: json, file: {{ path: out/figures }} }}
dead_letters: {{ file: {{ path: out/dead }} }}
"
        );
        fs::write(self.path("job.yaml"), job).expect("a file can be written");
    }

    /// Has what functions keep stored by another backend from the next run on.
    #[cfg(feature = "rocksdb")]
    pub(crate) fn store_state_in(&self, backend: &str) {
        let job = fs::read_to_string(self.path("job.yaml")).expect("a file can be read");
        let job = job.split("state:").next().unwrap_or_default();
        let job = format!("{}state: {{ backend: {backend} }}\n", job);
        fs::write(self.path("job.yaml"), job).expect("a file can be written");
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    /// Adds lines to every split.
    pub(crate) fn append(&mut self, lines: u64) {
        for (name, text) in SPLITS.iter().zip(self.input.more(lines)) {
            let path = self.path("in").join(name);
            let mut file = OpenOptions::new().create(true).append(true).open(path).expect("an input can be opened");
            file.write_all(text.as_bytes()).expect("an input can grow");
        }
    }

    pub(crate) fn command(&self, points: &str, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
        command.args(["run", "job.yaml", "--quiet"]).args(more).current_dir(self.folder.path());
        command.env("FAILPOINTS", points).env("TIDEGATE_CACHE", &MODULES.cache);
        command.env_remove("TIDEGATE_STORAGE").env_remove("TIDEGATE_LOG");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn spawn(&self, points: &str, more: &[&str]) -> Child {
        self.command(points, more).spawn().expect("the binary starts")
    }

    /// Runs with points armed. Says whether one of them ended it.
    pub(crate) fn run_armed(&self, points: &str, more: &[&str]) -> bool {
        let ended = self.command(points, more).output().expect("the binary starts");
        let was_killed = ended.status.signal() == Some(9);
        assert!(was_killed || ended.status.success(), "{points}: {}", said(&ended));
        self.check_hidden();
        self.check_listed();
        was_killed
    }

    /// Runs to the end of the input.
    pub(crate) fn finish(&self, more: &[&str]) {
        let ended = self.command("", more).output().expect("the binary starts");
        assert!(ended.status.success(), "{}", said(&ended));
    }

    /// Runs, which must be refused. Returns what was said.
    pub(crate) fn refused(&self) -> String {
        let ended = self.command("", &[]).output().expect("the binary starts");
        assert!(!ended.status.success(), "it must not start");
        said(&ended)
    }

    /// Panics where something is visible of an epoch that no manifest has.
    pub(crate) fn check_hidden(&self) {
        let newest = oracle::newest_manifest(&self.log());
        let known = newest.map(|(_, manifest)| manifest.epoch.0);
        let visible = oracle::newest_visible(&self.path("out"));
        assert!(visible <= known, "epoch {visible:?} is visible, the newest manifest is of {known:?}");
    }

    /// Panics where the newest manifest lists what is not there.
    pub(crate) fn check_listed(&self) {
        if let Some((_, manifest)) = oracle::newest_manifest(&self.log()) {
            oracle::check_objects(&self.place(), &manifest);
        }
    }

    /// Panics unless what is committed is the model's, and nothing else lies about.
    pub(crate) fn check(&self) {
        oracle::check(&self.path("out"), &self.input.model);
        let left = oracle::leftovers(&self.path("out"));
        assert!(left.is_empty(), "left behind: {left:?}");
    }

    pub(crate) fn place(&self) -> PathBuf {
        self.path(".tidegate/jobs/flights")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.place().join("log")
    }

    /// Waits until `is_so`, while the process runs. False: it ended before.
    pub(crate) fn wait_for(child: &mut Child, mut is_so: impl FnMut() -> bool) -> bool {
        loop {
            if is_so() {
                return true;
            }
            if child.try_wait().expect("it can be looked at").is_some() {
                return false;
            }
            std::thread::park_timeout(Duration::from_millis(1));
        }
    }

    /// How many records the log has had.
    pub(crate) fn records(&self) -> u64 {
        oracle::numbers(&self.log()).last().map_or(0, |newest| newest + 1)
    }
}

/// Ends a process from outside.
pub(crate) fn kill(mut child: Child) {
    child.kill().expect("it can be killed, or has ended");
    child.wait().expect("it has ended");
}

/// What a process said, in one line.
pub(crate) fn said(ended: &Output) -> String {
    let text = String::from_utf8_lossy(&ended.stderr);
    text.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ")
}
