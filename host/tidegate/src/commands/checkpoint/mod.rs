//! `tidegate checkpoint`: what the log of a job says.

mod document;
mod table;

pub(crate) use table::plain_table;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use model::Epoch;
use protocol::manifest::Manifest;

use crate::args::OutputFormat;
use crate::commands::run::json_line;
use crate::commands::texts::print;
use crate::report::{CliError, Problem};
use crate::storage::{JobPlace, LogEntry, read_log};

/// `tidegate checkpoint …`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the checkpoints that a job's storage holds.
    #[command(after_help = "Examples:\n  tidegate checkpoint list --storage /var/lib/tidegate --job orders-dedup\n  \
        tidegate checkpoint list --output json | jq .checkpoints")]
    List(JobPlace),
    /// Show one checkpoint: where sources stand, what functions keep, what sinks have not published.
    #[command(after_help = "Examples:\n  tidegate checkpoint show --job orders-dedup\n  \
        tidegate checkpoint show --job orders-dedup 41")]
    Show(Show),
}

/// `tidegate checkpoint show`.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The epoch of the checkpoint; the newest unless given.
    epoch: Option<u64>,
    #[command(flatten)]
    place: JobPlace,
}

/// Runs the command.
pub(crate) fn run(command: &Command, output: OutputFormat) -> Result<ExitCode, CliError> {
    match command {
        Command::List(place) => list(place, output),
        Command::Show(args) => show(args, output),
    }
}

fn list(place: &JobPlace, output: OutputFormat) -> Result<ExitCode, CliError> {
    let job = place.open()?;
    let log = read_log(&job.store)?;
    match output {
        OutputFormat::Human => print(table::list(&job.name, &log).as_bytes()),
        OutputFormat::Json => print(json_line(&document::list(&job.name, &log))?.as_bytes()),
    }
}

fn show(args: &Show, output: OutputFormat) -> Result<ExitCode, CliError> {
    let job = args.place.open()?;
    let log = read_log(&job.store)?;
    let entry = find(&log, args.epoch.map(Epoch))?;
    match output {
        OutputFormat::Human => print(table::show(entry.0, entry.1).as_bytes()),
        OutputFormat::Json => print(json_line(&document::show(entry.0, entry.1))?.as_bytes()),
    }
}

/// The newest manifest, or the newest of an epoch: an epoch number comes again in another lineage.
fn find(log: &[LogEntry], epoch: Option<Epoch>) -> Result<(&LogEntry, &Manifest), CliError> {
    let manifests = log.iter().rev().filter_map(|entry| Some((entry, entry.manifest()?)));
    let mut wanted = manifests.filter(|(_, manifest)| epoch.is_none_or(|epoch| manifest.epoch == epoch));
    wanted.next().ok_or_else(|| {
        let message = match epoch {
            Some(epoch) => format!("the storage holds no checkpoint {epoch}"),
            None => "the storage holds no complete checkpoint".to_owned(),
        };
        let epochs: Vec<String> = log.iter().filter_map(|entry| Some(entry.manifest()?.epoch.to_string())).collect();
        let help = if epochs.is_empty() {
            "the first one is complete after the interval that the job file names".to_owned()
        } else {
            format!("it holds those of the epochs {}; older ones were given up as `retain` says", epochs.join(", "))
        };
        CliError::of(Problem { code: Some("E0471".to_owned()), message, help: Some(help), ..Problem::default() })
    })
}
