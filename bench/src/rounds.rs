//! The order of runs, and what is made of them.
//!
//! # Invariants
//! 1. Any two variants meet in the order A B B A A B B A …: a machine that slows down or speeds up
//!    favours neither.
//! 2. A ratio compares two runs of the same round.

/// In which order the variants `0..count` run in `round`.
pub(crate) fn order(count: usize, round: u32) -> Vec<usize> {
    let forward = 0..count;
    if round.is_multiple_of(2) { forward.collect() } else { forward.rev().collect() }
}

/// A middle and the range around it.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub(crate) struct Spread {
    /// The median; the mean of the two middle values where their number is even.
    pub(crate) median: f64,
    /// The lowest.
    pub(crate) lowest: f64,
    /// The highest.
    pub(crate) highest: f64,
}

impl Spread {
    /// The spread of some values; `None` of none.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (lowest, highest) = (*sorted.first()?, *sorted.last()?);
        let upper = *sorted.get(sorted.len() / 2)?;
        let lower = *sorted.get((sorted.len() - 1) / 2)?;
        Some(Self { median: f64::midpoint(lower, upper), lowest, highest })
    }

    /// The spread of `over[i] / under[i]`, round by round.
    pub(crate) fn of_ratios(over: &[f64], under: &[f64]) -> Option<Self> {
        let ratios: Vec<f64> = over.iter().zip(under).map(|(over, under)| over / under).collect();
        Self::of(&ratios)
    }
}

/// The value that `percent` in a hundred of the values do not exceed: one of them, the nearest by rank; 0 of none.
pub(crate) fn percentile(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests;
