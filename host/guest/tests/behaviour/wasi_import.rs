//! `wasi_import` imports a clock and the environment of WASI.

use crate::kit::*;

#[test]
fn imports_of_wasi_are_refused_each_by_its_name() {
    let parts = ["`wasi:clocks/monotonic-clock@0.2.6`", "`wasi:cli/environment@0.2.6`"];
    check_error(&refused("wasi_import"), "E0208", &parts);
}
