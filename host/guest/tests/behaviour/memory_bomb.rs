//! `memory_bomb` takes memory without end.

use contract::FailureKind;
use guest::{GuestFactory, Limits};

use crate::kit::*;

#[test]
fn memory_beyond_the_limit_is_refused_and_named() {
    let mut function = function("memory_bomb");
    let failed = run(&mut function, &["bomb"]);
    check_failure(failed, FailureKind::Memory, &["`process`", "8388608", "limit `memory`"]);
    check_works(&mut function);
}

#[test]
fn a_module_that_needs_more_than_the_limit_to_begin_with_does_not_start() {
    let limits = Limits { memory_bytes: 1 << 16, ..tight() };
    let factory = GuestFactory::new(module("memory_bomb"), limits).unwrap();
    check_error(&factory.open(&task("{}")).unwrap_err(), "E0216", &["`start`", "65536", "limit `memory`"]);
}

#[test]
fn a_limit_of_nothing_is_refused_before_anything_runs() {
    let limits = Limits { memory_bytes: 0, ..tight() };
    let error = GuestFactory::new(module("memory_bomb"), limits).unwrap_err();
    check_error(&error, "E0218", &["`memory` is 0"]);
}
