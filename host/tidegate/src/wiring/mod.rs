//! From a job file to a graph of objects: the only place that knows which implementation stands
//! behind which word of the file.

pub(crate) mod modules;
mod paths;
mod sinks;
mod sources;

pub(crate) use sources::test_source;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use contract::{FunctionFactory, StateBackend};
use format::{CsvFormat, Format};
use model::job::{CsvSpec, FormatSpec, FunctionSpec, JobSpec, StateBackendKind};
use model::{Descriptor, LineageId, OperatorUid};
use runtime::{FunctionInput, FunctionNode, JobGraph, Settings};

use crate::commands::run::job_file_error;
use crate::report::CliError;
#[cfg(not(feature = "rocksdb"))]
use crate::report::Problem;
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
pub(crate) fn wire(
    spec: &JobSpec,
    modules: &Modules,
    state_folder: &Path,
    takes_over: Option<LineageId>,
) -> Result<Wired, CliError> {
    let backend = backend(spec.state.backend, state_folder)?;
    // Before anything is built, which may take a minute.
    spec.check_paths(Path::exists).map_err(job_file_error)?;
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
        graph.functions.push(function_node(function, factory, &backend)?);
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
    function: &FunctionSpec,
    factory: &Arc<dyn FunctionFactory>,
    backend: &Arc<dyn StateBackend>,
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
    let keeps_state = !descriptor.kept_states().is_empty();
    Ok(FunctionNode {
        uid: function.uid.clone(),
        inputs,
        key: function.key.clone(),
        factory: Arc::clone(factory),
        config: function.config.clone(),
        on_error: function.on_error,
        parallelism: function.parallelism,
        state: keeps_state.then(|| Arc::clone(backend)),
    })
}

/// What stores keyed state. Its folder is made when the first table is.
fn backend(kind: StateBackendKind, folder: &Path) -> Result<Arc<dyn StateBackend>, CliError> {
    match kind {
        StateBackendKind::Memory => Ok(Arc::new(state::MemoryBackend::default())),
        StateBackendKind::RocksDb => on_disk(folder),
    }
}

#[cfg(feature = "rocksdb")]
fn on_disk(folder: &Path) -> Result<Arc<dyn StateBackend>, CliError> {
    let options = state::RocksOptions::new(folder.to_owned());
    Ok(Arc::new(state::RocksBackend::new(options)))
}

#[cfg(not(feature = "rocksdb"))]
fn on_disk(_: &Path) -> Result<Arc<dyn StateBackend>, CliError> {
    let message = "`state.backend`: this tidegate was built without the feature `rocksdb`".to_owned();
    let help = Some(
        "use `memory`, or build it with `cargo build --release --bin tidegate`, which has all features".to_owned(),
    );
    Err(CliError::of(Problem { code: Some("E0126".to_owned()), message, help, ..Problem::default() }))
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
