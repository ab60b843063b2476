//! `foreign_import` imports what no host of ours has.

use crate::kit::*;

#[test]
fn an_import_that_is_not_ours_is_refused_by_its_name() {
    check_error(&refused("foreign_import"), "E0208", &["imports `acme:extras/clock@1.0.0`", "`tidegate:flow`"]);
}
