//! `echo_keys` asks for no values.

use crate::kit::*;

#[test]
fn values_that_are_not_asked_for_stay_on_the_host() {
    let turn = run(&mut function("echo_keys"), &["a", "b"]).unwrap();
    assert_eq!(forwarded(&turn), [0, 1]);
}
