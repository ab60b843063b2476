//! `other_version` is made for a newer world.

use crate::kit::*;

#[test]
fn a_function_of_another_version_is_refused_with_both_versions() {
    check_error(&refused("other_version"), "E0209", &["`tidegate:flow/function@0.2.0`", "0.1.0"]);
}
