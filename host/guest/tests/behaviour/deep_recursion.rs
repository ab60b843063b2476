//! `deep_recursion` recurses without end.

use contract::FailureKind;

use crate::kit::*;

#[test]
fn the_stack_ends_in_a_trap_that_says_so() {
    let mut function = function("deep_recursion");
    check_failure(run(&mut function, &["deep"]), FailureKind::Trap, &["stack overflow", "`process`", "512 KiB"]);
    check_works(&mut function);
}
