//! `tidegate savepoint`: state that belongs to the user.

mod export;
mod show;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use checkpoint::savepoint::{Metadata, inspect, unfinished};
use clap::{Args, Subcommand};
use serde_json::json;

use crate::args::OutputFormat;
use crate::commands::run::json_line;
use crate::commands::texts::{Out, print};
use crate::figures::count;
use crate::report::{CliError, Problem};
use crate::savepoints::make;
use crate::storage::{JobPlace, check_savepoint_folder};

/// `tidegate savepoint …`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a savepoint of the newest complete checkpoint; the job may run meanwhile.
    #[command(after_help = "Example:\n  tidegate savepoint create --job orders-dedup --to ./before-upgrade")]
    Create(Create),
    /// List the savepoints in a folder.
    #[command(after_help = "Example:\n  tidegate savepoint list ./savepoints")]
    List(Folder),
    /// Show what a savepoint is of, and check all of it.
    #[command(after_help = "Example:\n  tidegate savepoint show ./before-upgrade")]
    Show(Folder),
    /// Write the state as JSON lines, without the code that wrote it: one entry a line.
    #[command(after_help = "Examples:\n  tidegate savepoint export ./before-upgrade > state.jsonl\n  \
        tidegate savepoint export ./before-upgrade --operator dedup --state seen | wc -l")]
    Export(export::Export),
    /// Remove a savepoint.
    #[command(after_help = "Example:\n  tidegate savepoint remove ./before-upgrade")]
    Remove(Folder),
}

impl Command {
    fn folder(&self) -> &Path {
        match self {
            Self::Create(args) => &args.to,
            Self::List(args) | Self::Show(args) | Self::Remove(args) => &args.folder,
            Self::Export(args) => &args.folder,
        }
    }
}

/// `tidegate savepoint create`.
#[derive(Debug, Args)]
pub(crate) struct Create {
    /// The folder of the savepoint, which is made, or is empty.
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    #[command(flatten)]
    place: JobPlace,
}

/// A folder.
#[derive(Debug, Args)]
pub(crate) struct Folder {
    /// The folder.
    folder: PathBuf,
}

/// Runs the command.
pub(crate) fn run(command: &Command, output: OutputFormat) -> Result<ExitCode, CliError> {
    check_savepoint_folder(command.folder())?;
    match command {
        Command::Create(args) => create(args, output),
        Command::List(args) => list(&args.folder, output),
        Command::Show(args) => show::run(&args.folder, output),
        Command::Export(args) => export::run(args),
        Command::Remove(args) => remove(&args.folder, output),
    }
}

fn create(args: &Create, output: OutputFormat) -> Result<ExitCode, CliError> {
    let job = args.place.open()?;
    let metadata = make(&job.store, &args.to)?;
    match output {
        OutputFormat::Human => print(made(&args.to, &metadata).as_bytes()),
        OutputFormat::Json => {
            let document = json!({ "savepoint": args.to, "metadata": metadata });
            print(json_line(&document)?.as_bytes())
        }
    }
}

/// What was made, for a person.
pub(crate) fn made(folder: &Path, metadata: &Metadata) -> String {
    let entries = metadata.operators.values().map(|operator| operator.entries.entries).sum();
    format!(
        "savepoint `{}`: checkpoint {} of `{}`, lineage {}, {} entries of state\n",
        folder.display(),
        metadata.epoch,
        metadata.job,
        metadata.lineage,
        count(entries)
    )
}

/// The folders in `folder` that are savepoints, and `folder` itself if it is one.
fn list(folder: &PathBuf, output: OutputFormat) -> Result<ExitCode, CliError> {
    let refused = |error: std::io::Error| CliError::failed(format!("read the folder `{}`: {error}", folder.display()));
    let mut folders = vec![folder.clone()];
    for entry in fs::read_dir(folder).map_err(refused)? {
        folders.push(entry.map_err(refused)?.path());
    }
    folders.sort_unstable();
    // One after another: what they say of themselves may be long.
    let found = folders.into_iter().filter_map(|path| Some((inspect(&path).ok()?, path)));
    if output == OutputFormat::Human {
        return print(show::table(found).as_bytes());
    }
    let mut out = Out::new();
    out.text("{\"savepoints\":[")?;
    for (index, (metadata, path)) in found.enumerate() {
        let separator = if index == 0 { "" } else { "," };
        out.text(&format!("{separator}{}", json!({ "folder": path, "metadata": metadata })))?;
    }
    out.text("]}\n")?;
    out.finish()
}

/// Removes the files that the savepoint is made of, then the folder, which has to be empty then.
fn remove(folder: &PathBuf, output: OutputFormat) -> Result<ExitCode, CliError> {
    let files = match inspect(folder) {
        Ok(metadata) => files_of(folder, &metadata)?,
        Err(error) => match unfinished(folder) {
            Ok(Some(files)) => files,
            _ => return Err(contract::Error::from(error).into()),
        },
    };
    let refused = |error: std::io::Error| CliError::failed(format!("remove savepoint `{}`: {error}", folder.display()));
    for file in files {
        fs::remove_file(file).map_err(refused)?;
    }
    fs::remove_dir(folder).map_err(refused)?;
    match output {
        OutputFormat::Human => print(format!("removed savepoint `{}`\n", folder.display()).as_bytes()),
        OutputFormat::Json => print(json_line(&json!({ "removed": folder }))?.as_bytes()),
    }
}

/// The files that the savepoint is made of, its metadata first: without it, it is no savepoint, whatever happens next.
///
/// # Errors
/// When there is anything else in the folder.
fn files_of(folder: &Path, metadata: &Metadata) -> Result<Vec<PathBuf>, CliError> {
    let mut files = vec![folder.join("savepoint.json")];
    files.extend(metadata.operators.keys().map(|uid| folder.join(format!("{uid}.entries"))));
    let refused = |error: std::io::Error| CliError::failed(format!("remove savepoint `{}`: {error}", folder.display()));
    for entry in fs::read_dir(folder).map_err(refused)? {
        let path = entry.map_err(refused)?.path();
        if !files.contains(&path) {
            return Err(CliError::of(Problem {
                code: Some("E0476".to_owned()),
                message: format!(
                    "`{}` holds `{}`, which is no part of the savepoint: nothing was removed",
                    folder.display(),
                    path.display()
                ),
                help: Some("move it away, and try again".to_owned()),
                ..Problem::default()
            }));
        }
    }
    Ok(files)
}
