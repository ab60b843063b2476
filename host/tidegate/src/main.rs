//! The `tidegate` binary: server, client and function tool-chain in one.
//!
//! It names every implementation and wires them together; it holds no engine logic. Each command is a
//! module of [`commands`]; what the job file says becomes a runtime graph in [`wiring`].

mod args;
mod commands;
mod failpoints;
mod figures;
mod files;
mod randomness;
mod report;
mod savepoints;
mod storage;
mod telemetry;
mod wiring;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::report::CliError;

/// Measured against the system allocator on the dedup case; see docs/dependencies.md.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if let Some(code) = wiring::modules::compile_child() {
        return code;
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return report::print_usage(&error),
    };
    match telemetry::start(&cli.global).and_then(|()| failpoints::arm()).and_then(|()| dispatch(&cli)) {
        Ok(code) => code,
        Err(error) => error.print(cli.global.output),
    }
}

fn dispatch(cli: &Cli) -> Result<ExitCode, CliError> {
    let output = cli.global.output;
    match &cli.command {
        Command::New(args) => commands::new::run(args, output),
        Command::Build(args) => commands::build::run(args, output),
        Command::Test(args) => commands::test::run(args, output),
        Command::Run(args) => commands::run::run(args, output),
        Command::Checkpoint { command } => commands::checkpoint::run(command, output),
        Command::Savepoint { command } => commands::savepoint::run(command, output),
        Command::Files { command } => commands::files::run(command, output),
        Command::Explain(args) => commands::explain::run(args, output),
        Command::Schema => commands::texts::schema(),
        Command::Completions { shell } => commands::texts::completions(*shell),
        Command::Man => commands::texts::man(),
        Command::Server(_) => not_available("server"),
        Command::Module(_) => not_available("module"),
        Command::Job(_) => not_available("job"),
        Command::State(_) => not_available("state"),
        Command::DeadLetter(_) => not_available("dead-letter"),
        Command::Verify(_) => not_available("verify"),
    }
}

fn not_available(command: &str) -> Result<ExitCode, CliError> {
    Err(CliError::usage(format!("`tidegate {command}` is not available yet"))
        .with_help("jobs run in one process with `tidegate run JOB.yaml`"))
}
