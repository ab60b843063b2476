//! `calls_too_early` calls in `open` what is for `process` only.

use guest::GuestFactory;

use crate::kit::*;

#[test]
fn state_emit_and_timers_are_refused_in_open() {
    for (config, call) in
        [("load", "state.load"), ("store", "state.store"), ("forward", "emit.forward"), ("timer", "timers.enable")]
    {
        let error = refused_to_open("calls_too_early", config);
        check_error(&error, "E0216", &[call, "may be called in `process` only"]);
    }
}

#[test]
fn what_is_logged_in_open_goes_with_the_first_turn() {
    let factory = GuestFactory::new(module("calls_too_early"), tight()).unwrap();
    let mut function = factory.open(&task("log")).unwrap();
    let turn = run(&mut function, &["a"]).unwrap();
    assert_eq!(turn.staged.logs.first().map(|line| line.message.as_str()), Some("opened"));
    assert!(run(&mut function, &["a"]).unwrap().staged.logs.is_empty());
}
