//! `probes_memory` asks for memory beyond its own maximum, which is given to it here.

use guest::GuestFactory;

use crate::{kit::*, patch};

#[test]
fn memory_that_a_function_did_not_get_is_not_counted() {
    // At most 64 pages of the 128 that the limit is: 52 more never fit, 16 more do once.
    let core = patch::with_memory_of(&core_module("probes_memory"), 20, 64);
    let module = shared_sandbox().load(&componentize(&core)).unwrap();
    let mut function = GuestFactory::new(module, tight()).unwrap().open(&task("{}")).unwrap();
    assert_eq!(forwarded(&run(&mut function, &["a"]).unwrap()), [0]);
    assert!(function.has_instance());
}
