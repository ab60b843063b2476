//! Checkpoints for people.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, Table, presets};
use model::{JobName, ObjectNumber};
use protocol::manifest::{CheckpointKind, Manifest};

use super::Listed;
use crate::figures::{count, delivery, size, time_text};

/// The checkpoints of a log, newest first.
pub(super) fn list(job: &JobName, listed: &Listed) -> String {
    let mut table = plain_table(&["epoch", "kind", "lineage", "generation", "taken at", "state", "not published"]);
    for line in listed.checkpoints.iter().rev() {
        table.add_row([
            line.epoch.to_string(),
            kind(line.kind).to_owned(),
            line.lineage.to_string(),
            line.generation.to_string(),
            time_text(line.host_clock.0).unwrap_or_default(),
            size(line.state_bytes),
            line.pending_epochs.to_string(),
        ]);
    }
    let complete = listed.checkpoints.len();
    let mut text = if complete == 0 { String::new() } else { format!("{table}\n\n") };
    let plural = if complete == 1 { "" } else { "s" };
    let _infallible = writeln!(text, "`{job}`: {complete} complete checkpoint{plural}");
    if let Some((_, claim)) = listed.claims.last() {
        let _infallible = writeln!(text, "last owner: generation {}, {}", claim.generation, claim.owner);
    }
    for (number, why) in &listed.unreadable {
        let _infallible = writeln!(text, "object {number} of the log cannot be read: {why}");
    }
    text
}

/// One checkpoint.
pub(super) fn show(number: ObjectNumber, manifest: &Manifest) -> String {
    let mut text = format!(
        "checkpoint {} of `{}`: {}, object {} of the log\n  lineage      {}\n  generation   {}\n",
        manifest.epoch,
        manifest.job,
        kind(manifest.kind),
        number,
        manifest.lineage,
        manifest.generation,
    );
    let mut line = |name: &str, value: &str| {
        let _infallible = writeln!(text, "  {name:<12} {value}");
    };
    line("taken at", &time_text(manifest.host_clock.0).unwrap_or_default());
    line("watermark", &time_text(manifest.watermark.0).unwrap_or_else(|| "unknown".to_owned()));
    line("key groups", &manifest.key_groups.to_string());
    if let Some(from) = manifest.rewound {
        line("rewound", &format!("from checkpoint {} of lineage {}", from.epoch, from.lineage));
    }
    text += &sources(manifest);
    text += &operators(manifest);
    text += &sinks(manifest);
    text
}

fn sources(manifest: &Manifest) -> String {
    let mut table = plain_table(&["source", "split", "position", "greatest event time", ""]);
    for (uid, source) in &manifest.sources {
        for split in &source.splits {
            table.add_row([
                uid.to_string(),
                split.name.clone(),
                count(split.position.0),
                time_text(split.greatest_event_time.0).unwrap_or_default(),
                if split.ended { "ended".to_owned() } else { String::new() },
            ]);
        }
    }
    format!("\n{table}\n")
}

fn operators(manifest: &Manifest) -> String {
    if manifest.operators.is_empty() {
        return String::new();
    }
    let mut table = plain_table(&["function", "states", "parts", "bytes", "module"]);
    for (uid, operator) in &manifest.operators {
        let states: Vec<&str> = operator.states.iter().map(|state| state.name.as_str()).collect();
        table.add_row([
            uid.to_string(),
            states.join(", "),
            operator.parts.len().to_string(),
            size(operator.parts.iter().map(protocol::manifest::Part::length_bytes).sum()),
            operator.module.map(|digest| digest.to_string().chars().take(19).collect()).unwrap_or_default(),
        ]);
    }
    format!("\n{table}\n")
}

fn sinks(manifest: &Manifest) -> String {
    let mut table = plain_table(&["sink", "delivery", "published", "pending epochs", "pending records"]);
    for (uid, sink) in &manifest.sinks {
        let pending: Vec<String> = sink.pending.iter().map(|pending| pending.epoch.to_string()).collect();
        let records = sink.pending.iter().flat_map(|pending| &pending.staged).map(|staged| staged.records).sum();
        table.add_row([
            uid.to_string(),
            delivery(sink.delivery).to_owned(),
            sink.published.map(|epoch| format!("to {epoch}")).unwrap_or_default(),
            pending.join(", "),
            if sink.pending.is_empty() { String::new() } else { count(records) },
        ]);
    }
    format!("\n{table}\n")
}

fn kind(kind: CheckpointKind) -> &'static str {
    match kind {
        CheckpointKind::Periodic => "periodic",
        CheckpointKind::OnDemand => "on demand",
        CheckpointKind::Final => "final",
        CheckpointKind::Restore => "restore",
    }
}

/// A table without lines; numbers are right of their column.
pub(crate) fn plain_table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header);
    for (index, name) in header.iter().enumerate() {
        let is_number = matches!(
            *name,
            "epoch"
                | "generation"
                | "state"
                | "position"
                | "parts"
                | "bytes"
                | "records"
                | "not published"
                | "pending records"
        );
        if is_number && let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}
