//! What is printed when a job has ended.

use std::collections::BTreeMap;
use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets};
use model::{Delivery, Epoch, Generation, OperatorUid};
use runtime::{JobGraph, OperatorKind, OperatorSnapshot, Outcome};
use serde::Serialize;

use super::lead::{Ended, EndedDurable};
use crate::figures::{as_f64, count, delivery, notes, percent, rate};

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
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoints: Option<Checkpoints>,
}

/// Of a job with checkpoints.
#[derive(Debug, Serialize)]
struct Checkpoints {
    lineage: String,
    generation: Generation,
    /// The epoch whose checkpoint the last incarnation began with.
    restored: Option<Epoch>,
    last_complete: Option<Epoch>,
    completed: u64,
    aborted: u64,
    restarts: u32,
    /// What each sink promises.
    delivery: BTreeMap<OperatorUid, Delivery>,
}

/// How much work a job did, for people and programs alike.
pub(super) struct Report<'a> {
    pub(super) graph: &'a JobGraph,
    pub(super) ended: &'a Ended,
    /// CPU time of the whole process while the job ran.
    pub(super) cpu: Duration,
    /// Where dead letters go, for a person.
    pub(super) dead_letters: Option<&'a str>,
}

impl<'a> Report<'a> {
    /// Records that left the sources.
    fn records_in(&self) -> u64 {
        let sources = self.ended.summary.operators.iter().filter(|operator| operator.kind == OperatorKind::Source);
        sources.map(|operator| operator.records_in).sum()
    }

    fn records_per_second(&self) -> f64 {
        as_f64(self.records_in()) / self.ended.summary.elapsed.as_secs_f64().max(1e-9)
    }

    /// For programs.
    pub(crate) fn document(&self) -> Document<'a> {
        Document {
            job: self.graph.name.as_str(),
            outcome: self.ended.summary.outcome,
            elapsed_seconds: self.ended.summary.elapsed.as_secs_f64(),
            cpu_seconds: self.cpu.as_secs_f64(),
            records_in: self.records_in(),
            records_per_second: self.records_per_second(),
            operators: &self.ended.summary.operators,
            positions: &self.ended.summary.positions,
            checkpoints: self.checkpoints(),
        }
    }

    fn checkpoints(&self) -> Option<Checkpoints> {
        let EndedDurable { identity, tally, restarts } = self.ended.durable.as_ref()?;
        Some(Checkpoints {
            lineage: identity.lineage.to_string(),
            generation: identity.generation,
            restored: identity.restored,
            last_complete: tally.last_complete(),
            completed: tally.completed,
            aborted: tally.aborted,
            restarts: *restarts,
            delivery: self.deliveries(),
        })
    }

    fn deliveries(&self) -> BTreeMap<OperatorUid, Delivery> {
        let sinks = self.graph.sinks.iter().map(|sink| (sink.uid.clone(), sink.sink.delivery()));
        let letters = self
            .graph
            .dead_letters
            .iter()
            .filter_map(|sink| Some((OperatorUid::new("dead-letters").ok()?, sink.delivery())));
        sinks.chain(letters).collect()
    }

    /// What a job with checkpoints has to say: guarantees, and what became of the checkpoints.
    fn durable_text(&self) -> String {
        let Some(checkpoints) = self.checkpoints() else { return String::new() };
        let mut text = String::new();
        for delivered in [Delivery::ExactlyOnce, Delivery::Idempotent, Delivery::AtLeastOnce] {
            let sinks = checkpoints.delivery.iter().filter(|(_, delivery)| **delivery == delivered);
            let names: Vec<String> = sinks.map(|(uid, _)| format!("`{uid}`")).collect();
            if !names.is_empty() {
                text += &format!("{}: {}\n", delivery(delivered), names.join(", "));
            }
        }
        let aborted =
            if checkpoints.aborted > 0 { format!(", {} aborted", checkpoints.aborted) } else { String::new() };
        let restarts = match checkpoints.restarts {
            0 => String::new(),
            1 => ", started again once".to_owned(),
            times => format!(", started again {times} times"),
        };
        text + &format!(
            "{} checkpoints complete{aborted}; lineage {}, generation {}{restarts}\n",
            count(checkpoints.completed),
            checkpoints.lineage,
            checkpoints.generation
        )
    }

    /// Whether records were set aside, and where they are.
    fn set_aside_text(&self) -> String {
        let letters: u64 = self.ended.summary.operators.iter().map(|operator| operator.dead_letters).sum();
        let Some(place) = self.dead_letters.filter(|_| letters > 0) else { return String::new() };
        let share = if letters >= self.records_in() { "every record was" } else { "records were" };
        format!("{share} set aside ({}): each is in {place} with the reason\n", count(letters))
    }

    /// For people.
    pub(crate) fn text(&self) -> String {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(["operator", "in", "out", "busy", "backpressured", "state keys", "also counted"]);
        for operator in &self.ended.summary.operators {
            table.add_row(self.row(operator));
        }
        for column in 1..=5 {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let outcome = match self.ended.summary.outcome {
            Outcome::Finished => "finished",
            Outcome::Cancelled => "cancelled",
        };
        format!(
            "{table}\n\n`{}` {outcome}: {} records in {:.2} s, {} ({:.2} CPU-seconds)\n{}{}",
            self.graph.name,
            count(self.records_in()),
            self.ended.summary.elapsed.as_secs_f64(),
            rate(self.records_per_second()),
            self.cpu.as_secs_f64(),
            self.set_aside_text(),
            self.durable_text(),
        )
    }

    fn row(&self, operator: &OperatorSnapshot) -> [String; 7] {
        let seconds = self.ended.summary.elapsed.as_secs_f64().max(1e-9) * f64::from(operator.parallelism.0.max(1));
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
