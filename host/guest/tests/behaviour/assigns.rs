//! `assigns` gives keys and times itself.

use contract::{Failure, FailureKind, ProcessError, UserFunction};
use model::{Column, EventTime, Values};

use crate::kit::*;

fn assign(values: &[&str]) -> Result<(Vec<String>, Vec<EventTime>), Failure> {
    let values = Values::from(values.iter().collect::<Column>());
    match function("assigns").assign(&values) {
        Ok((keys, times)) => {
            let text = |key: Option<&[u8]>| String::from_utf8_lossy(key.unwrap()).into_owned();
            Ok((keys.iter().map(text).collect(), times))
        }
        Err(ProcessError::Function(failure)) => Err(failure),
        Err(ProcessError::Host(error)) => panic!("the host is blamed: {error}"),
    }
}

#[test]
fn keys_and_times_come_back_row_by_row() {
    let (keys, times) = assign(&["a", "bcd"]).unwrap();
    assert_eq!(keys, ["a", "bcd"]);
    assert_eq!(times, [EventTime(1), EventTime(3)]);
}

#[test]
fn an_answer_for_fewer_rows_breaks_the_contract() {
    for word in ["short", "lie"] {
        let failure = assign(&[word, "b"]).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Contract, "{failure}");
        assert!(failure.message.contains("result of `assign`"), "{failure}");
    }
}

#[test]
fn a_record_it_gives_up_on_is_named() {
    let failure = assign(&["bad"]).unwrap_err();
    assert_eq!((failure.kind, failure.row, failure.message.as_str()), (FailureKind::Rejected, Some(0), "no key in it"));
}

#[test]
fn nothing_is_emitted_while_it_assigns() {
    let failure = assign(&["emit"]).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Contract);
    assert!(failure.message.contains("emit.forward: may be called in `process` only"), "{failure}");
}

#[test]
fn what_it_logs_while_it_assigns_goes_with_the_next_turn() {
    let mut function = function("assigns");
    function.assign(&Values::from(["log"].iter().collect::<Column>())).unwrap();
    let state = table(module("assigns").descriptor());
    let turn = run_turn(&mut function, keyed_turn(&["a"], &["a"], state)).unwrap();
    assert_eq!(turn.staged.logs.first().map(|line| line.message.as_str()), Some("assigned"));
}
