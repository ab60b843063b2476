//! Emits for rows that are not there, or that fall, as the first record says.

use testkit::*;

struct BadRows;

impl Behaviour for BadRows {
    fn process(batch: InputBatch) -> Result<(), BadRecord> {
        let beyond = batch.timestamps.len() as u32;
        match item(&batch.values.items, 0) {
            b"forward-beyond" => emit::forward(0, &[0, beyond]),
            b"forward-max" => emit::forward(0, &[u32::MAX]),
            b"push-beyond" => emit::push(0, &records(vec![beyond], ["x"])),
            b"forward-falling" => emit::forward(0, &[1, 0]),
            b"push-falling" => emit::push(0, &records(vec![1, 0], ["x", "y"])),
            b"forward-repeated" => emit::forward(0, &[0, 0, 1]),
            b"log-beyond" => telemetry::log(telemetry::Level::Info, Some(beyond), "about nothing"),
            _ => emit::forward(0, &rows(&batch)),
        }
        Ok(())
    }
}

export!(BadRows);
