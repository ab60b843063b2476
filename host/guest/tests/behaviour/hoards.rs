//! `hoards` never gives memory back.

use crate::kit::*;

#[test]
fn an_instance_above_three_quarters_of_its_memory_is_replaced_before_the_next_batch() {
    let mut function = function("hoards");
    assert_eq!(pushed(&run(&mut function, &["1"]).unwrap()), ["1"]);
    assert!(function.has_instance());
    assert_eq!(pushed(&run(&mut function, &["4"]).unwrap()), ["5"]);
    assert!(!function.has_instance(), "5 of 8 MiB are kept, and the rest of an instance");
    assert_eq!(pushed(&run(&mut function, &["1"]).unwrap()), ["1"]);
}
