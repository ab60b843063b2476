//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use model::{TimeUnit, pointer_steps};
use runtime::EventTimeCut;

use crate::storage::{StorageRoot, root_parser};

/// Runs your functions, compiled to WebAssembly, over streams of records, and never lets a record
/// through twice.
#[derive(Debug, Parser)]
#[command(name = "tidegate", version, propagate_version = true, arg_required_else_help = true)]
#[command(after_help = "Start here:\n  tidegate new my-dedup && cd my-dedup && tidegate run job.yaml\n\n\
    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 cancelled with Ctrl-C.")]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,

    #[command(flatten)]
    pub(crate) global: Global,
}

/// Options every command takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// How results are printed.
    #[arg(long, global = true, value_enum, default_value_t = OutputFormat::Human)]
    pub(crate) output: OutputFormat,

    /// Which log lines go to standard error: `warn`, `info`, `guest=debug`, ... (tracing filter syntax).
    #[arg(long, global = true, env = "TIDEGATE_LOG", default_value = "warn", value_name = "FILTER")]
    pub(crate) log: String,

    /// Log lines as JSON.
    #[arg(long, global = true)]
    pub(crate) log_json: bool,
}

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people.
    Human,
    /// For programs: one JSON document on standard output; errors as JSON on standard error.
    Json,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a new function crate that builds, with a test and a job file.
    #[command(after_help = "Example:\n  tidegate new orders-dedup --template dedup")]
    New(New),
    /// Compile a function crate to a component and check it against the host's world.
    #[command(after_help = "Examples:\n  tidegate build\n  tidegate build examples/dedup/guest\n  \
        tidegate build some-component.wasm      # only checks and describes it")]
    Build(Build),
    /// Run a function over records in batch sizes 1, 7 and 512, with its instance thrown away in
    /// between, and compare what comes out with what is expected.
    #[command(after_help = "Example:\n  tidegate test examples/dedup/guest --key /id \
        --event-time /delivered_at:ms --input input.jsonl --expect expected.jsonl\n\n\
        Exit codes: 0 everything is as expected, 1 something differs or a record was rejected with --on-error fail, \
        2 wrong usage.")]
    Test(Test),
    /// Run one job in this process.
    #[command(after_help = "Examples:\n  tidegate run examples/dedup/job.yaml\n  \
        tidegate run job.yaml --output json | jq .operators\n  tidegate run job.yaml --check\n  \
        tidegate run job.yaml --storage /var/lib/tidegate     # resumes from the newest checkpoint there\n  \
        tidegate run job.yaml --parallelism 4                 # resumes with its state spread anew\n  \
        tidegate run job.yaml --from-savepoint ./before-upgrade")]
    Run(Run),
    /// The checkpoints of a job.
    Checkpoint {
        /// What to do.
        #[command(subcommand)]
        command: crate::commands::checkpoint::Command,
    },
    /// Savepoints: state that belongs to you, complete in itself.
    Savepoint {
        /// What to do.
        #[command(subcommand)]
        command: crate::commands::savepoint::Command,
    },
    /// The files that an exactly-once sink has published.
    Files {
        /// What to do.
        #[command(subcommand)]
        command: crate::commands::files::Command,
    },
    /// Explain an error: what happened, why, and what to do. Without a code, list all of them.
    #[command(after_help = "Example:\n  tidegate explain E0405")]
    Explain(crate::commands::explain::Explain),
    /// Print the JSON Schema of the job file.
    #[command(after_help = "Example:\n  tidegate schema > job.schema.json")]
    Schema,
    /// Print shell completions.
    #[command(after_help = "Example:\n  tidegate completions bash > /etc/bash_completion.d/tidegate")]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page.
    #[command(after_help = "Example:\n  tidegate man | man -l -")]
    Man,

    /// Server with REST, web UI and metrics.
    #[command(hide = true)]
    Server(NotAvailable),
    /// The module registry.
    #[command(hide = true)]
    Module(NotAvailable),
    /// Jobs of a server.
    #[command(hide = true)]
    Job(NotAvailable),
    /// Live keyed state.
    #[command(hide = true)]
    State(NotAvailable),
    /// Records given up on.
    #[command(hide = true)]
    DeadLetter(NotAvailable),
    /// The exactly-once self-test.
    #[command(hide = true)]
    Verify(NotAvailable),
}

/// A command whose name is taken and whose work is not built.
#[derive(Debug, Args)]
pub(crate) struct NotAvailable {
    /// Whatever is given.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) rest: Vec<String>,
}

/// `tidegate new`.
#[derive(Debug, Args)]
pub(crate) struct New {
    /// The name of the function: 1 to 64 of a-z, 0-9 and `-`, a letter first. A folder of this name is made.
    pub(crate) name: String,
    /// What to start from: `dedup` (keyed, drops repeats) or `map` (stateless).
    #[arg(long, default_value = "dedup")]
    pub(crate) template: String,
    /// Take the SDK from this folder instead of from where the tidegate sources were built.
    #[arg(long, value_name = "DIR")]
    pub(crate) sdk: Option<PathBuf>,
}

/// `tidegate build`.
#[derive(Debug, Args)]
pub(crate) struct Build {
    /// A function crate, or a component file to check.
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// Where the component goes; `target/tidegate/NAME.wasm` in the crate unless given.
    #[arg(long, short = 'o', value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// `tidegate test`.
#[derive(Debug, Args)]
pub(crate) struct Test {
    /// A function crate, or a component file.
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// The records, one a line.
    #[arg(long, value_name = "FILE")]
    pub(crate) input: PathBuf,
    /// What must come out, one record a line, in order. `NAME=FILE` is for the output called NAME; a
    /// plain FILE is for the first. May be given more than once.
    #[arg(long, value_name = "FILE", required_unless_present = "print")]
    pub(crate) expect: Vec<String>,
    /// Where the key of a keyed function stands: a JSON pointer, or `$value`.
    #[arg(long, value_name = "PATH")]
    pub(crate) key: Option<String>,
    /// Where the event time of a record stands, and what it means: `/at:ms`. Units: s, ms, us, ns, rfc3339.
    /// Needed by a function with state that expires by event time.
    #[arg(long, value_name = "PATH:UNIT", value_parser = read_event_time)]
    pub(crate) event_time: Option<EventTimeCut>,
    /// How values are read.
    #[arg(long, value_enum, default_value_t = TestFormat::Json)]
    pub(crate) format: TestFormat,
    /// The function's config, a JSON object.
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub(crate) config: String,
    /// What a rejected record means, as `on_error` of a job file does: `fail`: all of them are shown and the exit code
    /// is 1; `skip`, `dead-letter`: they are shown, and only what comes out is compared.
    #[arg(long, value_enum, default_value_t = TestOnError::Fail)]
    pub(crate) on_error: TestOnError,
    /// Print what comes out of the first output instead of comparing.
    #[arg(long, conflicts_with = "expect")]
    pub(crate) print: bool,
}

/// Reads `/at:ms`.
fn read_event_time(text: &str) -> Result<EventTimeCut, String> {
    let (path, unit) = text.rsplit_once(':').ok_or("expected a path and a unit, such as `/at:ms`")?;
    let unit = match unit {
        "s" => TimeUnit::S,
        "ms" => TimeUnit::Ms,
        "us" => TimeUnit::Us,
        "ns" => TimeUnit::Ns,
        "rfc3339" => TimeUnit::Rfc3339,
        _ => return Err(format!("unit `{unit}`: expected one of s, ms, us, ns, rfc3339")),
    };
    pointer_steps(path).map_err(|why| format!("path `{path}`: expected a JSON pointer such as `/at`, {why}"))?;
    Ok(EventTimeCut { path: path.to_owned(), unit })
}

/// How `tidegate test` reads values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TestFormat {
    /// A JSON value a line.
    Json,
    /// CSV with a header line.
    Csv,
    /// Bytes.
    Raw,
}

/// What `tidegate test` makes of rejected records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TestOnError {
    /// The test fails.
    Fail,
    /// They are left out.
    Skip,
    /// They are left out.
    DeadLetter,
}

/// `tidegate run`.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The job file: YAML or JSON.
    pub(crate) job: PathBuf,
    /// Check everything that can be checked without running, then stop.
    #[arg(long)]
    pub(crate) check: bool,
    /// Stop at the end of input instead of waiting for more. Sources that end (files, generators with
    /// a number of records) end the job anyway.
    #[arg(long)]
    pub(crate) until_end: bool,
    /// Parallelism of every operator that does not name its own, instead of the job file's.
    #[arg(long, value_name = "N")]
    pub(crate) parallelism: Option<u32>,
    /// The storage root, where a job with `checkpoint` keeps its place: a folder, or `s3://bucket/prefix`; `.tidegate`
    /// beside the job file unless given.
    #[arg(long, env = "TIDEGATE_STORAGE", value_name = "DIR|URL", value_parser = root_parser(), hide_env_values = true)]
    pub(crate) storage: Option<StorageRoot>,
    /// Where `state: { backend: rocksdb }` keeps its files, on a local disk: a copy that every start makes anew. `state` in
    /// the storage root unless given.
    #[arg(long, env = "TIDEGATE_STATE_DIR", value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    /// Start from this savepoint, in a new lineage. A storage that goes on from it already is resumed.
    #[arg(long, value_name = "DIR", conflicts_with = "fresh")]
    pub(crate) from_savepoint: Option<PathBuf>,
    /// Go back to the savepoint though the storage holds something newer: what was published after it comes again.
    #[arg(long, requires = "from_savepoint")]
    pub(crate) rewind: bool,
    /// An operator of the savepoint that has another uid in the job. May be given more than once.
    #[arg(long, value_name = "OLD=NEW", requires = "from_savepoint")]
    pub(crate) map_operator: Vec<String>,
    /// A state of the savepoint that has another name in the job; UID is what the savepoint calls the operator. May be
    /// given more than once.
    #[arg(long, value_name = "UID/OLD=NEW", requires = "from_savepoint")]
    pub(crate) map_state: Vec<String>,
    /// The savepoint may be of the job of this name, and not only of the one that is run.
    #[arg(long, value_name = "NAME", requires = "from_savepoint")]
    pub(crate) savepoint_of: Option<String>,
    /// When the job ends, by Ctrl-C or because its sources do, make a savepoint of its final checkpoint here.
    #[arg(long, value_name = "DIR")]
    pub(crate) stop_with_savepoint: Option<PathBuf>,
    /// Begin again with nothing, in a new lineage: what was published is published again. Asks for --yes.
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Do what --fresh would ask about.
    #[arg(long, requires = "fresh")]
    pub(crate) yes: bool,
    /// State of the last checkpoint that may be dropped: `UID/STATE`, or `UID` for all that an operator keeps. May be
    /// given more than once.
    #[arg(long, value_name = "UID/STATE")]
    pub(crate) allow_dropped_state: Vec<String>,
    /// Go on though the target of a sink does not know what was published: it is a new one, or was emptied on purpose.
    #[arg(long)]
    pub(crate) allow_emptied_target: bool,
    /// No progress, only the summary.
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Compile modules in this process instead of in a limited child process.
    #[arg(long, hide = true)]
    pub(crate) compile_in_process: bool,
    /// Turn fuel metering off. For benchmarks: a function may then run until its deadline.
    #[arg(long, hide = true)]
    pub(crate) no_fuel: bool,
    /// Where compiled modules are kept.
    #[arg(long, env = "TIDEGATE_CACHE", value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
}
