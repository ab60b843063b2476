//! Jobs with checkpoints: what a crash, a rescale, a lost answer or another owner must not change.

mod chaos;
mod faults;
mod life;
mod recover;
mod refusals;
mod support;
mod ttl;
