//! Modules: from a path to a function factory, built first where the path is a crate.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use contract::{FunctionFactory, Task};
use guest::compile::{CHILD_ARGUMENT, ChildProgram, child_main};
use guest::{CompileLimits, Compiler, GuestFactory, Limits, Module, Sandbox, SandboxOptions};
use model::SubtaskIndex;
use model::job::LimitsSpec;
use runtime::{FunctionNode, JobGraph};
use toolchain::{BuildOptions, build_guest};

use crate::files::read_bounded;
use crate::report::CliError;

/// Where modules are loaded, once per process.
pub(crate) struct Modules {
    sandbox: Sandbox,
    fuel: bool,
    quiet: bool,
}

/// How modules are loaded.
#[derive(Debug)]
pub(crate) struct LoadOptions<'a> {
    /// Where compiled code is kept; `None` for the user's cache folder.
    pub(crate) cache: Option<&'a Path>,
    /// Compile in this process instead of in a limited child.
    pub(crate) in_process: bool,
    /// Count fuel.
    pub(crate) fuel: bool,
    /// Do not show how crates are built.
    pub(crate) quiet: bool,
}

impl Default for LoadOptions<'_> {
    fn default() -> Self {
        Self { cache: None, in_process: false, fuel: true, quiet: true }
    }
}

/// Ends the process as the compiler's child if it was started as one.
pub(crate) fn compile_child() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    (arguments.next()? == CHILD_ARGUMENT).then(|| child_main(arguments))
}

impl Modules {
    /// A sandbox for this process.
    pub(crate) fn new(options: &LoadOptions<'_>) -> Result<Self, CliError> {
        let compiler = if options.in_process {
            Compiler::in_process()
        } else {
            let program = ChildProgram::current()
                .map_err(|error| CliError::failed(format!("find the running program: {error}")))?;
            Compiler::in_child(program, CompileLimits::default())
        };
        let compiler = match options.cache.map(Path::to_owned).or_else(default_cache) {
            Some(folder) => compiler.with_cache(folder).map_err(contract::Error::from)?,
            None => compiler,
        };
        let sandbox_options = SandboxOptions { fuel: options.fuel, ..SandboxOptions::default() };
        let sandbox = Sandbox::new(&sandbox_options, compiler).map_err(contract::Error::from)?;
        Ok(Self { sandbox, fuel: options.fuel, quiet: options.quiet })
    }

    /// The component at `path`, or built from the crate at `path`.
    pub(crate) fn open(&self, path: &Path, limits: &LimitsSpec) -> Result<Arc<dyn FunctionFactory>, CliError> {
        let bytes = self.component_bytes(path)?;
        let module = self.load(&bytes, path)?;
        let limits = Limits {
            memory_bytes: limits.memory_bytes,
            fuel_per_record: self.fuel.then_some(limits.fuel_per_record),
            time_per_batch: limits.time_per_batch,
        };
        let factory = GuestFactory::new(module, limits).map_err(contract::Error::from)?;
        Ok(Arc::new(factory))
    }

    /// A component file's bytes, or those of the component built from a crate.
    fn component_bytes(&self, path: &Path) -> Result<Vec<u8>, CliError> {
        if path.is_dir() {
            let options = BuildOptions { quiet: self.quiet, ..BuildOptions::default() };
            if !self.quiet && !std::io::stderr().is_terminal() {
                // On a terminal cargo shows what it does; elsewhere it is silent, the first time for a minute.
                let text = format!("building the function in `{}`\n", path.display());
                drop(std::io::stderr().write_all(text.as_bytes()));
            }
            return Ok(build_guest(path, &options)?.component);
        }
        read_bounded(path, "module", guest::caps::MODULE_BYTES as u64).map_err(|error| {
            error.with_help("name a component file (`tidegate build` makes one) or the folder of a function crate")
        })
    }

    /// Loads a component; `path` is for messages.
    pub(crate) fn load(&self, bytes: &[u8], path: &Path) -> Result<Arc<Module>, CliError> {
        self.sandbox
            .load(bytes)
            .map_err(|error| CliError::from(contract::Error::from(error)).about(&path.display().to_string()))
    }

    /// Lets a throw-away instance read its config, so that a wrong value is refused before the job starts.
    pub(crate) fn check_config(&self, graph: &JobGraph, function: &FunctionNode) -> Result<(), CliError> {
        let task = Task {
            job: graph.name.clone(),
            operator: function.uid.clone(),
            subtask: SubtaskIndex(0),
            parallelism: function.parallelism,
            config: function.config.clone(),
        };
        let checked = function.factory.instantiate(&task);
        checked.map(drop).map_err(|error| CliError::from(error).about(&format!("function `{}`", function.uid)))
    }
}

/// `$XDG_CACHE_HOME/tidegate/modules`, or `~/.cache/tidegate/modules`; `None` where there is no home.
fn default_cache() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))?;
    Some(base.join("tidegate").join("modules"))
}
