//! Imports a clock and the environment of WASI.

use testkit::*;

wit_bindgen::generate!({
    inline: "
        package acme:extras@1.0.0;
        package wasi:clocks@0.2.6 { interface monotonic-clock { now: func() -> u64; } }
        package wasi:cli@0.2.6 { interface environment { get-arguments: func() -> list<string>; } }
        world extras { import wasi:clocks/monotonic-clock@0.2.6; import wasi:cli/environment@0.2.6; }
    ",
    world: "acme:extras/extras",
    generate_all,
});

struct WasiImport;

impl Behaviour for WasiImport {
    fn process(_: InputBatch) -> Result<(), BadRecord> {
        telemetry::add(0, wasi::clocks::monotonic_clock::now() as f64);
        telemetry::add(0, wasi::cli::environment::get_arguments().len() as f64);
        Ok(())
    }
}

export!(WasiImport);
