//! The `functions` of a job file.

use std::path::PathBuf;
use std::time::Duration;

use super::check::{At, Check, Keys};
use super::codes;
use super::config;
use super::file::{Defaults, read_on_error, read_parallelism, read_path, read_uid};
use super::graph::{Graph, OperatorKind, read_refs};
use super::sources::read_pointer;
use super::spec::{FormatSpec, FunctionSpec, InputSpec, KeySpec, LimitsSpec, SourceSpec};
use super::tree::{Value, shorten};

const MIB: u64 = 1024 * 1024;

/// Memory for a parser and its tables; fuel for a second or so of work on one record, so that only a
/// runaway meets it; a time that no honest batch takes.
pub const DEFAULT_LIMITS: LimitsSpec =
    LimitsSpec { memory_bytes: 64 * MIB, fuel_per_record: 1_000_000_000, time_per_batch: Duration::from_secs(5) };

pub(super) fn read(check: &mut Check, graph: &mut Graph, at: &At<'_>, defaults: Defaults) -> Vec<FunctionSpec> {
    let mut functions = Vec::new();
    for (name, at) in check.entries(at) {
        graph.add(name, OperatorKind::Function, &at);
        let uid = read_uid(check, &at, name);
        let Some(mut keys) = check.keys(&at) else { continue };
        let inputs = read_inputs(check, graph, &mut keys, name);
        let key = keys.take(check, "key").and_then(|at| read_key(check, &at));
        let module = keys.require(check, "module", "the path of a component (`.wasm`) or of a function crate");
        let module = module.and_then(|at| read_module(check, &at)).unwrap_or_default();
        let config = keys.take(check, "config").and_then(|at| config::read(check, &at));
        let limits = keys.take(check, "limits").map_or(DEFAULT_LIMITS, |at| read_limits(check, &at));
        let on_error = read_on_error(check, &mut keys, defaults);
        let parallelism = read_parallelism(check, &mut keys, defaults.parallelism);
        keys.finish(check);
        let Some(uid) = uid else { continue };
        let config = config.unwrap_or_else(|| "{}".to_owned());
        functions.push(FunctionSpec { uid, inputs, key, module, config, limits, on_error, parallelism });
    }
    functions
}

fn read_inputs(check: &mut Check, graph: &mut Graph, keys: &mut Keys<'_>, reader: &str) -> Vec<InputSpec> {
    let (input, inputs) = (keys.take(check, "input"), keys.take(check, "inputs"));
    if let (Some(_), Some(at)) = (&input, &inputs) {
        check.problem(codes::INPUT_MISMATCH, at, "`input` and `inputs` stand together: expected one of them");
    }
    if let Some(at) = inputs {
        let entries = check.entries(&at);
        if entries.is_empty() {
            check.problem(codes::MISSING, &at, "expected at least one input: found none");
        }
        let named = |(name, at): (&str, At<'_>)| {
            let from = read_refs(check, graph, &at, reader);
            InputSpec { name: Some(name.to_owned()), from }
        };
        return entries.into_iter().map(named).collect();
    }
    let Some(at) = input else {
        let message = "`input` is missing: expected the name of a source or a function, or a list of them";
        keys.lacks(check, &["input", "inputs"], codes::MISSING, message.to_owned());
        return Vec::new();
    };
    vec![InputSpec { name: None, from: read_refs(check, graph, &at, reader) }]
}

fn read_key(check: &mut Check, at: &At<'_>) -> Option<KeySpec> {
    match &at.node.value {
        Value::Text(text) if text == "$key" => Some(KeySpec::RecordKey),
        Value::Text(text) if text == "$value" => Some(KeySpec::WholeValue),
        Value::Text(text) if text.starts_with('$') => {
            let message = format!(
                "expected a JSON pointer such as `/event_id`, `$key` (the key of the record) or `$value` (the whole value): found `{}`",
                shorten(text)
            );
            check.problem(codes::BAD_PATH, at, message);
            None
        }
        _ => read_pointer(check, at).map(KeySpec::Field),
    }
}

fn read_module(check: &mut Check, at: &At<'_>) -> Option<PathBuf> {
    let path = read_path(check, at)?;
    let text = check.text(at, "a path")?;
    let is_registry_name = text.contains('@') && !text.contains(['/', '\\']) && !text.ends_with(".wasm");
    if is_registry_name {
        let message = format!("modules by name (`{}`) are not available yet", shorten(text));
        let help = "give the path of a component (`.wasm`) or of a function crate, relative to the job file".to_owned();
        check.problem_with_help(codes::NOT_AVAILABLE, at, message, Some(help));
    }
    Some(path)
}

fn read_limits(check: &mut Check, at: &At<'_>) -> LimitsSpec {
    let mut limits = DEFAULT_LIMITS;
    let Some(mut keys) = check.keys(at) else { return limits };
    if let Some(bytes) = keys.take(check, "memory").and_then(|at| check.size_bytes(&at, MIB..=4096 * MIB)) {
        limits.memory_bytes = bytes;
    }
    let fuels = 1_000..=1_000_000_000_000_000;
    if let Some(fuel) = keys.take(check, "fuel_per_record").and_then(|at| check.integer(&at, fuels)) {
        limits.fuel_per_record = fuel;
    }
    let times = Duration::from_millis(1)..=Duration::from_secs(3600);
    if let Some(time) = keys.take(check, "time_per_batch").and_then(|at| check.duration(&at, times)) {
        limits.time_per_batch = time;
    }
    keys.finish(check);
    limits
}

/// A record of the format `raw` has no fields to take a key from.
pub(super) fn check_keys_of_raw_sources(check: &mut Check, functions: &[FunctionSpec], sources: &[SourceSpec]) {
    for function in functions {
        let Some(KeySpec::Field(pointer)) = &function.key else { continue };
        let inputs = function.inputs.iter().flat_map(|input| &input.from);
        let mut read_sources = inputs.filter_map(|input| sources.iter().find(|source| source.uid == input.from));
        if let Some(source) = read_sources.find(|source| source.format == FormatSpec::Raw) {
            let (path, span) = check.places.find(&format!("functions.{}.key", function.uid));
            let message = format!(
                "records of `{}` have the format `raw` and so no field `{pointer}`: expected `$value` or `$key`",
                source.uid
            );
            check.problems.add(codes::BAD_PATH, &path, span, message);
        }
    }
}
