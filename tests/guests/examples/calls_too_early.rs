//! Calls in `open` what is for `process` only, as its config says.

use testkit::*;

struct CallsTooEarly;

impl Behaviour for CallsTooEarly {
    fn describe() -> Descriptor {
        keyed()
    }

    fn open(task: Task) -> Result<(), String> {
        match task.config.as_str() {
            "load" => drop(state::load(0)),
            "store" => {
                let values = present(column(["x"]));
                state::store(0, &state::Writes { slots: vec![0], entry_keys: None, values, rows: Vec::new() });
            }
            "forward" => emit::forward(0, &[]),
            "timer" => timers::enable(Clock::EventTime, &[], &[]),
            "log" => telemetry::log(telemetry::Level::Info, None, "opened"),
            _ => {}
        }
        Ok(())
    }
}

export!(CallsTooEarly);
