//! `loop_in_process` spins.

use std::time::Duration;

use contract::{FailureKind, UserFunction};
use guest::Limits;

use crate::kit::*;

#[test]
fn a_loop_runs_out_of_fuel() {
    let mut function = function("loop_in_process");
    let failed = run(&mut function, &["spin"]);
    check_failure(failed, FailureKind::OutOfFuel, &["20000000 units", "`process`", "`fuel_per_record`"]);
    assert!(function.fuel_used() >= 20_000_000);
    check_works(&mut function);
}

#[test]
fn a_loop_without_fuel_meets_its_deadline() {
    let limits = Limits { fuel_per_record: None, time_per_batch: Duration::from_millis(30), ..tight() };
    let mut function = function_within("loop_in_process", limits);
    let failed = run(&mut function, &["spin"]);
    check_failure(failed, FailureKind::Deadline, &["`process`", "30ms", "`time_per_batch`"]);
}

#[test]
fn the_verdict_is_the_same_for_any_batch_around_the_record() {
    let mut function = function("loop_in_process");
    for values in [&["spin"][..], &["a", "spin"], &["spin", "b", "c", "d"]] {
        check_failure(run(&mut function, values), FailureKind::OutOfFuel, &[]);
    }
}
