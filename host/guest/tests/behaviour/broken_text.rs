//! `broken_text` passes text that is not UTF-8.

use contract::FailureKind;

use crate::kit::*;

#[test]
fn text_that_is_not_utf8_breaks_the_contract_wherever_it_is_passed() {
    for word in ["log", "panic", "reject"] {
        check_failure(run(&mut function("broken_text"), &[word]), FailureKind::Contract, &["utf-8"]);
    }
}
