//! The interface `timers`.

use crate::bindings::tidegate::flow::timers::{Clock, Host as TimerImports};
use crate::check::Violation;
use crate::host::{Host, Refusal, refuse};

impl TimerImports for Host {
    fn enable(&mut self, _: Clock, _: Vec<u32>, _: Vec<i64>) -> wasmtime::Result<()> {
        Err(self.no_timers("timers.enable").into())
    }

    fn cancel(&mut self, _: Clock, _: Vec<u32>, _: Vec<i64>) -> wasmtime::Result<()> {
        Err(self.no_timers("timers.cancel").into())
    }
}

impl Host {
    fn no_timers(&self, call: &'static str) -> Refusal {
        match self.admit(call) {
            Ok(()) => refuse(call)(Violation::Unavailable("timers are not available yet")),
            Err(refusal) => refusal,
        }
    }
}
