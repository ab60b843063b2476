//! A table of figures with its verdicts, for what is not a comparison of variants over one input.

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};
use serde::Serialize;

use crate::report::Verdict;
use crate::rounds::Spread;

/// What was found of a case.
#[derive(Debug, Serialize)]
pub(crate) struct TableReport {
    /// What the command line calls the case.
    pub(crate) name: &'static str,
    /// What was done, for a person.
    pub(crate) title: String,
    /// What the columns are.
    pub(crate) header: Vec<&'static str>,
    /// The figures.
    pub(crate) rows: Vec<Vec<String>>,
    /// What was to be reached.
    pub(crate) verdicts: Vec<Verdict>,
    /// Every run, as it said of itself.
    pub(crate) runs: Vec<serde_json::Value>,
}

impl TableReport {
    /// The case as text.
    pub(crate) fn text(&self) -> String {
        let verdicts: String = self.verdicts.iter().map(|verdict| format!("  {}\n", verdict.line())).collect();
        format!("\n{}: {}\n\n{}\n\n{verdicts}", self.name, self.title, table(&self.header, &self.rows))
    }
}

/// A table whose first column is text and whose others are numbers.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>]) -> Table {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN).set_header(header);
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Nanoseconds as milliseconds, with the range.
pub(crate) fn millis(values_ns: &[f64]) -> String {
    Spread::of(values_ns).map_or_else(
        || "-".to_owned(),
        |found| format!("{:.1} [{:.1} {:.1}]", found.median / 1e6, found.lowest / 1e6, found.highest / 1e6),
    )
}

/// A ratio, with its range.
pub(crate) fn ratio(spread: Option<&Spread>) -> String {
    spread.map_or_else(
        || "-".to_owned(),
        |found| format!("{:.2} [{:.2} {:.2}]", found.median, found.lowest, found.highest),
    )
}

/// Bytes as MiB.
pub(crate) fn mib(bytes: f64) -> String {
    format!("{:.1}", bytes / (1024.0 * 1024.0))
}
