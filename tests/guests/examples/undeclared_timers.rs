//! Sets timers without saying so in its descriptor.

use testkit::*;

struct UndeclaredTimers;

impl Behaviour for UndeclaredTimers {
    fn describe() -> Descriptor {
        keyed()
    }

    fn process(_: InputBatch) -> Result<(), BadRecord> {
        timers::enable(Clock::EventTime, &[0], &[1]);
        Ok(())
    }
}

export!(UndeclaredTimers);
