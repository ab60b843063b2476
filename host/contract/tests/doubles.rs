//! The doubles keep the promises of their seams.

use contract::{compliance, doubles};

#[test]
fn the_sorted_map_keeps_the_promises_of_keyed_state() {
    compliance::state::check(&doubles::MapBackend);
}
