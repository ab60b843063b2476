//! `migrates` rewrites values of an older version.

use contract::{Failure, FailureKind, ProcessError, UserFunction};
use model::{Column, StateId};

use crate::kit::*;

fn migrate(state: u16, from_version: u32, values: &[&str]) -> Result<Vec<String>, Failure> {
    let values: Column = values.iter().collect();
    match function("migrates").migrate(StateId(state), from_version, &values) {
        Ok(values) => Ok(values.iter().map(|value| String::from_utf8_lossy(value).into_owned()).collect()),
        Err(ProcessError::Function(failure)) => Err(failure),
        Err(ProcessError::Host(error)) => panic!("the host is blamed: {error}"),
    }
}

#[test]
fn values_are_rewritten_one_for_one() {
    assert_eq!(migrate(0, 1, &["a", "b"]).unwrap(), ["a+", "b+"]);
}

#[test]
fn a_version_it_does_not_know_is_refused_in_its_words() {
    let failure = migrate(0, 3, &["a"]).unwrap_err();
    assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Rejected, "version 3 is unknown"));
}

#[test]
fn a_value_lost_on_the_way_breaks_the_contract() {
    let failure = migrate(9, 1, &["a", "b"]).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Contract);
    assert!(failure.message.contains("result of `migrate`: values has 1 items, expected 2"), "{failure}");
}
