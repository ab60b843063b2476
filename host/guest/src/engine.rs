//! The wasmtime engine: one configuration for all, deadline ticks, and the linked host functions.
//!
//! # Invariants
//! 1. [`config`] is the only place that makes a [`Config`]. What it decides about code is the same for
//!    the engine that compiles and the one that runs; they differ in where instances live.
//! 2. The ticker ends with its engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use wasmtime::component::{HasSelf, Linker};
use wasmtime::{
    Config, Engine, EngineWeak, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig, WasmBacktraceDetails,
};

use crate::bindings::Operator;
use crate::compile::Compiler;
use crate::host::Host;
use crate::{Error, caps};

/// Length of a deadline tick. Deadlines are seconds; a hundredth of one is exact enough and costs a
/// hundred wake-ups a second.
pub(crate) const TICK: Duration = Duration::from_millis(10);

/// Stack of wasm frames, in bytes. A quarter of the 2 MiB a thread has by default, so that host
/// functions called from the deepest frame still have room.
pub(crate) const WASM_STACK_BYTES: usize = 512 << 10;

/// Address space of one memory: with all 4 GiB reserved an address needs no bounds check.
const MEMORY_RESERVATION_BYTES: u64 = 4 << 30;

/// Pages without access after each memory, so that a constant offset needs no check either.
const MEMORY_GUARD_BYTES: u64 = 32 << 20;

/// Memory of a returned instance that is zeroed instead of given back to the system: a small guest's
/// whole working set, so that making the next one faults no pages.
const KEEP_RESIDENT_BYTES: usize = 1 << 20;

/// Who moves deadline ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ticks {
    /// A thread, every 10 ms.
    #[default]
    Thread,
    /// The owner, through [`Sandbox::tick`]: for tests that decide when time passes.
    Manual,
}

/// How a [`Sandbox`] is made.
#[derive(Clone, Debug)]
pub struct SandboxOptions {
    /// Whether fuel is counted. Without it a stuck guest is stopped by its deadline alone.
    pub fuel: bool,
    /// Who moves deadline ticks.
    pub ticks: Ticks,
    /// Most instances at a time. Each reserves 4 GiB of address space and no memory; 512 take 2 TiB of
    /// the 128 TiB a process has.
    pub max_instances: u32,
}

impl Default for SandboxOptions {
    fn default() -> Self {
        Self { fuel: true, ticks: Ticks::Thread, max_instances: 512 }
    }
}

/// What an engine is for.
pub(crate) enum Purpose {
    /// To compile only: reserves nothing.
    Compile,
    /// To run so many instances.
    Run { max_instances: u32 },
}

/// The one configuration.
pub(crate) fn config(purpose: &Purpose, fuel: bool) -> Config {
    let mut config = Config::new();
    config
        .cranelift_opt_level(OptLevel::Speed)
        .cranelift_nan_canonicalization(true)
        .consume_fuel(fuel)
        .epoch_interruption(true)
        .max_wasm_stack(WASM_STACK_BYTES)
        .memory_reservation(MEMORY_RESERVATION_BYTES)
        .memory_guard_size(MEMORY_GUARD_BYTES)
        .memory_init_cow(true)
        .wasm_component_model(true)
        .wasm_simd(true)
        .wasm_bulk_memory(true)
        .wasm_relaxed_simd(false)
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .wasm_wide_arithmetic(false)
        .wasm_custom_page_sizes(false)
        .concurrency_support(false)
        .wasm_backtrace_details(WasmBacktraceDetails::Disable);
    if let Purpose::Run { max_instances } = *purpose {
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(max_instances)));
    }
    config
}

fn pool(max_instances: u32) -> PoolingAllocationConfig {
    let per_component = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let in_total = |count: usize| max_instances.saturating_mul(per_component(count));
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(max_instances)
        .total_core_instances(in_total(caps::CORE_INSTANCES))
        .total_memories(max_instances)
        .total_tables(in_total(caps::TABLES))
        .max_core_instances_per_component(per_component(caps::CORE_INSTANCES))
        .max_memories_per_component(per_component(caps::MEMORIES))
        .max_tables_per_component(per_component(caps::TABLES))
        .max_memories_per_module(per_component(caps::MEMORIES))
        .max_tables_per_module(per_component(caps::TABLES))
        .table_elements(caps::TABLE_ELEMENTS)
        .linear_memory_keep_resident(KEEP_RESIDENT_BYTES)
        .table_keep_resident(KEEP_RESIDENT_BYTES);
    pool
}

/// Deadline ticks since the engine was made.
#[derive(Clone, Debug, Default)]
pub(crate) struct TickCount(Arc<AtomicU64>);

impl TickCount {
    pub(crate) fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn advance(&self, engine: &Engine) {
        self.0.fetch_add(1, Ordering::Relaxed);
        engine.increment_epoch();
    }
}

/// Ticks until `time` has passed for certain: the tick under way counts for nothing.
pub(crate) fn ticks_in(time: Duration) -> u64 {
    let ticks = time.as_nanos().div_ceil(TICK.as_nanos());
    u64::try_from(ticks).unwrap_or(u64::MAX / 2).saturating_add(1)
}

/// Where functions run: an engine, the host functions linked to it, and a compiler. Cheap to clone.
#[derive(Clone)]
pub struct Sandbox {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Engine,
    linker: Linker<Host>,
    compiler: Compiler,
    ticks: TickCount,
    fuel: bool,
    ticker: Option<Ticker>,
}

impl Sandbox {
    /// An engine that compiles with `compiler`.
    ///
    /// # Errors
    /// [`Error::Engine`] when the address space cannot be reserved.
    pub fn new(options: &SandboxOptions, compiler: Compiler) -> Result<Self, Error> {
        let purpose = Purpose::Run { max_instances: options.max_instances };
        let engine = Engine::new(&config(&purpose, options.fuel)).map_err(|source| Error::Engine {
            reservation_gib: u64::from(options.max_instances) * (MEMORY_RESERVATION_BYTES >> 30),
            reason: format!("{source:#}"),
        })?;
        let mut linker = Linker::new(&engine);
        Operator::add_to_linker::<Host, HasSelf<Host>>(&mut linker, |host| host)
            .expect("every host function is linked once");
        let ticks = TickCount::default();
        let ticker = match options.ticks {
            Ticks::Thread => Some(Ticker::start(engine.weak(), ticks.clone())?),
            Ticks::Manual => None,
        };
        let inner = Inner { engine, linker, compiler, ticks, fuel: options.fuel, ticker };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Lets one deadline tick pass.
    pub fn tick(&self) {
        self.inner.ticks.advance(&self.inner.engine);
    }

    /// Whether fuel is counted.
    #[must_use]
    pub fn counts_fuel(&self) -> bool {
        self.inner.fuel
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    pub(crate) fn linker(&self) -> &Linker<Host> {
        &self.inner.linker
    }

    pub(crate) fn compiler(&self) -> &Compiler {
        &self.inner.compiler
    }

    pub(crate) fn ticks(&self) -> &TickCount {
        &self.inner.ticks
    }
}

impl std::fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sandbox")
            .field("fuel", &self.inner.fuel)
            .field("ticker", &self.inner.ticker.is_some())
            .finish_non_exhaustive()
    }
}

/// The thread that moves deadline ticks.
struct Ticker {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    fn start(engine: EngineWeak, ticks: TickCount) -> Result<Self, Error> {
        let (stop, stopped) = mpsc::channel();
        let run = move || {
            while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                let Some(engine) = engine.upgrade() else { return };
                ticks.advance(&engine);
            }
        };
        let thread = std::thread::Builder::new()
            .name("deadline-ticks".to_owned())
            .spawn(run)
            .map_err(|source| Error::Thread { source })?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It does nothing that could panic; if it did, there is nothing left to tick for.
            thread.join().ok();
        }
    }
}
