//! `echo` forwards everything.

use contract::{FunctionFactory, UserFunction};
use guest::GuestFactory;

use crate::kit::*;

#[test]
fn every_record_is_forwarded_and_the_batch_stays_whole() {
    let turn = run(&mut function("echo"), &["a", "b", "c"]).unwrap();
    assert_eq!(forwarded(&turn), [0, 1, 2]);
    let values: Vec<_> = turn.batch.records.values.iter().flatten().collect();
    assert_eq!(values, [b"a", b"b", b"c"]);
}

#[test]
fn a_factory_answers_with_the_descriptor_and_the_digest_of_the_bytes() {
    use sha2::Digest;
    let factory = GuestFactory::new(module("echo"), tight()).unwrap();
    let digest: [u8; 32] = sha2::Sha256::digest(component("echo")).into();
    assert_eq!(factory.digest().map(|found| found.0), Some(digest));
    assert_eq!(factory.descriptor().outputs.first().map(|port| port.name.as_str()), Some("out"));
}

#[test]
fn an_instance_is_fresh_until_it_is_used_and_after_it_is_renewed() {
    let mut function = function("echo");
    assert!(function.is_fresh());
    run(&mut function, &["a"]).unwrap();
    assert!(!function.is_fresh());
    function.renew().unwrap();
    assert!(function.is_fresh());
}

#[test]
fn fuel_is_counted_over_all_instances() {
    let mut function = function("echo");
    let opened = function.fuel_used();
    assert!(opened > 0, "opening costs something");
    run(&mut function, &["a"]).unwrap();
    let used = function.fuel_used();
    assert!(used > opened);
    function.renew().unwrap();
    assert!(function.fuel_used() > used, "what the first instance used is not forgotten");
}

#[test]
fn tombstones_cross_as_absent_values() {
    let mut turn = turn(&["a", "b"]);
    let mut values = model::OptionalColumn::default();
    values.push(Some(b"a"));
    values.push(None);
    turn.batch.records.values = values.into();
    let turn = run_turn(&mut function("echo"), turn).unwrap();
    assert_eq!(forwarded(&turn), [0, 1]);
}
