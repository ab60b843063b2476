//! `describes_without_end` says more than a descriptor may hold.

use crate::kit::*;

#[test]
fn a_descriptor_beyond_the_cap_is_refused_before_it_is_copied() {
    check_error(&refused("describes_without_end"), "E0213", &["`describe`", "more bytes than the host takes"]);
}
