//! `refuses_config` refuses every config.

use guest::caps;
use model::{Blame, Retry};

use crate::kit::*;

#[test]
fn the_refusal_is_in_the_words_of_the_function_and_the_config_is_blamed() {
    let error = refused_to_open("refuses_config", "{\"ttl\":1}");
    check_error(&error, "E0215", &["`{\"ttl\":1}` of tests/hostile is not for me"]);
    assert_eq!((error.blame(), error.retry()), (Blame::Config, Retry::No));
}

#[test]
fn a_long_refusal_is_cut() {
    let error = refused_to_open("refuses_config", "{\"long\":true}");
    assert!(error.to_string().len() < caps::MESSAGE_BYTES + 100);
}

#[test]
fn a_panic_in_open_is_told_with_its_text() {
    let error = refused_to_open("refuses_config", "{\"panic\":true}");
    check_error(&error, "E0216", &["panic in `open`", "refuses_config.rs:", "no config at all"]);
}
