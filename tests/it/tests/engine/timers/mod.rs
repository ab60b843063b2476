//! Timers: when they fire, in what order, and what a crash, a rescale or a trap must not change.

mod firing;
mod planted;
mod recover;
pub(crate) mod support;
mod trouble;
