//! The function that the compliance suite of `contract` knows.

use testkit::*;

struct Probe;

impl Behaviour for Probe {
    fn process(batch: InputBatch) -> Result<(), BadRecord> {
        let mut kept = Vec::new();
        for row in rows(&batch) {
            let value = item(&batch.values.items, row as usize);
            match value {
                b"reject" => return Err(BadRecord { row, message: "told to".into() }),
                b"trap" => panic!("told to"),
                _ => {}
            }
            if let Some(text) = value.strip_prefix(b"log ") {
                telemetry::log(telemetry::Level::Info, Some(row), &String::from_utf8_lossy(text));
            } else {
                kept.push(row);
            }
        }
        telemetry::add(0, kept.len() as f64);
        emit::forward(0, &kept);
        Ok(())
    }
}

export!(Probe);
