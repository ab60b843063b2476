//! Guests, built once, and turns to run them on. Shared by test programs, none of which needs all of it.

#![allow(dead_code, reason = "each program uses a part")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use contract::doubles::MapState;
use contract::{Emit, Failure, FailureKind, KeyedState, ProcessError, SlotKeys, StateScope, Task, Turn, UserFunction};
use guest::{Compiler, Error, GuestFactory, GuestFunction, Limits, Module, Sandbox, SandboxOptions};
use model::{
    Column, Descriptor, EventTime, JobName, KeyGroup, KeyGroupRange, OperatorUid, Origins, Parallelism, Position,
    RecordBatch, SourceId, SplitIndex, SubtaskIndex, Values,
};
use toolchain::WasmToolchain;

/// The workspace of the guests.
pub(crate) fn guests_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/guests")
}

/// Where guests are built: in the target folder of whoever runs, so that all of them share it.
fn guests_target() -> PathBuf {
    let own = std::env::current_exe().expect("the system says which program runs");
    // `target/PROFILE/{deps,examples}/PROGRAM`
    own.ancestors().nth(3).expect("cargo runs what it built").join("guests")
}

/// Where the core modules lie. Builds them all, once per process; cargo sees to it that this is work only
/// after a change.
static CORE_MODULES: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = guests_folder();
    let toolchain = WasmToolchain::detect_in(&folder).expect("there is a compiler for guests");
    let target = guests_target();
    let mut cargo = toolchain::cargo();
    toolchain.apply_environment(&mut cargo);
    let built = cargo
        .args(["build", "--release", "--examples", "--quiet"])
        .args(toolchain.cargo_arguments())
        .arg("--target-dir")
        .arg(&target)
        .current_dir(&folder)
        .stdin(Stdio::null())
        .output()
        .expect("cargo runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    target.join(toolchain::TARGET).join("release/examples")
});

/// The core module of the guest `name`.
pub(crate) fn core_module(name: &str) -> Vec<u8> {
    std::fs::read(CORE_MODULES.join(format!("{name}.wasm"))).expect("the guest was built")
}

/// A core module as a component, whatever its world.
pub(crate) fn componentize(core: &[u8]) -> Vec<u8> {
    let encoder = wit_component::ComponentEncoder::default().validate(true).module(core);
    encoder.and_then(|mut encoder| encoder.encode()).expect("the guest carries its world")
}

/// The component of the guest `name`.
pub(crate) fn component(name: &str) -> Vec<u8> {
    componentize(&core_module(name))
}

/// A sandbox that compiles here: the guests are ours.
pub(crate) fn sandbox(options: &SandboxOptions) -> Sandbox {
    Sandbox::new(options, Compiler::in_process()).expect("there is address space")
}

/// The sandbox most tests share.
pub(crate) fn shared_sandbox() -> &'static Sandbox {
    static SANDBOX: LazyLock<Sandbox> = LazyLock::new(|| {
        let compiled = guests_target().join("compiled");
        let compiler = Compiler::in_process().with_cache(compiled).expect("the target folder is ours");
        Sandbox::new(&SandboxOptions::default(), compiler).expect("there is address space")
    });
    &SANDBOX
}

/// The guest `name`, loaded once.
pub(crate) fn module(name: &str) -> Arc<Module> {
    static LOADED: Mutex<BTreeMap<String, Arc<Module>>> = Mutex::new(BTreeMap::new());
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let module = loaded
        .entry(name.to_owned())
        .or_insert_with(|| shared_sandbox().load(&component(name)).expect("the guest loads"));
    Arc::clone(module)
}

/// Why the guest `name` does not load.
pub(crate) fn refused(name: &str) -> Error {
    shared_sandbox().load(&component(name)).expect_err("the guest is not to be loaded")
}

/// Little of everything, so that what runs into a limit does so soon.
pub(crate) fn tight() -> Limits {
    Limits { memory_bytes: 8 << 20, fuel_per_record: Some(20_000_000), time_per_batch: Duration::from_secs(20) }
}

pub(crate) fn task(config: &str) -> Task {
    Task {
        job: JobName::new("tests").expect("it is a name"),
        operator: OperatorUid::new("hostile").expect("it is a name"),
        subtask: SubtaskIndex(0),
        parallelism: Parallelism(1),
        config: config.to_owned(),
    }
}

/// The guest `name`, opened, within `limits`.
pub(crate) fn function_within(name: &str, limits: Limits) -> GuestFunction {
    let factory = GuestFactory::new(module(name), limits).expect("the limits can be kept");
    factory.open(&task("{}")).expect("it opens")
}

/// The guest `name`, opened, within tight limits.
pub(crate) fn function(name: &str) -> GuestFunction {
    function_within(name, tight())
}

/// Why the guest `name` does not open with `config`.
pub(crate) fn refused_to_open(name: &str, config: &str) -> Error {
    let factory = GuestFactory::new(module(name), tight()).expect("the limits can be kept");
    factory.open(&task(config)).expect_err("it is not to open")
}

/// A turn over records with these values.
pub(crate) fn turn(values: &[&str]) -> Turn {
    let mut origins = Origins::default();
    (0u64..).take(values.len()).for_each(|position| origins.push(SourceId(0), SplitIndex(0), Position(position)));
    let column: Column = values.iter().collect();
    let mut turn = Turn::default();
    turn.batch.records = RecordBatch {
        values: Values::from(column),
        timestamps: vec![EventTime::UNKNOWN; values.len()],
        origins,
        ..RecordBatch::default()
    };
    turn.batch.watermark = EventTime::UNKNOWN;
    turn
}

/// An empty table for the states of `descriptor`.
pub(crate) fn table(descriptor: &Descriptor) -> Box<dyn KeyedState> {
    Box::new(MapState::new(StateScope {
        operator: OperatorUid::new("hostile").expect("it is a name"),
        key_groups: KeyGroupRange { first: KeyGroup(0), end: KeyGroup(128) },
        key_group_count: 128,
        states: descriptor.states.clone(),
    }))
}

/// A turn over records with these values and keys, and a state to read.
pub(crate) fn keyed_turn(values: &[&str], keys: &[&str], state: Box<dyn KeyedState>) -> Turn {
    let mut turn = turn(values);
    let mut distinct: Vec<&str> = Vec::new();
    for key in keys {
        let slot = distinct.iter().position(|known| known == key).unwrap_or_else(|| {
            distinct.push(key);
            distinct.len() - 1
        });
        turn.batch.slots.push(u32::try_from(slot).expect("few keys"));
    }
    let hashes = (0u64..).take(distinct.len()).collect();
    turn.batch.keys = Arc::new(SlotKeys { keys: distinct.iter().collect(), hashes, ..SlotKeys::default() });
    turn.state = Some(state);
    turn
}

/// Runs `values` through an unkeyed function.
pub(crate) fn run(function: &mut GuestFunction, values: &[&str]) -> Result<Turn, Failure> {
    run_turn(function, turn(values))
}

/// Runs `values`, all with the same key, through a keyed function over an empty state.
pub(crate) fn run_keyed(name: &str, values: &[&str]) -> Result<Turn, Failure> {
    let state = table(module(name).descriptor());
    run_turn(&mut function(name), keyed_turn(values, &vec!["key"; values.len()], state))
}

/// Runs a turn. After a failure it checks what was promised of it.
pub(crate) fn run_turn(function: &mut GuestFunction, mut turn: Turn) -> Result<Turn, Failure> {
    let (rows, was_keyed) = (turn.batch.records.len(), turn.state.is_some());
    let outcome = function.process(&mut turn);
    assert_eq!(turn.batch.records.len(), rows, "the batch is given back");
    assert_eq!(turn.state.is_some(), was_keyed, "the state is given back");
    match outcome {
        Ok(()) => Ok(turn),
        Err(ProcessError::Host(error)) => panic!("the host is blamed: {error}"),
        Err(ProcessError::Function(failure)) => {
            let instance_is_whole = failure.kind == FailureKind::Rejected;
            assert_eq!(function.has_instance(), instance_is_whole, "the instance after {failure}");
            Err(failure)
        }
    }
}

/// Applies what a turn wrote to its state and gives it back.
pub(crate) fn commit(turn: Turn) -> Box<dyn KeyedState> {
    let mut state = turn.state.expect("a keyed turn");
    state.apply(&turn.batch.keys, &turn.staged.writes, turn.batch.now).expect("what was checked applies");
    state
}

/// The rows forwarded, over all calls.
pub(crate) fn forwarded(turn: &Turn) -> Vec<u32> {
    let rows = turn.staged.emits.iter().filter_map(|emit| match emit {
        Emit::Forward { rows, .. } => Some(rows.iter().copied()),
        Emit::Push { .. } => None,
    });
    rows.flatten().collect()
}

/// The values pushed, over all calls.
pub(crate) fn pushed(turn: &Turn) -> Vec<String> {
    let text = |value: Option<&[u8]>| String::from_utf8_lossy(value.unwrap_or_default()).into_owned();
    let values = turn.staged.emits.iter().filter_map(|emit| match emit {
        Emit::Push { records, .. } => Some(records.values.iter().map(text).collect::<Vec<_>>()),
        Emit::Forward { .. } => None,
    });
    values.flatten().collect()
}

/// Asserts that a turn failed so, with a message that has each of `parts`.
pub(crate) fn check_failure(outcome: Result<Turn, Failure>, kind: FailureKind, parts: &[&str]) {
    let failure = outcome.expect_err("it is not to pass");
    assert_eq!(failure.kind, kind, "{failure}");
    for part in parts {
        assert!(failure.message.contains(part), "`{part}` is missing in: {}", failure.message);
    }
}

/// Asserts that an error has this code and each of `parts`.
pub(crate) fn check_error(error: &Error, code: &str, parts: &[&str]) {
    let text = error.to_string();
    assert_eq!(error.code(), code, "{text}");
    for part in parts {
        assert!(text.contains(part), "`{part}` is missing in: {text}");
    }
}

/// Asserts that the function works again after what happened to it.
pub(crate) fn check_works(function: &mut GuestFunction) {
    let turn = run(function, &["a", "b"]).expect("a new instance works");
    assert_eq!(forwarded(&turn), [0, 1]);
}
