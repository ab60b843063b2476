//! `trap_after_store` writes for every slot, then traps.

use contract::FailureKind;

use crate::kit::*;

#[test]
fn the_state_is_given_back_as_it_was() {
    let state = table(module("trap_after_store").descriptor());
    let mut failing = keyed_turn(&["trap"], &["k"], state);
    let mut function = function("trap_after_store");
    let outcome = contract::UserFunction::process(&mut function, &mut failing);
    assert!(matches!(outcome, Err(contract::ProcessError::Function(failure)) if failure.kind == FailureKind::Trap));
    assert_eq!(failing.state.unwrap().stats().live_entries, 0);
}

#[test]
fn a_turn_that_returns_stages_what_it_wrote() {
    let turn = run_keyed("trap_after_store", &["a", "b"]).unwrap();
    assert_eq!(turn.staged.writes.len(), 1);
    assert_eq!(commit(turn).stats().live_entries, 1);
}
