//! `describes_no_json` has a schema that is no JSON.

use crate::kit::*;

#[test]
fn a_schema_that_is_no_json_is_refused() {
    check_error(&refused("describes_no_json"), "E0214", &["schema of state `entries`", "is not JSON"]);
}
