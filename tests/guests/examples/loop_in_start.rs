//! Has a function that spins, for a start section to call.

use testkit::*;

struct LoopInStart;

impl Behaviour for LoopInStart {}

/// What the test makes the start function.
#[unsafe(no_mangle)]
pub extern "C" fn spin_at_start() {
    loop {
        core::hint::black_box(());
    }
}

export!(LoopInStart);
