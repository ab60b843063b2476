//! The interface `timers`.

use contract::TimerRequest;
use model::TimerClock;

use crate::bindings::tidegate::flow::timers::{Clock, Host as TimerImports};
use crate::caps;
use crate::check::{self, Violation};
use crate::host::{Host, Refusal, at_most, refuse};

impl TimerImports for Host {
    fn enable(&mut self, clock: Clock, slots: Vec<u32>, at: Vec<i64>) -> wasmtime::Result<()> {
        Ok(self.stage_timers("timers.enable", clock, true, slots, at)?)
    }

    fn cancel(&mut self, clock: Clock, slots: Vec<u32>, at: Vec<i64>) -> wasmtime::Result<()> {
        Ok(self.stage_timers("timers.cancel", clock, false, slots, at)?)
    }
}

impl Host {
    fn stage_timers(
        &mut self,
        call: &'static str,
        clock: Clock,
        set: bool,
        slots: Vec<u32>,
        at_millis: Vec<i64>,
    ) -> Result<(), Refusal> {
        self.admit(call)?;
        if !self.descriptor.timers {
            return Err(refuse(call)(Violation::Unavailable(
                "the descriptor does not say that the function sets timers",
            )));
        }
        check::slots(&slots, self.keys.keys.len()).map_err(refuse(call))?;
        check::length("times", at_millis.len(), slots.len()).map_err(refuse(call))?;
        check::timer_times(&at_millis).map_err(refuse(call))?;
        self.usage.timers = self.usage.timers.saturating_add(slots.len());
        at_most("timers", self.usage.timers, caps::TIMERS).map_err(refuse(call))?;
        // Every timer is kept with its key.
        let key_bytes = |&slot: &u32| self.keys.keys.get(slot as usize).len();
        let bytes = slots.len() * size_of::<(u32, i64)>() + slots.iter().map(key_bytes).sum::<usize>();
        self.count_staging(bytes).map_err(refuse(call))?;
        let clock = match clock {
            Clock::EventTime => TimerClock::EventTime,
            Clock::ProcessingTime => TimerClock::ProcessingTime,
        };
        if !slots.is_empty() {
            self.staged.timers.push(TimerRequest { clock, set, slots: check::slot_indexes(slots), at_millis });
        }
        Ok(())
    }
}
