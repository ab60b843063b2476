//! `other_shape` has our names and other types.

use crate::kit::*;

#[test]
fn types_that_differ_behind_the_right_names_are_refused() {
    check_error(&refused("other_shape"), "E0210", &["does not fit the world"]);
}
