//! From what wasmtime says to what the engine and a person can use.

use contract::{Failure, FailureKind, ProcessError};
use wasmtime::{Trap, WasmBacktrace};

use crate::caps;
use crate::check::Violation;
use crate::engine::WASM_STACK_BYTES;
use crate::host::{Host, Phase, Refusal};
use crate::limiter::Denied;
use crate::limits::Limits;

/// Why a call into a guest did not return.
pub(crate) fn of_call(error: wasmtime::Error, host: &Host, phase: Phase, limits: &Limits) -> ProcessError {
    match error.downcast::<Refusal>() {
        Ok(Refusal::Host(error)) => ProcessError::Host(error),
        Ok(refusal) => ProcessError::Function(of_refusal(&refusal, phase, limits)),
        Err(error) => ProcessError::Function(of_trap(&error, host, phase, limits)),
    }
}

/// What the function itself returned as an error.
pub(crate) fn rejected(row: Option<u32>, mut message: String) -> Failure {
    caps::cut(&mut message, caps::MESSAGE_BYTES);
    Failure { kind: FailureKind::Rejected, row, message }
}

/// What the function returned breaks the contract.
pub(crate) fn broken(phase: Phase, violation: &Violation) -> Failure {
    failure(FailureKind::Contract, format!("result of `{}`: {violation}", phase.name()))
}

fn of_refusal(refusal: &Refusal, phase: Phase, limits: &Limits) -> Failure {
    match refusal {
        Refusal::Deadline => deadline(phase, limits),
        Refusal::StateTooLarge { .. } => failure(FailureKind::Memory, refusal.to_string()),
        Refusal::Violation { .. } | Refusal::Host(_) => failure(FailureKind::Contract, refusal.to_string()),
    }
}

fn of_trap(error: &wasmtime::Error, host: &Host, phase: Phase, limits: &Limits) -> Failure {
    let call = phase.name();
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => {
            let units = limits.fuel_per_record.unwrap_or(u64::MAX);
            failure(
                FailureKind::OutOfFuel,
                format!("out of fuel after {units} units in `{call}` (limit `fuel_per_record`)"),
            )
        }
        Some(Trap::Interrupt) => deadline(phase, limits),
        trap => {
            if let Some(denied) = host.limiter.denied() {
                return failure(FailureKind::Memory, denied_text(denied, phase, limits));
            }
            if let Some(panic) = &host.panic {
                return failure(FailureKind::Trap, format!("panic in `{call}`: {panic}"));
            }
            match trap {
                Some(Trap::StackOverflow) => failure(
                    FailureKind::Trap,
                    format!("stack overflow in `{call}`: frames deeper than {} KiB", WASM_STACK_BYTES >> 10),
                ),
                Some(trap) => failure(FailureKind::Trap, trap_text(*trap, error, phase)),
                None => failure(FailureKind::Contract, format!("`{call}`: {}", unlifted_text(error))),
            }
        }
    }
}

fn failure(kind: FailureKind, mut message: String) -> Failure {
    caps::cut(&mut message, 2 * caps::MESSAGE_BYTES);
    Failure { kind, row: None, message }
}

fn deadline(phase: Phase, limits: &Limits) -> Failure {
    let time = limits.time_per_batch;
    failure(FailureKind::Deadline, format!("`{}` ran longer than {time:?} (limit `time_per_batch`)", phase.name()))
}

pub(crate) fn denied_text(denied: Denied, phase: Phase, limits: &Limits) -> String {
    let call = phase.name();
    match denied {
        Denied::Memory { wanted } => {
            let most = limits.memory_bytes;
            format!("`{call}` wanted {wanted} bytes of memory: at most {most} are allowed (limit `memory`)")
        }
        Denied::Table { wanted } => {
            format!("`{call}` wanted a table of {wanted} elements: at most {} are allowed", caps::TABLE_ELEMENTS)
        }
    }
}

/// What could not be lifted: text that is not UTF-8, a list outside of memory, too much data.
fn unlifted_text(error: &wasmtime::Error) -> String {
    let text = error.root_cause().to_string();
    // wasmtime has no type for it, and calls it fuel, which it is not here.
    if text.contains("fuel allocated for hostcalls") {
        return "one call passes more bytes than the host takes".to_owned();
    }
    text
}

/// The trap, and the innermost function that has a name.
fn trap_text(trap: Trap, error: &wasmtime::Error, phase: Phase) -> String {
    let what = trap.to_string();
    let what = what.strip_prefix("wasm trap: ").unwrap_or(&what);
    let trace = error.downcast_ref::<WasmBacktrace>().filter(|trace| {
        let innermost = trace.frames().first();
        innermost.is_some_and(|frame| frame.func_name().is_some())
    });
    // Only the text of a trace has its names demangled: `0: 0x1234 - module!name` after a line of title.
    let text = trace.map(ToString::to_string).unwrap_or_default();
    match text.lines().nth(1).and_then(|line| line.split_once('!')) {
        Some((_, name)) => format!("trap in `{}`: {what}, in the function `{name}`", phase.name()),
        None => format!("trap in `{}`: {what}", phase.name()),
    }
}
