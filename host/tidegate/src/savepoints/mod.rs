//! Savepoints of jobs: made of a manifest, and made into one.
//!
//! # Invariants
//! 1. A savepoint is made of one complete manifest; what the job does meanwhile does not show in it.
//! 2. What a job is started with from a savepoint is a manifest of its own, in a lineage of its own: it is there
//!    before the job runs, so that a crash right after the start resumes like any other.

mod make;
mod mapping;
mod spill;
mod start;
mod values;

pub(crate) use make::make;
pub(crate) use mapping::Mapping;
pub(crate) use start::{Start, start_from};
pub(crate) use values::{bytes_shown, entry_key_shown, value_shown};

use model::{KeyGroup, KeyGroupRange, OperatorUid, StateDescriptor};

use contract::StateScope;

/// The scope of everything that an operator keeps, in one table.
fn whole(operator: &OperatorUid, key_group_count: u16, states: &[StateDescriptor]) -> StateScope {
    StateScope {
        operator: operator.clone(),
        key_groups: KeyGroupRange { first: KeyGroup(0), end: KeyGroup(key_group_count) },
        key_group_count,
        states: states.to_vec(),
    }
}
