//! Spends its time in the host: loads state again and again where a record says `slow`.

use testkit::*;

struct SlowHostCalls;

impl Behaviour for SlowHostCalls {
    fn describe() -> Descriptor {
        keyed()
    }

    fn process(batch: InputBatch) -> Result<(), BadRecord> {
        while asks_for(&batch, "slow").is_some() {
            state::load(0);
        }
        if asks_for(&batch, "once").is_some() {
            state::load(0);
        }
        emit::forward(0, &rows(&batch));
        Ok(())
    }
}

export!(SlowHostCalls);
