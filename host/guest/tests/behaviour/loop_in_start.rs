//! `loop_in_start` spins in the start function of its core module, which is given to it here: the
//! compiler makes none.

use crate::{kit::*, patch};

#[test]
fn a_loop_in_a_start_function_runs_out_of_fuel() {
    let core = patch::with_start(&core_module("loop_in_start"), "spin_at_start");
    let error = shared_sandbox().load(&componentize(&core)).unwrap_err();
    check_error(&error, "E0213", &["out of fuel", "`start`"]);
}

#[test]
fn without_the_start_section_it_is_plain() {
    check_works(&mut function("loop_in_start"));
}
