//! What was measured, as a table for a person and as JSON for a script.

mod epochs;
mod table;

use serde::Serialize;

use crate::cases::{Case, Target, Variant};
use crate::input::Input;
use crate::micro::Figure;
use crate::one_run::RunResult;
use crate::rounds::Spread;

pub(crate) use table::{TableReport, mib, millis, ratio, table};

/// Everything one call of the benchmark found.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// The processor, as it names itself.
    pub(crate) processor: String,
    /// How many of it there are.
    pub(crate) cores: usize,
    /// Rounds of each case.
    pub(crate) rounds: u32,
    /// Single operations.
    pub(crate) figures: Vec<Figure>,
    /// Cases.
    pub(crate) cases: Vec<CaseReport>,
    /// Cases of state.
    pub(crate) tables: Vec<TableReport>,
}

/// What was found of one case.
#[derive(Debug, Serialize)]
pub(crate) struct CaseReport {
    name: &'static str,
    title: &'static str,
    input: Input,
    records_out: u64,
    checksum: String,
    variants: Vec<VariantReport>,
    verdicts: Vec<Verdict>,
}

/// What was found of one variant.
#[derive(Debug, Serialize)]
struct VariantReport {
    variant: String,
    wall_s: Spread,
    records_per_second: f64,
    cpu_s_per_million: Spread,
    /// CPU time of this variant over that of the guest, round by round: above 1, the guest is cheaper.
    cpu_over_guest: Spread,
    /// Wall-clock time likewise.
    wall_over_guest: Spread,
    peak_mib: f64,
    grown_mib: f64,
    tables_mib: f64,
    fuel_per_record: f64,
    /// Every run, in the order of the rounds.
    runs: Vec<RunResult>,
}

/// A target and whether it was met.
#[derive(Debug, Serialize)]
pub(crate) struct Verdict {
    what: String,
    found: f64,
    bound: f64,
    met: bool,
}

impl Verdict {
    /// A figure that is to be `bound` or more.
    pub(crate) fn at_least(what: impl Into<String>, found: f64, bound: f64) -> Self {
        Self { what: what.into(), found, bound, met: found >= bound }
    }

    /// A figure that is to be `bound` or less.
    pub(crate) fn at_most(what: impl Into<String>, found: f64, bound: f64) -> Self {
        Self { what: what.into(), found, bound, met: found <= bound }
    }

    /// One line.
    pub(crate) fn line(&self) -> String {
        let word = if self.met { "met   " } else { "MISSED" };
        format!("{word} {}: {:.3} (bound {:.3})", self.what, self.found, self.bound)
    }
}

/// The runs of one variant, in the order of the rounds.
#[derive(Debug)]
pub(crate) struct Runs {
    /// Who ran.
    pub(crate) variant: Variant,
    /// What came of it.
    pub(crate) results: Vec<RunResult>,
}

impl Runs {
    fn cpu(&self) -> Vec<f64> {
        self.results.iter().map(|run| run.cost.cpu_ns as f64).collect()
    }

    fn wall(&self) -> Vec<f64> {
        self.results.iter().map(|run| run.cost.wall_ns as f64).collect()
    }

    fn median(&self, of: impl Fn(&RunResult) -> f64) -> f64 {
        let values: Vec<f64> = self.results.iter().map(of).collect();
        Spread::of(&values).map_or(0.0, |spread| spread.median)
    }
}

const MIB: f64 = 1024.0 * 1024.0;

impl CaseReport {
    /// Sums up the runs of a case; the first are those of the guest.
    pub(crate) fn new(case: &Case, input: Input, all: &[Runs], memcpy_cpu_ns: f64) -> anyhow::Result<Self> {
        let (Some(guest), Some(first)) = (all.first(), all.first().and_then(|runs| runs.results.first())) else {
            anyhow::bail!("case {} has no runs", case.name);
        };
        let variants = all.iter().filter_map(|runs| sum_up(runs, guest, input.records)).collect();
        let verdicts = case.targets.iter().filter_map(|target| judge(*target, all, &input, memcpy_cpu_ns)).collect();
        Ok(Self {
            name: case.name,
            title: case.title,
            records_out: first.tally.records,
            checksum: String::new(),
            input,
            variants,
            verdicts,
        })
    }

    /// Notes the checksum that every variant's output has.
    pub(crate) fn with_checksum(self, checksum: u64) -> Self {
        Self { checksum: format!("{checksum:016x}"), ..self }
    }

    /// The case as text.
    pub(crate) fn text(&self) -> String {
        let header = [
            "variant",
            "records/s",
            "CPU s per million",
            "CPU / guest",
            "wall / guest",
            "peak MiB (grown, tables)",
            "fuel per record",
        ];
        let row = |variant: &VariantReport| {
            vec![
                variant.variant.clone(),
                format!("{:.0}", variant.records_per_second),
                spread(&variant.cpu_s_per_million),
                spread(&variant.cpu_over_guest),
                spread(&variant.wall_over_guest),
                format!("{:.0} ({:.0}, {:.0})", variant.peak_mib, variant.grown_mib, variant.tables_mib),
                format!("{:.0}", variant.fuel_per_record),
            ]
        };
        let rows: Vec<Vec<String>> = self.variants.iter().map(row).collect();
        let table = table(&header, &rows);
        let epochs = epochs::text(self.variants.iter().map(|it| (it.variant.as_str(), it.runs.as_slice())));
        let verdicts: String = self.verdicts.iter().map(|verdict| format!("  {}\n", verdict.line())).collect();
        format!(
            "\n{}: {}\n  {} records in ({} MiB, seed {}, checksum {}), {} out (checksum {}), equal for every variant\n\n{table}\n\n{epochs}{verdicts}",
            self.name,
            self.title,
            self.input.records,
            self.input.bytes >> 20,
            self.input.seed,
            self.input.checksum,
            self.records_out,
            self.checksum,
        )
    }
}

fn spread(spread: &Spread) -> String {
    format!("{:.3} [{:.3} {:.3}]", spread.median, spread.lowest, spread.highest)
}

fn sum_up(runs: &Runs, guest: &Runs, records: u64) -> Option<VariantReport> {
    let per_million: Vec<f64> = runs.cpu().iter().map(|cpu_ns| cpu_ns / 1e3 / records as f64).collect();
    let wall_s: Vec<f64> = runs.wall().iter().map(|wall_ns| wall_ns / 1e9).collect();
    let wall_s = Spread::of(&wall_s)?;
    Some(VariantReport {
        variant: runs.variant.name(),
        wall_s,
        records_per_second: records as f64 / wall_s.median,
        cpu_s_per_million: Spread::of(&per_million)?,
        cpu_over_guest: Spread::of_ratios(&runs.cpu(), &guest.cpu())?,
        wall_over_guest: Spread::of_ratios(&runs.wall(), &guest.wall())?,
        peak_mib: runs.median(|run| run.resident_peak_bytes as f64) / MIB,
        grown_mib: runs.median(grown) / MIB,
        tables_mib: runs.median(|run| run.table_bytes as f64) / MIB,
        fuel_per_record: runs.median(|run| run.fuel as f64) / records as f64,
        runs: runs.results.clone(),
    })
}

fn grown(run: &RunResult) -> f64 {
    run.resident_peak_bytes.saturating_sub(run.resident_before_bytes) as f64
}

/// Whether a target was met; `None` where what it compares with did not run.
fn judge(target: Target, all: &[Runs], input: &Input, memcpy_cpu_ns: f64) -> Option<Verdict> {
    let guest = all.first()?;
    let cpu_ns = guest.median(|run| run.cost.cpu_ns as f64);
    let of = |variant: Variant| all.iter().find(|runs| runs.variant == variant);
    let verdict = match target {
        Target::CpuPerMillion(bound) => {
            Verdict::at_most("CPU-seconds per million", cpu_ns / 1e3 / input.records as f64, bound)
        }
        Target::CpuPerMillionOf(variant, bound) => {
            let cpu_ns = of(variant)?.median(|run| run.cost.cpu_ns as f64);
            let what = format!("CPU-seconds per million of {}", variant.name());
            Verdict::at_most(what, cpu_ns / 1e3 / input.records as f64, bound)
        }
        Target::Dip(variant, against, bound) => {
            let kept = Spread::of_ratios(&of(against)?.wall(), &of(variant)?.wall())?.median;
            Verdict::at_most(format!("throughput that {} loses", variant.name()), 1.0 - kept, bound)
        }
        Target::Ratio(variant, bound) => {
            let ratio = Spread::of_ratios(&of(variant)?.cpu(), &guest.cpu())?.median;
            Verdict::at_least(format!("speed of {} (CPU)", variant.name()), ratio, bound)
        }
        Target::OfMemcpy(bound) => Verdict::at_least("speed of memcpy on one core", memcpy_cpu_ns / cpu_ns, bound),
        Target::PerCore(bound) => {
            Verdict::at_least("records per CPU-second", input.records as f64 / (cpu_ns / 1e9), bound)
        }
        Target::MemoryOverLive(bound) => {
            let over = guest.median(|run| grown(run) / run.live_bytes.max(1) as f64);
            Verdict::at_most("memory grown over live bytes", over, bound)
        }
    };
    Some(verdict)
}

#[cfg(test)]
mod tests;
