//! What is printed when a job has ended.

use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets};
use runtime::{OperatorKind, OperatorSnapshot, Outcome, Summary};
use serde::Serialize;

use super::figures::{as_f64, count, notes, percent, rate};

/// The summary as a document for programs.
#[derive(Debug, Serialize)]
pub(crate) struct Document<'a> {
    job: &'a str,
    outcome: Outcome,
    elapsed_seconds: f64,
    cpu_seconds: f64,
    records_in: u64,
    records_per_second: f64,
    operators: &'a [OperatorSnapshot],
    positions: &'a [runtime::SplitPosition],
}

/// How much work a job did, for people and programs alike.
pub(crate) struct Report<'a> {
    pub(crate) job: &'a str,
    pub(crate) summary: &'a Summary,
    /// CPU time of the whole process while the job ran.
    pub(crate) cpu: Duration,
}

impl<'a> Report<'a> {
    /// Records that left the sources.
    fn records_in(&self) -> u64 {
        let sources = self.summary.operators.iter().filter(|operator| operator.kind == OperatorKind::Source);
        sources.map(|operator| operator.records_in).sum()
    }

    fn records_per_second(&self) -> f64 {
        as_f64(self.records_in()) / self.summary.elapsed.as_secs_f64().max(1e-9)
    }

    /// For programs.
    pub(crate) fn document(&self) -> Document<'a> {
        Document {
            job: self.job,
            outcome: self.summary.outcome,
            elapsed_seconds: self.summary.elapsed.as_secs_f64(),
            cpu_seconds: self.cpu.as_secs_f64(),
            records_in: self.records_in(),
            records_per_second: self.records_per_second(),
            operators: &self.summary.operators,
            positions: &self.summary.positions,
        }
    }

    /// For people.
    pub(crate) fn text(&self) -> String {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(["operator", "in", "out", "busy", "backpressured", "state keys", "also counted"]);
        for operator in &self.summary.operators {
            table.add_row(self.row(operator));
        }
        for column in 1..=5 {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let outcome = match self.summary.outcome {
            Outcome::Finished => "finished",
            Outcome::Cancelled => "cancelled",
        };
        format!(
            "{table}\n\n`{}` {outcome}: {} records in {:.2} s, {} ({:.2} CPU-seconds)\n",
            self.job,
            count(self.records_in()),
            self.summary.elapsed.as_secs_f64(),
            rate(self.records_per_second()),
            self.cpu.as_secs_f64(),
        )
    }

    fn row(&self, operator: &OperatorSnapshot) -> [String; 7] {
        let seconds = self.summary.elapsed.as_secs_f64().max(1e-9) * f64::from(operator.parallelism.0.max(1));
        let entries = operator.state.live_entries;
        [
            operator.uid.to_string(),
            count(operator.records_in),
            count(operator.records_out),
            percent(operator.busy.as_secs_f64() / seconds),
            percent(operator.backpressured.as_secs_f64() / seconds),
            if entries == 0 { String::new() } else { count(entries) },
            notes(operator),
        ]
    }
}
