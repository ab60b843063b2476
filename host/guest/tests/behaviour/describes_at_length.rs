//! `describes_at_length` has a schema of a megabyte.

use crate::kit::*;

#[test]
fn a_schema_beyond_the_cap_is_refused() {
    check_error(&refused("describes_at_length"), "E0214", &["schema of state `seen`", "1048578 bytes", "65536"]);
}
