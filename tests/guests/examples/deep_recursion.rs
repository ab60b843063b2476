//! Recurses without end where a record says `deep`.

use testkit::*;

struct DeepRecursion;

impl Behaviour for DeepRecursion {
    fn process(batch: InputBatch) -> Result<(), BadRecord> {
        if asks_for(&batch, "deep").is_some() {
            telemetry::add(0, descend(1) as f64);
        }
        emit::forward(0, &rows(&batch));
        Ok(())
    }
}

/// Nothing in linear memory, so that the engine's stack ends before the guest's own.
#[inline(never)]
fn descend(depth: u64) -> u64 {
    if core::hint::black_box(depth) == 0 { 0 } else { descend(depth + 1).wrapping_mul(3) + 1 }
}

export!(DeepRecursion);
