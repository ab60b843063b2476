//! `loop_in_open` spins while it is opened.

use model::{Blame, Retry};

use crate::kit::*;

#[test]
fn a_loop_in_open_runs_out_of_fuel_and_the_guest_is_blamed() {
    let error = refused_to_open("loop_in_open", "spin");
    check_error(&error, "E0216", &["out of fuel", "`open`", "20000000 units"]);
    assert_eq!((error.blame(), error.retry()), (Blame::Guest, Retry::No));
}

#[test]
fn another_config_opens() {
    check_works(&mut function("loop_in_open"));
}
