//! Assigns keys and times: the value is the key, its length the time. `short` and `lie` break the
//! contract, `bad` gives up, `emit` does what is for `process` only.

use testkit::*;

struct Assigns;

impl Behaviour for Assigns {
    fn describe() -> Descriptor {
        Descriptor { assigns: true, ..keyed() }
    }

    fn assign(values: OptionalColumn) -> Result<(OptionalColumn, Vec<i64>), BadRecord> {
        let count = values.items.ends.len();
        let mut times: Vec<i64> = (0..count).map(|row| item(&values.items, row).len() as i64).collect();
        let first = if count == 0 { Vec::new() } else { item(&values.items, 0).to_vec() };
        match first.as_slice() {
            b"short" => drop(times.pop()),
            b"lie" => return Ok((OptionalColumn { present: vec![1], ..nothing() }, times)),
            b"bad" => return Err(BadRecord { row: 0, message: "no key in it".into() }),
            b"emit" => emit::forward(0, &[]),
            b"log" => telemetry::log(telemetry::Level::Info, None, "assigned"),
            _ => {}
        }
        Ok((values, times))
    }
}

export!(Assigns);
