//! The command line.

use std::path::PathBuf;

use clap::Parser;

use crate::cases::Variant;

/// Measures the engine against a native function and a bare loop.
///
/// Example: cargo xtask bench -- --quick --case dedup
#[derive(Clone, Debug, Parser)]
#[command(name = "cargo xtask bench --", version)]
pub(crate) struct Args {
    /// Only cases whose name begins so; may be given several times
    #[arg(long = "case", value_name = "NAME")]
    pub(crate) cases: Vec<String>,

    /// Only variants whose name begins so, and the guest: native, raw, fuel-off, batch-1, batch-64, batch-1024
    #[arg(long = "variant", value_name = "NAME")]
    pub(crate) variants: Vec<String>,

    /// Records of each input
    #[arg(long, value_name = "COUNT")]
    pub(crate) records: Option<u64>,

    /// A tenth of the records: a look, not a measurement
    #[arg(long)]
    pub(crate) quick: bool,

    /// Rounds of each case
    #[arg(long, default_value_t = 6, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(5..))]
    pub(crate) rounds: u32,

    /// Where inputs and the report are kept
    #[arg(long, default_value = "target/bench", value_name = "DIRECTORY")]
    pub(crate) directory: PathBuf,

    /// List the cases and stop
    #[arg(long)]
    pub(crate) list: bool,

    /// One run, described as JSON; how the benchmark calls itself
    #[arg(long, hide = true, value_name = "JSON")]
    pub(crate) one_run: Option<String>,
}

impl Args {
    /// Records of each input when the command line names no number: enough for a second of work.
    const RECORDS: u64 = 2_000_000;
    /// The same for `--quick`.
    const QUICK_RECORDS: u64 = 200_000;

    /// How many records each input has.
    pub(crate) fn record_count(&self) -> u64 {
        self.records.unwrap_or(if self.quick { Self::QUICK_RECORDS } else { Self::RECORDS })
    }

    /// The variants asked for; the guest is always one, since the others are compared with it.
    pub(crate) fn wanted_variants(&self) -> Vec<Variant> {
        let wanted = |variant: &Variant| {
            *variant == Variant::Guest
                || self.variants.is_empty()
                || self.variants.iter().any(|prefix| variant.key().starts_with(prefix.as_str()))
        };
        Variant::ALL.into_iter().filter(wanted).collect()
    }

    /// Whether the case called `name` was asked for.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.cases.is_empty() || self.cases.iter().any(|prefix| name.starts_with(prefix.as_str()))
    }
}
