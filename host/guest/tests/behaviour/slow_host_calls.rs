//! `slow_host_calls` spends its time in the host.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use contract::doubles::ScriptedState;
use contract::{Error, FailureKind};
use guest::{GuestFactory, Limits, Sandbox, SandboxOptions, Ticks};
use model::{Blame, Retry};

use crate::kit::*;

/// A state that takes a deadline tick for each load, or fails.
fn slow_state(sandbox: Sandbox, loads: &Arc<AtomicU32>, fails: bool) -> Box<ScriptedState> {
    let loads = Arc::clone(loads);
    Box::new(ScriptedState::new(move |slots, out| {
        if fails {
            return Err(Error::new(Blame::External, Retry::Backoff, "the disk is gone"));
        }
        sandbox.tick();
        loads.fetch_add(1, Ordering::Relaxed);
        slots.keys.iter().for_each(|_| out.push(None));
        Ok(())
    }))
}

fn slow_function(time_per_batch: Duration, fails: bool) -> (guest::GuestFunction, Box<ScriptedState>, Arc<AtomicU32>) {
    let sandbox = sandbox(&SandboxOptions { ticks: Ticks::Manual, ..SandboxOptions::default() });
    let module = sandbox.load(&component("slow_host_calls")).unwrap();
    let limits = Limits { time_per_batch, fuel_per_record: None, ..tight() };
    let function = GuestFactory::new(module, limits).unwrap().open(&task("{}")).unwrap();
    let loads = Arc::new(AtomicU32::new(0));
    (function, slow_state(sandbox, &loads, fails), loads)
}

#[test]
fn time_spent_in_host_calls_counts_towards_the_deadline() {
    let (mut function, state, loads) = slow_function(Duration::from_secs(1), false);
    let failed = run_turn(&mut function, keyed_turn(&["slow"], &["k"], state));
    check_failure(failed, FailureKind::Deadline, &["`process`", "1s", "`time_per_batch`"]);
    let loads = loads.load(Ordering::Relaxed);
    assert!((100..=101).contains(&loads), "a hundred ticks of 10 ms are a second, it was {loads}");
}

#[test]
fn a_deadline_that_passes_within_one_host_call_is_met_when_it_returns() {
    let (mut function, state, loads) = slow_function(Duration::from_nanos(1), false);
    let failed = run_turn(&mut function, keyed_turn(&["slow"], &["k"], state));
    check_failure(failed, FailureKind::Deadline, &[]);
    assert!(loads.load(Ordering::Relaxed) <= 2);
}

#[test]
fn a_state_that_fails_is_the_hosts_fault_and_is_passed_on_as_it_was() {
    let (mut function, state, _) = slow_function(Duration::from_secs(1), true);
    let mut turn = keyed_turn(&["once"], &["k"], state);
    let outcome = contract::UserFunction::process(&mut function, &mut turn);
    let Err(contract::ProcessError::Host(error)) = outcome else { panic!("the function is blamed: {outcome:?}") };
    assert_eq!((error.blame(), error.retry()), (Blame::External, Retry::Backoff));
    assert_eq!(error.to_string(), "the disk is gone");
    assert!(turn.state.is_some(), "the state is given back");
}
