//! `foreign_world` is a component, but no function.

use crate::kit::*;

#[test]
fn a_component_without_the_function_interface_is_refused_with_what_it_exports() {
    let parts = ["does not export `tidegate:flow/function@0.1.0`", "`acme:tools/greeter@1.0.0`"];
    check_error(&refused("foreign_world"), "E0207", &parts);
}
