//! A job that counts lines, and the versions of its function.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The versions: name, types, states, what the count is, what is kept beside it.
const VERSIONS: [(&str, &str, &str, &str); 8] = [
    ("first", "struct Visit { n: u32 }", "#[state] visits: Value<Visit>, #[state] words: List<String>,", COUNT),
    (
        "field",
        "struct Visit { n: u32, #[serde(default)] last: u32 }",
        "#[state] visits: Value<Visit>, #[state] words: List<String>,",
        "let n = self.visits.get()?.map_or(0, |it| it.n) + 1; self.visits.set(Visit { n, last: n });
         self.words.push(\"x\".to_owned())?;",
    ),
    ("swapped", "struct Visit { n: u32 }", "#[state] words: List<String>, #[state] visits: Value<Visit>,", COUNT),
    (
        "retyped",
        "struct Visit { n: i64 }
         #[derive(Serialize, Deserialize, Schema)] struct Old { n: u32 }
         fn up(stored: Stored<'_>) -> Result<Visit> { Ok(Visit { n: i64::from(stored.decode::<Old>()?.n) * 10 }) }",
        "#[state(version = 2, migrate = up)] visits: Value<Visit>, #[state] words: List<String>,",
        COUNT,
    ),
    (
        "traps",
        "struct Visit { n: i64 }
         #[derive(Serialize, Deserialize, Schema)] struct Old { n: u32 }
         fn up(stored: Stored<'_>) -> Result<Visit> {
             let n = stored.decode::<Old>()?.n; assert!(n < 2, \"too many\"); Ok(Visit { n: i64::from(n) })
         }",
        "#[state(version = 2, migrate = up)] visits: Value<Visit>, #[state] words: List<String>,",
        COUNT,
    ),
    (
        "loops",
        "struct Visit { n: i64 }
         fn up(stored: Stored<'_>) -> Result<Visit> {
             let mut n: u32 = 1; while std::hint::black_box(n) != 0 { n |= stored.version(); } Ok(Visit { n: 0 })
         }",
        "#[state(version = 2, migrate = up)] visits: Value<Visit>, #[state] words: List<String>,",
        COUNT,
    ),
    (
        "renamed",
        "struct Visit { n: u32 }",
        "#[state] calls: Value<Visit>, #[state] texts: List<String>,",
        "let n = self.calls.get()?.map_or(0, |it| it.n) + 1; self.calls.set(Visit { n });
         self.texts.push(\"x\".to_owned())?;",
    ),
    (
        "without",
        "struct Visit { n: u32 }",
        "#[state] visits: Value<Visit>,",
        "let n = self.visits.get()?.map_or(0, |it| it.n) + 1; self.visits.set(Visit { n });",
    ),
];

const COUNT: &str = "let n = self.visits.get()?.map_or(0, |it| it.n) + 1; self.visits.set(Visit { n });
    self.words.push(\"x\".to_owned())?;";

/// The job, with the function in a version.
const JOB: &str = "
name: lines
checkpoint: { interval: 50ms }
sources:
  lines: { file: { path: in }, format: raw }
functions:
  count: { input: lines, key: $value, module: MODULE }
sinks:
  out: { input: count, file: { path: out } }
";

/// The crates of all versions, in one workspace so that the SDK is compiled once.
fn crates() -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("versions");
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository");
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let members: Vec<String> = VERSIONS.iter().map(|(name, ..)| format!("\"{name}\"")).collect();
        let workspace = format!(
            "[workspace]\nresolver = \"3\"\nmembers = [{}]\n[profile.release]\nopt-level = 1\npanic = \"abort\"\nstrip = true\n",
            members.join(", ")
        );
        write(&root.join("Cargo.toml"), &workspace);
        let lock = fs::read_to_string(repository.join("examples/Cargo.lock")).expect("the lock file of the examples");
        write(&root.join("Cargo.lock"), &lock);
        for (name, types, states, count) in VERSIONS {
            let sdk = repository.join("guest-sdk");
            let manifest = format!(
                "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[lib]\ncrate-type = [\"cdylib\"]\n\
                 [dependencies]\ntidegate-guest = {{ path = \"{}\" }}\nserde = {{ version = \"1\", features = [\"derive\"] }}\n",
                sdk.display()
            );
            write(&root.join(name).join("Cargo.toml"), &manifest);
            write(&root.join(name).join("src/lib.rs"), &source(types, states, count));
        }
    });
    root
}

fn source(types: &str, states: &str, count: &str) -> String {
    format!(
        "use serde::{{Deserialize, Serialize}};
         use tidegate::prelude::*;
         #[derive(Fields)]
         pub struct Counted<'a> {{ word: &'a str, count: i64 }}
         #[derive(Serialize, Deserialize, Schema)]
         {types}
         #[tidegate::function]
         pub struct Count {{ {states} }}
         impl Keyed for Count {{
             type In = KeyOnly;
             type Out = Fields<Counted<'static>>;
             fn on_record(&mut self, _: (), cx: &mut Context<Self>) -> Result {{
                 {count}
                 cx.emit(&Counted {{ word: cx.key_text()?, count: n as i64 }});
                 Ok(())
             }}
         }}"
    )
}

/// Writes a file that has another text: what is as it was is not compiled again.
fn write(path: &Path, text: &str) {
    if fs::read_to_string(path).is_ok_and(|there| there == text) {
        return;
    }
    fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("a folder can be made");
    fs::write(path, text).expect("a file can be written");
}

/// A job in a folder of its own.
pub(crate) struct Job(tempfile::TempDir);

impl Job {
    /// The first version, run over `a`, `a` and `b`: all of it is in a final checkpoint, and in the savepoint `sp`.
    pub(crate) fn counted() -> Self {
        let job = Self(tempfile::tempdir().expect("a temporary folder"));
        fs::create_dir(job.path("in")).expect("a folder");
        fs::create_dir(job.path("elsewhere")).expect("a folder");
        job.add("a", "a\na\nb\n");
        job.is(&Self::with("first"));
        job.done(&["run", "job.yaml", "--stop-with-savepoint", "sp"]);
        assert_eq!(job.counts(), ["a 1", "a 2", "b 1"]);
        job
    }

    /// The job file with a version of its function.
    pub(crate) fn with(version: &str) -> String {
        JOB.replace("MODULE", &crates().join(version).display().to_string())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Makes `text` the job file.
    pub(crate) fn is(&self, text: &str) {
        fs::write(self.path("job.yaml"), text).expect("the job file can be written");
    }

    /// Adds a file to read.
    pub(crate) fn add(&self, name: &str, lines: &str) {
        fs::write(self.path(&format!("in/{name}.txt")), lines).expect("an input can be written");
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
        command.args(arguments).current_dir(self.0.path()).stdin(Stdio::null());
        command.env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
        command.env_remove("TIDEGATE_LOG").env_remove("TIDEGATE_STORAGE").output().expect("the binary starts")
    }

    /// Runs what must end well; returns what it said.
    pub(crate) fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
        assert!(output.status.success(), "{arguments:?}: {said}");
        said
    }

    /// Runs what must be refused; returns why, in one line.
    pub(crate) fn refused(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{arguments:?} is refused: {said}");
        said.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ")
    }

    /// The counts that are published, sorted.
    pub(crate) fn counts(&self) -> Vec<String> {
        let mut counts = Vec::new();
        for file in self.done(&["files", "list", "out"]).lines() {
            let text = fs::read_to_string(self.path(file)).expect("a listed file is there");
            counts.extend(text.lines().map(|line| {
                let line: serde_json::Value = serde_json::from_str(line).expect("a line is JSON");
                format!("{} {}", line["word"].as_str().unwrap_or_default(), line["count"])
            }));
        }
        counts.sort();
        counts
    }

    /// Whether the newest count of `word` is `count`, once the job has read the word `times` more.
    pub(crate) fn has(&self, count: &str) -> bool {
        self.counts().iter().any(|it| it == count)
    }
}
