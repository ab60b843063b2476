//! Asks for a timer, or takes one back.

use testkit::*;

struct Timers;

impl Behaviour for Timers {
    fn describe() -> Descriptor {
        keyed()
    }

    fn process(batch: InputBatch) -> Result<(), BadRecord> {
        match item(&batch.values.items, 0) {
            b"cancel" => timers::cancel(Clock::ProcessingTime, &[0], &[1]),
            _ => timers::enable(Clock::EventTime, &[0], &[1]),
        }
        Ok(())
    }
}

export!(Timers);
