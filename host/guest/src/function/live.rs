//! One instance: a store that is used until its first failure and then dropped.

use std::sync::Arc;

use contract::ProcessError;
use model::Descriptor;
use wasmtime::Store;

use crate::bindings::exports::tidegate::flow::function::Guest;
use crate::bindings::{Operator, OperatorPre};
use crate::engine::ticks_in;
use crate::host::{Host, Loan, Phase};
use crate::limits::Limits;
use crate::module::live_error;
use crate::{Error, Sandbox, caps, failure};

/// An instance.
pub(crate) struct Live {
    store: Store<Host>,
    operator: Operator,
    counts_fuel: bool,
    fuel_used: u64,
}

impl Live {
    /// Makes an instance and runs its start functions.
    pub(crate) fn start(
        sandbox: &Sandbox,
        pre: &OperatorPre<Host>,
        descriptor: Arc<Descriptor>,
        limits: &Limits,
    ) -> Result<Self, Error> {
        let host = Host::new(descriptor, limits.memory_bytes, sandbox.ticks().clone());
        let mut store = Store::new(sandbox.engine(), host);
        store.limiter(|host| &mut host.limiter);
        store.set_hostcall_fuel(caps::CALL_BYTES);
        let counts_fuel = sandbox.counts_fuel();
        prepare(&mut store, counts_fuel, Phase::Start, limits, Loan::default());
        match pre.instantiate(&mut store) {
            Ok(operator) => {
                let fuel_used = fuel_used(&store, counts_fuel, limits);
                Ok(Self { store, operator, counts_fuel, fuel_used })
            }
            Err(error) => Err(start_error(error, store.data(), limits)),
        }
    }

    /// Calls an export that stages nothing.
    pub(crate) fn call<R>(
        &mut self,
        phase: Phase,
        limits: &Limits,
        call: impl FnOnce(&Guest, &mut Store<Host>) -> wasmtime::Result<R>,
    ) -> Result<R, ProcessError> {
        self.call_with(phase, limits, Loan::default(), call).0
    }

    /// Calls an export that may use what is lent, and gives it back, whatever happens.
    pub(crate) fn call_with<R>(
        &mut self,
        phase: Phase,
        limits: &Limits,
        loan: Loan,
        call: impl FnOnce(&Guest, &mut Store<Host>) -> wasmtime::Result<R>,
    ) -> (Result<R, ProcessError>, Loan) {
        prepare(&mut self.store, self.counts_fuel, phase, limits, loan);
        let result = call(self.operator.tidegate_flow_function(), &mut self.store);
        self.fuel_used = self.fuel_used.saturating_add(fuel_used(&self.store, self.counts_fuel, limits));
        let result = result.map_err(|error| failure::of_call(error, self.store.data(), phase, limits));
        (result, self.store.data_mut().leave())
    }

    pub(crate) fn store_mut(&mut self) -> &mut Store<Host> {
        &mut self.store
    }

    /// Fuel used since the last time this was asked.
    pub(crate) fn take_fuel_used(&mut self) -> u64 {
        std::mem::take(&mut self.fuel_used)
    }

    /// Linear memory of the instance, in bytes.
    pub(crate) fn memory_in_use(&self) -> u64 {
        self.store.data().limiter.memory_in_use()
    }
}

/// Fills up fuel and time for one call.
fn prepare(store: &mut Store<Host>, counts_fuel: bool, phase: Phase, limits: &Limits, loan: Loan) {
    if counts_fuel {
        store.set_fuel(budget(limits)).expect("the engine counts fuel");
    }
    store.set_epoch_deadline(ticks_in(limits.time_per_batch));
    store.data_mut().enter(phase, limits.time_per_batch, loan);
}

fn budget(limits: &Limits) -> u64 {
    limits.fuel_per_record.unwrap_or(u64::MAX)
}

fn fuel_used(store: &Store<Host>, counts_fuel: bool, limits: &Limits) -> u64 {
    if !counts_fuel {
        return 0;
    }
    budget(limits).saturating_sub(store.get_fuel().unwrap_or(0))
}

/// Why an instance was not made: what the guest did, or that there is no room for it.
fn start_error(error: wasmtime::Error, host: &Host, limits: &Limits) -> Error {
    let is_guests = error.is::<wasmtime::Trap>() || host.limiter.denied().is_some();
    if !is_guests {
        return Error::Instantiate { reason: format!("{error:#}") };
    }
    live_error(failure::of_call(error, host, Phase::Start, limits), Error::Open)
}
