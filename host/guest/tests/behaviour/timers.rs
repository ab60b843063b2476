//! `timers` asks for timers.

use contract::FailureKind;

use crate::kit::*;

#[test]
fn timers_are_refused_until_there_are_any() {
    for word in ["enable", "cancel"] {
        let call = format!("timers.{word}");
        let parts = [call.as_str(), "timers are not available yet"];
        check_failure(run_keyed("timers", &[word]), FailureKind::Contract, &parts);
    }
}
