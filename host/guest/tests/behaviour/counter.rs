//! `counter` lets the memory of its instance out.

use contract::UserFunction;

use crate::kit::*;

#[test]
fn memory_of_an_instance_ends_with_it() {
    let mut function = function("counter");
    assert_eq!(pushed(&run(&mut function, &["a"]).unwrap()), ["1"]);
    assert_eq!(pushed(&run(&mut function, &["a"]).unwrap()), ["2"]);
    function.renew().unwrap();
    assert_eq!(pushed(&run(&mut function, &["a"]).unwrap()), ["1"]);
}

#[test]
fn an_instance_that_trapped_is_never_used_again() {
    let mut function = function("counter");
    assert_eq!(pushed(&run(&mut function, &["a"]).unwrap()), ["1"]);
    run(&mut function, &["trap"]).unwrap_err();
    assert_eq!(pushed(&run(&mut function, &["a"]).unwrap()), ["1"]);
}

#[test]
fn instances_of_one_module_share_nothing() {
    let (mut one, mut other) = (function("counter"), function("counter"));
    assert_eq!(pushed(&run(&mut one, &["a"]).unwrap()), ["1"]);
    assert_eq!(pushed(&run(&mut other, &["a"]).unwrap()), ["1"]);
}
