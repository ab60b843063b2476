//! `table_bomb` has a table of ten million elements, which is given to it here.

use crate::{kit::*, patch};

#[test]
fn a_table_beyond_the_cap_is_refused() {
    let core = patch::with_table_of(&core_module("table_bomb"), 10_000_000);
    let error = shared_sandbox().load(&componentize(&core)).unwrap_err();
    check_error(&error, "E0221", &["table", "10000000", "65536"]);
}

#[test]
fn with_its_own_table_it_is_plain() {
    check_works(&mut function("table_bomb"));
}
