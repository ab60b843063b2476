//! Imports an interface that no host of ours has.

use testkit::*;

wit_bindgen::generate!({
    inline: "
        package acme:extras@1.0.0;
        interface clock { now: func() -> u64; }
        world extras { import clock; }
    ",
});

struct ForeignImport;

impl Behaviour for ForeignImport {
    fn process(batch: InputBatch) -> Result<(), BadRecord> {
        telemetry::add(0, acme::extras::clock::now() as f64);
        emit::forward(0, &rows(&batch));
        Ok(())
    }
}

export!(ForeignImport);
