//! Emits everything, then traps where a record says `trap`.

use testkit::*;

struct TrapAfterEmit;

impl Behaviour for TrapAfterEmit {
    fn process(batch: InputBatch) -> Result<(), BadRecord> {
        emit::forward(0, &rows(&batch));
        telemetry::add(0, 1.0);
        telemetry::log(telemetry::Level::Warn, None, "about to trap");
        if asks_for(&batch, "trap").is_some() {
            trap();
        }
        Ok(())
    }
}

export!(TrapAfterEmit);
