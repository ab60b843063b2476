//! `bad_ids` uses what it did not declare, or what is of another kind.

use contract::FailureKind;

use crate::kit::*;

#[test]
fn what_was_not_declared_is_refused_by_its_number() {
    for (word, parts) in [
        ("forward", ["emit.forward", "output 2 is not declared"]),
        ("push", ["emit.push", "output 65535 is not declared"]),
        ("load", ["state.load", "state 7 is not declared"]),
        ("store", ["state.store", "state 7 is not declared"]),
        ("add", ["telemetry.add", "metric 9 is not declared"]),
    ] {
        check_failure(run_keyed("bad_ids", &[word]), FailureKind::Contract, &parts);
    }
}

#[test]
fn what_is_of_another_kind_is_refused_by_its_name() {
    for (word, parts) in [
        ("load-a-map", ["state.load", "state `entries` is of kind map-entries"]),
        ("scan-a-value", ["state.scan", "state `seen` is of kind value"]),
        ("entries-of-a-value", ["state.load-entries", "state `seen` is of kind value"]),
        ("store-entries-of-a-value", ["state `seen`", "has no entry keys"]),
        ("store-a-map-without-keys", ["state `entries`", "entry keys are missing"]),
        ("scan-nothing", ["state.scan", "limit of 0"]),
        ("forward-to-fields", ["emit.forward", "output `typed` has fields"]),
        ("add-to-a-gauge", ["telemetry.add", "metric `level` is a gauge"]),
        ("set-a-counter", ["telemetry.set", "metric `seen` is a counter"]),
    ] {
        check_failure(run_keyed("bad_ids", &[word]), FailureKind::Contract, &parts);
    }
}
