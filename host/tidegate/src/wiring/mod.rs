//! From a job file to a graph of objects: the only place that knows which implementation stands
//! behind which word of the file.

pub(crate) mod modules;
mod paths;
mod sinks;
mod sources;

pub(crate) use sources::test_source;

use std::collections::BTreeMap;
use std::sync::Arc;

use contract::FunctionFactory;
use format::{CsvFormat, Format};
use model::job::{CsvSpec, FormatSpec, FunctionSpec, JobSpec, StateBackendKind};
use model::{Descriptor, LineageId, OperatorUid};
use runtime::{FunctionInput, FunctionNode, JobGraph, Settings};

use crate::commands::run::job_file_error;
use crate::report::CliError;
use modules::Modules;

/// A job ready to start.
pub(crate) struct Wired {
    /// The graph.
    pub(crate) graph: JobGraph,
    /// Whether one of its sinks writes records to standard output.
    pub(crate) writes_stdout: bool,
    /// Whether nothing of it is written anywhere else.
    pub(crate) writes_only_stdout: bool,
}

/// Opens modules, checks the whole job, and makes its graph. Nothing is read or written yet. In a rewind the
/// sinks take the place of the lineage `takes_over`.
pub(crate) fn wire(spec: &JobSpec, modules: &Modules, takes_over: Option<LineageId>) -> Result<Wired, CliError> {
    // Before anything is built, which may take a minute.
    spec.check_paths(std::path::Path::exists).map_err(job_file_error)?;
    let factories = open_modules(spec, modules)?;
    let descriptors: BTreeMap<OperatorUid, Descriptor> =
        factories.iter().map(|(uid, factory)| (uid.clone(), factory.descriptor().clone())).collect();
    spec.check_outputs(&descriptors).map_err(job_file_error)?;

    let mut graph = JobGraph::new(spec.name.clone());
    graph.settings = settings(spec);
    for source in &spec.sources {
        graph.sources.push(sources::node(spec, source)?);
    }
    for function in &spec.functions {
        let Some(factory) = factories.get(&function.uid) else { continue };
        graph.functions.push(function_node(spec, function, factory)?);
    }
    let formats = spec.sink_formats(&descriptors);
    for sink in &spec.sinks {
        let writes = formats.get(&sink.uid).unwrap_or(&FormatSpec::Json);
        graph.sinks.push(sinks::node(spec, sink, writes, takes_over));
    }
    graph.dead_letters = spec.dead_letters.as_ref().map(|connector| sinks::dead_letters(spec, connector, takes_over));
    paths::check(spec, &graph.sources)?;
    graph.check().map_err(contract::Error::from)?;
    for function in &graph.functions {
        modules.check_config(&graph, function)?;
    }
    Ok(Wired { graph, writes_stdout: sinks::writes_stdout(spec), writes_only_stdout: sinks::writes_only_stdout(spec) })
}

/// Refuses a job one of whose sources never ends.
pub(crate) fn check_ends(spec: &JobSpec) -> Result<(), CliError> {
    match spec.sources.iter().find(|source| sources::is_endless(source)) {
        None => Ok(()),
        Some(endless) => Err(CliError::usage(format!("--until-end: source `{}` never ends", endless.uid))
            .with_help("give the generator a number of `records`")),
    }
}

fn open_modules(
    spec: &JobSpec,
    modules: &Modules,
) -> Result<BTreeMap<OperatorUid, Arc<dyn FunctionFactory>>, CliError> {
    let mut factories = BTreeMap::new();
    for function in &spec.functions {
        let path = spec.resolve(&function.module);
        let factory = modules.open(&path, &function.limits)?;
        factories.insert(function.uid.clone(), factory);
    }
    Ok(factories)
}

fn settings(spec: &JobSpec) -> Settings {
    Settings { key_groups: spec.key_groups, batch: spec.batch, queue_bytes: spec.queue_bytes, ..Settings::default() }
}

fn function_node(
    spec: &JobSpec,
    function: &FunctionSpec,
    factory: &Arc<dyn FunctionFactory>,
) -> Result<FunctionNode, CliError> {
    let descriptor = factory.descriptor();
    let mut inputs = Vec::new();
    for input in &function.inputs {
        let id = input.resolve(descriptor).ok_or_else(|| {
            CliError::failed(format!(
                "function `{}` has no input `{}`",
                function.uid,
                input.name.as_deref().unwrap_or("")
            ))
        })?;
        inputs.extend(input.from.iter().map(|from| FunctionInput { input: id, from: from.clone() }));
    }
    let keeps_state = !descriptor.states.is_empty();
    Ok(FunctionNode {
        uid: function.uid.clone(),
        inputs,
        key: function.key.clone(),
        factory: Arc::clone(factory),
        config: function.config.clone(),
        on_error: function.on_error,
        parallelism: function.parallelism,
        state: keeps_state.then(|| backend(spec.state.backend)),
    })
}

fn backend(kind: StateBackendKind) -> Arc<dyn contract::StateBackend> {
    match kind {
        StateBackendKind::Memory => Arc::new(state::MemoryBackend::default()),
    }
}

/// The format of a source or sink; `columns` are those that a CSV header line tells.
fn format(spec: &FormatSpec, columns: &[String]) -> Format {
    match spec {
        FormatSpec::Json => Format::Json,
        FormatSpec::Raw => Format::Raw,
        FormatSpec::Csv(CsvSpec { delimiter, columns: named, .. }) => {
            let columns = if named.is_empty() { columns } else { named };
            Format::Csv(CsvFormat { delimiter: *delimiter, columns: columns.to_vec() })
        }
    }
}
