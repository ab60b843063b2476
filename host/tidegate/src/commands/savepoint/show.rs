//! `tidegate savepoint show`, and the table of `list`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use checkpoint::savepoint::{Metadata, Reader};

use crate::args::OutputFormat;
use crate::commands::checkpoint::plain_table;
use crate::commands::run::json_line;
use crate::commands::texts::print;
use crate::figures::{count, delivery, size, time_text};
use crate::report::CliError;

/// Shows a savepoint, every file of which is checked.
pub(super) fn run(folder: &Path, output: OutputFormat) -> Result<ExitCode, CliError> {
    let reader = Reader::open(folder).map_err(contract::Error::from)?;
    match output {
        OutputFormat::Human => print(text(folder, reader.metadata()).as_bytes()),
        OutputFormat::Json => print(json_line(reader.metadata())?.as_bytes()),
    }
}

fn text(folder: &Path, metadata: &Metadata) -> String {
    let mut text = format!(
        "savepoint `{}`: checkpoint {} of `{}`, whole\n  lineage      {}\n  generation   {}\n  taken at     {}\n  key groups   {}\n",
        folder.display(),
        metadata.epoch,
        metadata.job,
        metadata.lineage,
        metadata.generation,
        time_text(metadata.host_clock.0).unwrap_or_default(),
        metadata.key_groups,
    );
    let mut functions = plain_table(&["function", "state", "kind", "time to live", "records"]);
    for (uid, operator) in &metadata.operators {
        for (index, state) in operator.states.iter().enumerate() {
            functions.add_row([
                uid.to_string(),
                state.name.clone(),
                format!("{:?}", state.kind).to_lowercase(),
                state
                    .ttl
                    .map(|ttl| humantime::format_duration(std::time::Duration::from_millis(ttl.millis)).to_string())
                    .unwrap_or_default(),
                if index == 0 { count(operator.entries.entries) } else { String::new() },
            ]);
        }
    }
    let mut sources = plain_table(&["source", "split", "position"]);
    for (uid, source) in &metadata.sources {
        for split in &source.splits {
            sources.add_row([uid.to_string(), split.name.clone(), count(split.position.0)]);
        }
    }
    let mut sinks = plain_table(&["sink", "delivery", "published"]);
    for (uid, sink) in &metadata.sinks {
        let published = sink.published.map(|epoch| format!("to {epoch}")).unwrap_or_default();
        sinks.add_row([uid.to_string(), delivery(sink.delivery).to_owned(), published]);
    }
    let _infallible = write!(text, "\n{functions}\n\n{sources}\n\n{sinks}\n");
    text
}

/// Several savepoints.
pub(super) fn table(found: impl Iterator<Item = (Metadata, PathBuf)>) -> String {
    let mut table = plain_table(&["folder", "job", "epoch", "lineage", "taken at", "state"]);
    for (metadata, path) in found {
        let bytes = metadata.operators.values().map(|operator| operator.entries.length_bytes).sum();
        table.add_row([
            path.display().to_string(),
            metadata.job.to_string(),
            metadata.epoch.to_string(),
            metadata.lineage.to_string(),
            time_text(metadata.host_clock.0).unwrap_or_default(),
            size(bytes),
        ]);
    }
    if table.is_empty() { "no savepoints\n".to_owned() } else { format!("{table}\n") }
}
