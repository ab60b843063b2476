//! The project's commands: `cargo xtask setup | demo | test | sim | verify | bench | doc | guests | fuzz`.
//!
//! Each command is a list of *stages*. A stage says what it does, its output is passed through as it
//! comes, and the command ends with a table of what each stage came to and how long it took.
//!
//! # Invariants
//! 1. Setup installs only what is missing, says so before it does, and changes nothing the second time.
//! 2. Nothing reads standard input, and nothing but `setup` needs more than cargo and a linker.
//! 3. The exit code is 0 only when every stage came out right.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line program talks to its user")]

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod demo;
mod native;
mod setup;
mod shell;
mod stages;
mod tally;
mod test;
mod verify;

/// The project's commands.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", arg_required_else_help = true)]
#[command(after_help = "Start here:\n  cargo xtask demo      # builds everything and runs a real job\n  \
    cargo xtask verify    # what has to pass before a change is handed in")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Install what is missing to build guests; changes nothing where nothing is missing.
    #[command(after_help = "Example:\n  cargo xtask setup")]
    Setup,
    /// Build everything and run a dedup job over real flight records; checks the result.
    #[command(after_help = "Example:\n  cargo xtask demo")]
    Demo,
    /// Run every test: rooms, SDK, examples, documentation.
    #[command(
        after_help = "Examples:\n  cargo xtask test\n  cargo xtask test --lean      # no C++ to compile\n  cargo xtask test -p model -p format\n  \
        cargo xtask test -- epoch      # only tests whose name holds `epoch`"
    )]
    Test {
        /// Only the tests of these rooms.
        #[arg(long, short, value_name = "ROOM")]
        package: Vec<String>,
        /// Leave out state on RocksDB, whose C++ compiles for 11 to 13 minutes the first time, and storage on S3.
        #[arg(long)]
        lean: bool,
        /// What to pass to the tests.
        #[arg(last = true)]
        filter: Vec<String>,
    },
    /// Everything that has to hold: format, lints, tidy, tests, documentation, licences.
    #[command(after_help = "Examples:\n  cargo xtask verify\n  cargo xtask verify --fast    # without the tests")]
    Verify {
        /// Leave the tests out.
        #[arg(long)]
        fast: bool,
    },
    /// Simulate the checkpoint protocol from many seeds, or from one again.
    #[command(after_help = "Examples:\n  cargo xtask sim --seeds 5000\n  cargo xtask sim --seed 17")]
    Sim {
        /// How many seeds, from 0.
        #[arg(long, default_value_t = 2000, conflicts_with = "seed")]
        seeds: u64,
        /// One seed alone: the one that a failure named.
        #[arg(long)]
        seed: Option<u64>,
    },
    /// Measure; see bench/README.md for how a number is made so that it can be believed.
    #[command(after_help = "Examples:\n  cargo xtask bench\n  cargo xtask bench -- --help")]
    Bench {
        /// What to pass to the benchmarks.
        #[arg(last = true)]
        arguments: Vec<String>,
    },
    /// Build the documentation of every room.
    #[command(after_help = "Example:\n  cargo xtask doc")]
    Doc,
    /// Build the guests of the examples and of the tests to components, and print their sizes.
    #[command(after_help = "Example:\n  cargo xtask guests")]
    Guests,
    /// Run a fuzz target for a while; without a name, list them.
    #[command(after_help = "Examples:\n  cargo xtask fuzz\n  cargo xtask fuzz json_scan --seconds 60")]
    Fuzz {
        /// The target.
        target: Option<String>,
        /// How long.
        #[arg(long, default_value_t = 60)]
        seconds: u32,
    },
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        Command::Setup => setup::command(),
        Command::Demo => demo::command(),
        Command::Test { package, lean, filter } => test::command(&package, lean, &filter),
        Command::Verify { fast } => verify::command(fast),
        Command::Sim { seeds, seed } => test::sim(seeds, seed),
        Command::Bench { arguments } => verify::bench(&arguments),
        Command::Doc => verify::doc(),
        Command::Guests => demo::guests(),
        Command::Fuzz { target, seconds } => verify::fuzz(target.as_deref(), seconds),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{} {error:#}", console::style("error:").red().bold().for_stderr());
            ExitCode::FAILURE
        }
    }
}
