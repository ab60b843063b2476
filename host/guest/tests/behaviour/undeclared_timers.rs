//! `undeclared_timers` sets timers without saying so.

use contract::FailureKind;

use crate::kit::*;

#[test]
fn timers_of_a_function_that_does_not_say_so_are_refused() {
    let parts = ["timers.enable", "the descriptor does not say that the function sets timers"];
    check_failure(run_keyed("undeclared_timers", &["any"]), FailureKind::Contract, &parts);
}
