//! `describes_wrongly` numbers its outputs wrongly.

use crate::kit::*;

#[test]
fn ports_that_are_not_numbered_in_order_are_refused() {
    check_error(&refused("describes_wrongly"), "E0214", &["output 0 has the id 3"]);
}
