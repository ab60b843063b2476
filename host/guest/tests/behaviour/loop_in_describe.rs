//! `loop_in_describe` never says what it is.

use crate::kit::*;

#[test]
fn a_loop_in_describe_runs_out_of_fuel() {
    check_error(&refused("loop_in_describe"), "E0213", &["out of fuel", "`describe`"]);
}
