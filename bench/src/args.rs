//! The command line.

use std::path::PathBuf;

use clap::Parser;

use crate::cases::{Case, Variant};

/// Measures the engine against a native function and a bare loop.
///
/// Example: cargo xtask bench -- --quick --case dedup
#[derive(Clone, Debug, Parser)]
#[command(name = "cargo xtask bench --", version)]
pub(crate) struct Args {
    /// Only cases whose name begins so; may be given several times
    #[arg(long = "case", value_name = "NAME")]
    pub(crate) cases: Vec<String>,

    /// Only variants whose name begins so, and the guest: native, raw, fuel-off, batch-1, batch-64,
    /// batch-1024, epochs-1000, epochs-200, native-epochs-1000, native-epochs-200
    #[arg(long = "variant", value_name = "NAME")]
    pub(crate) variants: Vec<String>,

    /// Records of each input
    #[arg(long, value_name = "COUNT")]
    pub(crate) records: Option<u64>,

    /// A tenth of the records: a look, not a measurement
    #[arg(long)]
    pub(crate) quick: bool,

    /// Sizes of the state of `checkpoint`, `recovery` and `rescale`; may be given several times; 10240 if there is room
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) state_mib: Vec<u64>,

    /// How much of the state of `checkpoint` every epoch changes; may be given several times
    #[arg(long, value_name = "PERCENT", default_values_t = [1, 10, 50], value_parser = clap::value_parser!(u64).range(1..=100))]
    pub(crate) churn: Vec<u64>,

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

    /// Sizes of state when the command line names none.
    const STATE_MIB: &[u64] = &[256, 1024];
    /// The same for `--quick`.
    const QUICK_STATE_MIB: &[u64] = &[32, 128];

    /// Sizes of the state, in bytes, rising.
    pub(crate) fn state_bytes(&self) -> Vec<u64> {
        let usual = if self.quick { Self::QUICK_STATE_MIB } else { Self::STATE_MIB };
        let mut sizes = if self.state_mib.is_empty() { usual.to_vec() } else { self.state_mib.clone() };
        sizes.sort_unstable();
        sizes.dedup();
        sizes.into_iter().map(|mib| mib << 20).collect()
    }

    /// How many records the input of `case` has.
    pub(crate) fn records_of(&self, case: &Case) -> u64 {
        self.records.unwrap_or_else(|| self.record_count() * case.times_records)
    }

    /// How many records each input has.
    pub(crate) fn record_count(&self) -> u64 {
        self.records.unwrap_or(if self.quick { Self::QUICK_RECORDS } else { Self::RECORDS })
    }

    /// The variants asked for; the guest is always one, since the others are compared with it.
    pub(crate) fn wanted_variants(&self, case: &Case) -> Vec<Variant> {
        let wanted = |variant: &Variant| {
            *variant == Variant::Guest
                || self.variants.is_empty()
                || self.variants.iter().any(|prefix| variant.key().starts_with(prefix.as_str()))
        };
        case.variants.iter().copied().filter(wanted).collect()
    }

    /// Whether the case called `name` was asked for.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.cases.is_empty() || self.cases.iter().any(|prefix| name.starts_with(prefix.as_str()))
    }
}
