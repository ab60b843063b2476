//! Single operations, and the limits of the machine.

mod guest;
mod limits;

use serde::Serialize;

use crate::measure::{Cost, cost_of};
use crate::report::Verdict;
use crate::rounds::Spread;

pub(crate) use guest::guest_figures;
pub(crate) use limits::{memcpy_cpu_ns, raw_figures};

/// How often an operation is measured; the median counts.
const REPEATS: usize = 7;

/// What a single operation costs.
#[derive(Debug, Serialize)]
pub(crate) struct Figure {
    name: &'static str,
    value: Spread,
    unit: &'static str,
    verdict: Option<Verdict>,
}

impl Figure {
    /// Measures `work` several times: nanoseconds of CPU for one of the `count` things it does.
    pub(crate) fn per_item(name: &'static str, count: u64, mut work: impl FnMut()) -> Self {
        Self::try_per_item(name, count, || {
            work();
            Ok(())
        })
        .expect("the work cannot fail")
    }

    /// As [`Self::per_item`], for work that can fail.
    ///
    /// # Errors
    /// What `work` fails with.
    pub(crate) fn try_per_item(
        name: &'static str,
        count: u64,
        mut work: impl FnMut() -> anyhow::Result<()>,
    ) -> anyhow::Result<Self> {
        let mut values = Vec::with_capacity(REPEATS);
        work()?;
        for _ in 0..REPEATS {
            let (done, Cost { cpu_ns, .. }) = cost_of(&mut work);
            done?;
            values.push(cpu_ns as f64 / count as f64);
        }
        let value = Spread::of(&values).expect("it was measured more than once");
        Ok(Self { name, value, unit: "ns", verdict: None })
    }

    /// Gives the figure an upper bound.
    pub(crate) fn at_most(self, bound: f64) -> Self {
        Self { verdict: Some(Verdict::at_most(self.name, self.value.median, bound)), ..self }
    }

    /// Nanoseconds, the median.
    pub(crate) fn median(&self) -> f64 {
        self.value.median
    }

    /// One line.
    pub(crate) fn line(&self) -> String {
        let Spread { median, lowest, highest } = self.value;
        let verdict = self.verdict.as_ref().map_or_else(String::new, |verdict| format!("   {}", verdict.line()));
        format!("{:<52} {median:>12.1} {} [{lowest:.1} {highest:.1}]{verdict}", self.name, self.unit)
    }
}
