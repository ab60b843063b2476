//! Logs more than anybody wants: one huge line (`huge`), a hundred thousand lines (`many`); and counts
//! what is no number (`nan`) or too often (`often`).

use testkit::*;

struct LoudLog;

impl Behaviour for LoudLog {
    fn process(batch: InputBatch) -> Result<(), BadRecord> {
        let log = |message: &str| telemetry::log(telemetry::Level::Info, Some(0), message);
        if asks_for(&batch, "huge").is_some() {
            log(&"é".repeat(1 << 20));
        }
        if asks_for(&batch, "many").is_some() {
            (0..100_000).for_each(|_| log("again"));
        }
        if asks_for(&batch, "nan").is_some() {
            telemetry::add(0, f64::NAN);
            telemetry::set(1, f64::INFINITY);
        }
        if asks_for(&batch, "often").is_some() {
            (0..100_000).for_each(|_| telemetry::add(0, 1.0));
        }
        emit::forward(0, &rows(&batch));
        Ok(())
    }
}

export!(LoudLog);
