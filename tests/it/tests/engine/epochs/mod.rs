//! Jobs with checkpoints: what a crash, a rescale, a lost answer or another owner must not change.

mod adopting;
mod chaos;
mod faults;
mod life;
mod power_loss;
mod pressure;
mod recover;
mod refusals;
mod schema;
mod soak;
pub(crate) mod support;
mod ttl;
