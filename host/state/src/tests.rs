//! The table keeps the promises of the seam, for segments of any length.

use contract::compliance;

use crate::{MemoryBackend, Options};

#[test]
fn the_state_log_keeps_the_promises_of_keyed_state() {
    compliance::state::check(&MemoryBackend::default());
}

#[test]
fn the_state_log_keeps_its_promises_with_tiny_segments() {
    for segment_bytes in [0, 256, 4096] {
        compliance::state::check(&MemoryBackend { options: Options { segment_bytes } });
    }
}
