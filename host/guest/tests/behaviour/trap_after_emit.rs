//! `trap_after_emit` emits everything, then traps.

use contract::FailureKind;

use crate::kit::*;

#[test]
fn a_trap_names_the_call_and_the_function_it_happened_in() {
    let failed = run(&mut function("trap_after_emit"), &["a", "trap"]);
    check_failure(failed, FailureKind::Trap, &["`process`", "unreachable", "testkit", "::process"]);
}

#[test]
fn the_next_turn_starts_from_nothing_and_log_lines_of_the_failed_one_are_kept() {
    let mut function = function("trap_after_emit");
    let mut failing = turn(&["a", "trap"]);
    contract::UserFunction::process(&mut function, &mut failing).unwrap_err();
    assert_eq!(failing.staged.logs.len(), 1);
    let turn = run(&mut function, &["a"]).unwrap();
    assert_eq!(forwarded(&turn), [0]);
    assert_eq!(turn.staged.metrics.len(), 1);
}
