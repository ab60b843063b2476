//! What does not compile, and what the message says: the `.stderr` beside each case.

#[test]
fn every_mistake_is_named_with_what_to_write_instead() {
    trybuild::TestCases::new().compile_fail("tests/refused/*/*.rs");
}
