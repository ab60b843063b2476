//! `tidegate checkpoint`: what the log of a job says.

mod document;
mod table;

pub(crate) use table::plain_table;

use std::collections::BTreeSet;
use std::process::ExitCode;

use checkpoint::JobStore;
use clap::{Args, Subcommand};
use model::{Epoch, Generation, HostTime, LineageId, ObjectNumber};
use protocol::manifest::{CheckpointKind, Claim, LogRecord, Manifest};

use crate::args::OutputFormat;
use crate::commands::run::json_line;
use crate::commands::texts::print;
use crate::report::{CliError, Problem};
use crate::storage::{JobPlace, read_record};

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
    let listed = read_list(&job.store)?;
    match output {
        OutputFormat::Human => print(table::list(&job.name, &listed).as_bytes()),
        OutputFormat::Json => print(json_line(&document::list(&job.name, &listed))?.as_bytes()),
    }
}

fn show(args: &Show, output: OutputFormat) -> Result<ExitCode, CliError> {
    let job = args.place.open()?;
    let (number, manifest) = find(&job.store, args.epoch.map(Epoch))?;
    match output {
        OutputFormat::Human => print(table::show(number, &manifest).as_bytes()),
        OutputFormat::Json => print(json_line(&document::show(number, &manifest))?.as_bytes()),
    }
}

/// What a log holds, oldest first: of a manifest no more than a line shows, however much it lists.
#[derive(Debug, Default)]
struct Listed {
    checkpoints: Vec<Line>,
    claims: Vec<(ObjectNumber, Claim)>,
    /// What cannot be read, and why.
    unreadable: Vec<(ObjectNumber, String)>,
}

/// What a line shows of a manifest.
#[derive(Debug)]
struct Line {
    number: ObjectNumber,
    epoch: Epoch,
    kind: CheckpointKind,
    lineage: LineageId,
    generation: Generation,
    parent: Option<Epoch>,
    host_clock: HostTime,
    /// Bytes of the objects that hold keyed state.
    state_bytes: u64,
    /// How many epochs some sink was not known to have published.
    pending_epochs: usize,
}

impl Line {
    fn of(number: ObjectNumber, manifest: &Manifest) -> Self {
        let parts = manifest.operators.values().flat_map(|operator| &operator.parts);
        let pending = manifest.sinks.values().flat_map(|sink| &sink.pending).map(|pending| pending.epoch);
        Self {
            number,
            epoch: manifest.epoch,
            kind: manifest.kind,
            lineage: manifest.lineage,
            generation: manifest.generation,
            parent: manifest.parent,
            host_clock: manifest.host_clock,
            state_bytes: parts.map(protocol::manifest::Part::length_bytes).sum(),
            pending_epochs: pending.collect::<BTreeSet<_>>().len(),
        }
    }
}

fn read_list(store: &JobStore) -> Result<Listed, CliError> {
    let mut listed = Listed::default();
    for number in store.log.list()? {
        match read_record(store, number)? {
            None => {}
            Some(Ok(LogRecord::Complete(manifest))) => listed.checkpoints.push(Line::of(number, &manifest)),
            Some(Ok(LogRecord::Claim(claim))) => listed.claims.push((number, claim)),
            Some(Err(why)) => listed.unreadable.push((number, why)),
        }
    }
    Ok(listed)
}

/// The newest manifest, or the newest of an epoch: an epoch number comes again in another lineage.
fn find(store: &JobStore, epoch: Option<Epoch>) -> Result<(ObjectNumber, Box<Manifest>), CliError> {
    let mut others = Vec::new();
    for number in store.log.list()?.into_iter().rev() {
        if let Some(Ok(LogRecord::Complete(manifest))) = read_record(store, number)? {
            if epoch.is_none_or(|epoch| manifest.epoch == epoch) {
                return Ok((number, manifest));
            }
            others.push(manifest.epoch.to_string());
        }
    }
    let message = match epoch {
        Some(epoch) => format!("the storage holds no checkpoint {epoch}"),
        None => "the storage holds no complete checkpoint".to_owned(),
    };
    others.reverse();
    let help = if others.is_empty() {
        "the first one is complete after the interval that the job file names".to_owned()
    } else {
        format!("it holds those of the epochs {}; older ones were given up as `retain` says", others.join(", "))
    };
    Err(CliError::of(Problem { code: Some("E0471".to_owned()), message, help: Some(help), ..Problem::default() }))
}
