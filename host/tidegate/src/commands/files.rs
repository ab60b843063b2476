//! `tidegate files`: what an exactly-once file sink has published.
//!
//! # Invariants
//! 1. Files are printed as they are found: a directory of any size needs no more memory than the names of its epochs.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use connectors::file::{Condition, FileLayout, PublishedFile, files_not_listed, published_files, published_layout};
use serde_json::{Value, json};

use crate::args::OutputFormat;
use crate::commands::texts::Out;
use crate::figures::count;
use crate::report::{CliError, Problem};

/// `tidegate files …`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the published files, one a line: what a reader may read.
    #[command(after_help = "Examples:\n  tidegate files list ./clean\n  \
        tidegate files list ./clean | xargs cat | wc -l")]
    List(Folder),
    /// Check that every published file is there, as long as it was, and byte for byte. Of the layout `plain`, that of
    /// the files of the newest epoch: nothing is written down of older ones.
    #[command(after_help = "Example:\n  tidegate files verify ./clean")]
    Verify(Folder),
}

/// The directory of a sink.
#[derive(Debug, Args)]
pub(crate) struct Folder {
    /// The directory that the sink writes.
    directory: PathBuf,
}

/// How many broken files a message names.
const MOST_NAMED: usize = 20;

/// Runs the command.
pub(crate) fn run(command: &Command, output: OutputFormat) -> Result<ExitCode, CliError> {
    match command {
        Command::List(folder) => list(&folder.directory, output),
        Command::Verify(folder) => verify(&folder.directory, output),
    }
}

fn list(directory: &Path, output: OutputFormat) -> Result<ExitCode, CliError> {
    published_layout(directory)?;
    let mut out = Out::new();
    let mut separator = "";
    if output == OutputFormat::Json {
        out.text("{\"files\":[")?;
    }
    visit(directory, |file| {
        // The newest epoch of the plain layout is visited also where readers took its files away.
        if file.listed.is_none() || file.path.exists() {
            match output {
                OutputFormat::Human => out.text(&format!("{}\n", file.path.display()))?,
                OutputFormat::Json => out.text(&format!("{separator}{}", json!(file.path)))?,
            }
            separator = ",";
        }
        Ok(if out.is_closed() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    if output == OutputFormat::Json {
        out.text("]}\n")?;
    }
    out.finish()
}

/// Visits the published files until `each` fails or has enough.
fn visit(
    directory: &Path,
    mut each: impl FnMut(PublishedFile) -> Result<ControlFlow<()>, CliError>,
) -> Result<(), CliError> {
    let mut failed = None;
    published_files(directory, &mut |file| {
        each(file).unwrap_or_else(|error| {
            failed = Some(error);
            ControlFlow::Break(())
        })
    })?;
    failed.map_or(Ok(()), Err)
}

/// What checking came to.
#[derive(Default)]
struct Tally {
    whole: u64,
    records: u64,
    /// Of which nothing is written down.
    not_checked: u64,
    /// Of a plain directory, whose readers may take files away.
    taken: u64,
    broken: u64,
    /// A line for each of the first broken ones.
    lines: String,
}

impl Tally {
    fn add(&mut self, file: &PublishedFile, condition: Option<&Condition>, layout: FileLayout) {
        match (condition, &file.listed) {
            (Some(Condition::Whole), Some(listed)) => {
                self.whole += 1;
                self.records += listed.records;
            }
            (Some(Condition::Missing), _) if layout == FileLayout::Plain => self.taken += 1,
            (Some(broken), _) => {
                self.broken += 1;
                if self.broken <= MOST_NAMED as u64 {
                    let (path, why) = (file.path.display(), why(file, broken));
                    let _infallible = write!(self.lines, "\n  `{path}`, published with epoch {}: {why}", file.epoch);
                }
            }
            (None, _) => self.not_checked += 1,
        }
    }

    fn notes(&self, not_listed: usize) -> String {
        let mut notes = String::new();
        for (number, what) in [
            (self.taken, "are not there: readers of the layout `plain` may take files away"),
            (
                self.not_checked,
                "are of older epochs and not checked: the layout `plain` keeps the figures of the newest alone",
            ),
            (not_listed as u64, "beside them are not listed: staged, or given up; readers leave them alone"),
        ] {
            if number > 0 {
                let _infallible = writeln!(notes, "{} files {what}", count(number));
            }
        }
        notes
    }
}

fn verify(directory: &Path, output: OutputFormat) -> Result<ExitCode, CliError> {
    let layout = published_layout(directory)?;
    let (mut out, mut tally, mut separator) = (Out::new(), Tally::default(), "");
    if output == OutputFormat::Json {
        out.text(&format!("{{\"layout\":\"{layout}\",\"files\":["))?;
    }
    visit(directory, |file| {
        let condition = file.condition()?;
        tally.add(&file, condition.as_ref(), layout);
        if output == OutputFormat::Json {
            out.text(&format!("{separator}{}", document(&file, condition.as_ref())))?;
            separator = ",";
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let not_listed = if layout == FileLayout::Commits { files_not_listed(directory)? } else { Vec::new() };
    match output {
        OutputFormat::Json => out.text(&ending(&tally, &not_listed))?,
        OutputFormat::Human if tally.broken == 0 => {
            let (files, records) = (count(tally.whole), count(tally.records));
            let notes = tally.notes(not_listed.len());
            out.text(&format!("ok: {files} files with {records} records are as they were published\n{notes}"))?;
        }
        OutputFormat::Human => {}
    }
    let ended = out.finish();
    if tally.broken == 0 {
        return ended;
    }
    let (broken, checked) = (tally.broken, tally.broken + tally.whole);
    Err(CliError::of(Problem {
        code: Some("E0473".to_owned()),
        message: format!("{broken} of {checked} published files are not as they were published:{}", tally.lines),
        help: Some("restore them from a copy; the sink does not write them again".to_owned()),
        ..Problem::default()
    }))
}

fn why(file: &PublishedFile, condition: &Condition) -> String {
    let (bytes, checksum) = file.listed.as_ref().map(|it| (it.bytes, it.checksum.as_str())).unwrap_or_default();
    match condition {
        Condition::Whole => "whole".to_owned(),
        Condition::Missing => "missing".to_owned(),
        Condition::OtherLength { bytes: found } => format!("{} bytes, expected {}", count(*found), count(bytes)),
        Condition::OtherBytes => format!("other bytes than those of {checksum}"),
    }
}

fn document(file: &PublishedFile, condition: Option<&Condition>) -> Value {
    let listed = file.listed.as_ref();
    json!({
        "path": file.path,
        "lineage": file.lineage.to_string(),
        "epoch": file.epoch,
        "records": listed.map(|it| it.records),
        "bytes": listed.map(|it| it.bytes),
        "checksum": listed.map(|it| it.checksum.as_str()),
        "whole": condition.map(|it| *it == Condition::Whole),
        "found": condition.map_or_else(|| "not checked".to_owned(), |it| why(file, it)),
    })
}

/// What follows the files of a document.
fn ending(tally: &Tally, not_listed: &[PathBuf]) -> String {
    let (is_whole, not_checked) = (tally.broken == 0, tally.not_checked);
    format!("],\"not_listed\":{},\"not_checked\":{not_checked},\"whole\":{is_whole}}}\n", json!(not_listed))
}
