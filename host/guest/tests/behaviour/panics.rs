//! `panics` panics.

use contract::FailureKind;
use guest::caps;

use crate::kit::*;

#[test]
fn the_text_of_a_panic_is_the_message_with_file_and_line() {
    let failed = run(&mut function("panics"), &["a", "panic"]);
    check_failure(failed, FailureKind::Trap, &["panic in `process`", "panics.rs:", "record 1 is unlucky"]);
}

#[test]
fn a_long_text_is_cut() {
    let limits = guest::Limits { fuel_per_record: Some(1_000_000_000), memory_bytes: 64 << 20, ..tight() };
    let failure = run(&mut function_within("panics", limits), &["long"]).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Trap);
    assert!(failure.message.len() < caps::MESSAGE_BYTES + 100, "{} bytes", failure.message.len());
}

#[test]
fn a_panic_of_an_earlier_turn_is_not_the_reason_of_a_later_trap() {
    let mut function = function("panics");
    run(&mut function, &["panic"]).unwrap_err();
    let failure = run(&mut function, &["divide"]).unwrap_err();
    assert!(!failure.message.contains("unlucky"), "{failure}");
}
