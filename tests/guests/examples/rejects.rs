//! Gives up on the record that says `bad`; on one that says `beyond` it names a row that is not there, on
//! one that says `long` it says why at length.

use testkit::*;

struct Rejects;

impl Behaviour for Rejects {
    fn process(batch: InputBatch) -> Result<(), BadRecord> {
        emit::forward(0, &rows(&batch));
        telemetry::log(telemetry::Level::Debug, None, "looked");
        if let Some(row) = asks_for(&batch, "bad") {
            return Err(BadRecord { row, message: format!("row {row} is bad") });
        }
        if asks_for(&batch, "beyond").is_some() {
            return Err(BadRecord { row: u32::MAX, message: "somewhere".into() });
        }
        if let Some(row) = asks_for(&batch, "long") {
            return Err(BadRecord { row, message: "x".repeat(1 << 20) });
        }
        Ok(())
    }
}

export!(Rejects);
