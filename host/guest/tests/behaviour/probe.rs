//! `probe` is what the compliance suite of the seam knows.

use guest::GuestFactory;

use crate::kit::*;

#[test]
fn a_guest_keeps_every_promise_of_a_user_function() {
    contract::compliance::function::check(&GuestFactory::new(module("probe"), tight()).unwrap());
}
