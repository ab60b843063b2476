//! Panics where a record says `panic`, with as long a text as `long` asks for.

use testkit::*;

struct Panics;

impl Behaviour for Panics {
    fn process(batch: InputBatch) -> Result<(), BadRecord> {
        if let Some(row) = asks_for(&batch, "panic") {
            panic!("record {row} is unlucky");
        }
        if asks_for(&batch, "long").is_some() {
            panic!("{}", "é".repeat(1 << 20));
        }
        if asks_for(&batch, "divide").is_some() {
            trap();
        }
        emit::forward(0, &rows(&batch));
        Ok(())
    }
}

export!(Panics);
