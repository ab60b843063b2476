//! `tidegate files`: what an exactly-once file sink has published.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use connectors::file::{CommittedFile, CommittedFiles, Condition, committed_files};
use serde_json::{Value, json};

use crate::args::OutputFormat;
use crate::commands::run::json_line;
use crate::commands::texts::print;
use crate::figures::count;
use crate::report::{CliError, Problem};

/// `tidegate files …`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the published files, one a line: what a reader may read.
    #[command(after_help = "Examples:\n  tidegate files list ./clean\n  \
        tidegate files list ./clean | xargs cat | wc -l")]
    List(Folder),
    /// Check that every published file is there, as long as it was, and byte for byte; of the layout `commits`.
    #[command(after_help = "Example:\n  tidegate files verify ./clean")]
    Verify(Folder),
}

/// The directory of a sink.
#[derive(Debug, Args)]
pub(crate) struct Folder {
    /// The directory that the sink writes.
    directory: PathBuf,
}

/// The folder of the commit files.
const COMMITS: &str = "_commits";
/// How the names of published files begin in the plain layout.
const PART: &str = "part-";

/// Runs the command.
pub(crate) fn run(command: &Command, output: OutputFormat) -> Result<ExitCode, CliError> {
    match command {
        Command::List(folder) => list(&folder.directory, output),
        Command::Verify(folder) => verify(&folder.directory, output),
    }
}

fn list(directory: &Path, output: OutputFormat) -> Result<ExitCode, CliError> {
    let paths = if directory.join(COMMITS).is_dir() {
        committed_files(directory)?.files.into_iter().map(|file| file.path).collect()
    } else {
        plain_files(directory)?
    };
    match output {
        OutputFormat::Human => {
            let lines = paths.iter().fold(String::new(), |lines, path| format!("{lines}{}\n", path.display()));
            print(lines.as_bytes())
        }
        OutputFormat::Json => print(json_line(&json!({ "files": paths }))?.as_bytes()),
    }
}

/// The parts in a directory of plain files; what is staged lies elsewhere.
fn plain_files(directory: &Path) -> Result<Vec<PathBuf>, CliError> {
    let refused = |error: std::io::Error| {
        CliError::failed(format!("read the directory `{}`: {error}", directory.display()))
            .with_help("name the `path` of a file sink")
    };
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).map_err(refused)? {
        let entry = entry.map_err(refused)?;
        let is_file = entry.file_type().map_err(refused)?.is_file();
        if is_file && entry.file_name().to_string_lossy().starts_with(PART) {
            paths.push(entry.path());
        }
    }
    paths.sort_unstable();
    Ok(paths)
}

fn verify(directory: &Path, output: OutputFormat) -> Result<ExitCode, CliError> {
    let found = committed_files(directory)?;
    if found.is_whole() {
        let records: u64 = found.files.iter().map(|file| file.records).sum();
        return match output {
            OutputFormat::Human => print(
                format!(
                    "ok: {} files with {} records are as they were published\n{}",
                    count(found.files.len() as u64),
                    count(records),
                    not_listed(&found)
                )
                .as_bytes(),
            ),
            OutputFormat::Json => print(json_line(&document(&found))?.as_bytes()),
        };
    }
    if output == OutputFormat::Json {
        print(json_line(&document(&found))?.as_bytes())?;
    }
    let broken: Vec<&CommittedFile> = found.files.iter().filter(|file| file.condition != Condition::Whole).collect();
    let lines = broken.iter().take(20).fold(String::new(), |mut lines, file| {
        let _infallible =
            write!(lines, "\n  `{}`, published with epoch {}: {}", file.path.display(), file.epoch, why(file));
        lines
    });
    Err(CliError::of(Problem {
        code: Some("E0473".to_owned()),
        message: format!(
            "{} of {} published files are not as they were published:{lines}",
            broken.len(),
            found.files.len()
        ),
        help: Some("restore them from a copy; the sink does not write them again".to_owned()),
        ..Problem::default()
    }))
}

fn why(file: &CommittedFile) -> String {
    match &file.condition {
        Condition::Whole => "whole".to_owned(),
        Condition::Missing => "missing".to_owned(),
        Condition::OtherLength { bytes } => format!("{} bytes, expected {}", count(*bytes), count(file.bytes)),
        Condition::OtherBytes => format!("other bytes than those of {}", file.checksum),
    }
}

fn not_listed(found: &CommittedFiles) -> String {
    match found.not_listed.len() {
        0 => String::new(),
        more => format!(
            "{} files beside them are not listed: staged, or given up; readers leave them alone\n",
            count(more as u64)
        ),
    }
}

fn document(found: &CommittedFiles) -> Value {
    let files = found.files.iter().map(|file| {
        json!({
            "path": file.path,
            "lineage": file.lineage.to_string(),
            "epoch": file.epoch,
            "records": file.records,
            "bytes": file.bytes,
            "checksum": file.checksum,
            "whole": file.condition == Condition::Whole,
            "found": why(file),
        })
    });
    json!({ "whole": found.is_whole(), "files": files.collect::<Vec<_>>(), "not_listed": found.not_listed })
}
