//! What a command is made of, and the table at its end.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use console::{Term, style};

/// How a stage came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Right; the note says what it came to.
    Done(String),
    /// Not run; the note says why, and what to do about it.
    Skipped(String),
}

impl Outcome {
    /// Right, with nothing to say.
    pub(crate) fn done() -> Self {
        Self::Done(String::new())
    }
}

struct Row {
    name: &'static str,
    took: Duration,
    outcome: Result<Outcome, String>,
}

/// Runs stages and remembers them.
#[derive(Default)]
pub(crate) struct Stages {
    rows: Vec<Row>,
}

impl Stages {
    /// Runs a stage. A failure is printed where it happens and is in the table.
    pub(crate) fn run(&mut self, name: &'static str, stage: impl FnOnce() -> Result<Outcome>) -> bool {
        println!("\n{}", style(format!("== {name}")).bold());
        let start = Instant::now();
        let outcome = stage().map_err(|error| format!("{error:#}"));
        match &outcome {
            Err(error) => eprintln!("{} {error}", style("failed:").red().bold().for_stderr()),
            Ok(Outcome::Skipped(why)) => println!("skipped: {why}"),
            Ok(Outcome::Done(_)) => {}
        }
        let good = outcome.is_ok();
        self.rows.push(Row { name, took: start.elapsed(), outcome });
        good
    }

    /// Prints the table; an error if any stage failed.
    pub(crate) fn finish(self, command: &str) -> Result<()> {
        let colours = Term::stdout().is_term();
        println!("\n{}", self.table(colours));
        let failed: Vec<&str> = self.rows.iter().filter(|row| row.outcome.is_err()).map(|row| row.name).collect();
        if !failed.is_empty() {
            bail!("{command}: {} of {} stages failed: {}", failed.len(), self.rows.len(), failed.join(", "));
        }
        Ok(())
    }

    fn table(&self, colours: bool) -> String {
        let width = self.rows.iter().map(|row| row.name.len()).max().unwrap_or(0).max("total".len());
        let mut lines = Vec::new();
        for row in &self.rows {
            let (word, note) = match &row.outcome {
                Ok(Outcome::Done(note)) => ("ok", note.as_str()),
                Ok(Outcome::Skipped(note)) => ("skipped", note.as_str()),
                Err(error) => ("FAILED", error.lines().next().unwrap_or_default()),
            };
            let padded = format!("{word:<8}");
            let shown = match (colours, &row.outcome) {
                (false, _) => padded,
                (true, Ok(Outcome::Done(_))) => style(padded).green().to_string(),
                (true, Ok(Outcome::Skipped(_))) => style(padded).yellow().to_string(),
                (true, Err(_)) => style(padded).red().to_string(),
            };
            let line = format!("{:<width$}  {:>9}  {shown}{note}", row.name, seconds(row.took));
            lines.push(line.trim_end().to_owned());
        }
        let total: Duration = self.rows.iter().map(|row| row.took).sum();
        lines.push(format!("{:<width$}  {:>9}", "total", seconds(total)));
        lines.join("\n")
    }
}

/// `3.2 s`, `4 m 05 s`.
fn seconds(took: Duration) -> String {
    let whole = took.as_secs();
    if whole < 60 { format!("{:.1} s", took.as_secs_f64()) } else { format!("{} m {:02} s", whole / 60, whole % 60) }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn the_table_names_every_stage_and_how_it_came_out() {
        let mut stages = Stages::default();
        assert!(stages.run("build", || Ok(Outcome::done())));
        assert!(stages.run("licences", || Ok(Outcome::Skipped("install it".to_owned()))));
        assert!(!stages.run("tests", || Err(anyhow!("3 failed\ndetails"))));
        let table = stages.table(false);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 4);
        assert!(lines[0].starts_with("build") && lines[0].ends_with("ok"));
        assert!(lines[1].ends_with("skipped install it"));
        assert!(lines[2].ends_with("FAILED  3 failed"));
        assert!(stages.finish("verify").unwrap_err().to_string().contains("1 of 3 stages failed: tests"));
    }

    #[test]
    fn durations_are_read_at_a_glance() {
        assert_eq!(seconds(Duration::from_millis(3240)), "3.2 s");
        assert_eq!(seconds(Duration::from_secs(245)), "4 m 05 s");
    }
}
