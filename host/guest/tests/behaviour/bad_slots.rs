//! `bad_slots` names slots that are not there.

use contract::FailureKind;

use crate::kit::*;

#[test]
fn a_slot_beyond_the_keys_is_refused_in_every_call() {
    for (call, named) in
        [("store", "slot 1"), ("store-max", "slot 4294967295"), ("load-entries", "slot 1"), ("scan", "slot 1")]
    {
        let import = format!("state.{}", call.trim_end_matches("-max"));
        check_failure(run_keyed("bad_slots", &[call]), FailureKind::Contract, &[&import, named, "has 1 keys"]);
    }
}
