//! `tidegate build`: a component, checked and described.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bytesize::ByteSize;
use guest::Module;
use model::{Descriptor, PortDescriptor, StateDescriptor, TtlClock};
use toolchain::{BuildOptions, build_guest};

use crate::args::{Build, OutputFormat};
use crate::commands::run::json_line;
use crate::commands::texts::print;
use crate::files::read_bounded;
use crate::report::CliError;
use crate::wiring::modules::{LoadOptions, Modules};

/// What was built or read.
struct Built {
    bytes: Vec<u8>,
    /// Where it was written; `None` for a file that was only checked.
    written: Option<PathBuf>,
    /// Which compiler made it; `None` for a file that was only checked.
    compiler: Option<String>,
}

/// Builds, checks, writes and describes.
pub(crate) fn run(args: &Build, output: OutputFormat) -> Result<ExitCode, CliError> {
    let modules = Modules::new(&LoadOptions::default())?;
    let mut built = if args.path.exists() && !args.path.is_dir() && !args.path.ends_with("Cargo.toml") {
        read(args)?
    } else {
        compile(&args.path, output)?
    };
    let module = modules.load(&built.bytes, &args.path)?;
    // Written only after it was accepted: a file under that name is always a working component.
    if let Some(target) = args.out.clone().or_else(|| built.written.take()) {
        write(&target, &built.bytes)?;
        built.written = Some(target);
    }
    match output {
        OutputFormat::Human => print(describe(&built, &module).as_bytes()),
        OutputFormat::Json => print(json_line(&document(&built, &module))?.as_bytes()),
    }
}

fn read(args: &Build) -> Result<Built, CliError> {
    let bytes = read_bounded(&args.path, "module", guest::caps::MODULE_BYTES as u64)?;
    Ok(Built { bytes, written: None, compiler: None })
}

fn compile(path: &Path, output: OutputFormat) -> Result<Built, CliError> {
    let options = BuildOptions { quiet: output == OutputFormat::Json, ..BuildOptions::default() };
    let guest = build_guest(path, &options)?;
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new(".")) };
    let file = folder.join("target").join("tidegate").join(format!("{}.wasm", guest.package));
    Ok(Built { bytes: guest.component, written: Some(file), compiler: Some(guest.toolchain.to_string()) })
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let written = std::fs::create_dir_all(folder).and_then(|()| {
        let readable = std::fs::Permissions::from_mode(0o644);
        let mut file = tempfile::Builder::new().permissions(readable).tempfile_in(folder)?;
        std::io::Write::write_all(&mut file, bytes)?;
        file.persist(path).map(drop).map_err(|error| error.error)
    });
    written.map_err(|error| CliError::failed(format!("write `{}`: {error}", path.display())))
}

fn document(built: &Built, module: &Module) -> serde_json::Value {
    serde_json::json!({
        "component": built.written,
        "compiler": built.compiler,
        "digest": module.digest().to_string(),
        "size_bytes": module.size_bytes(),
        "imports": module.surface().imports,
        "descriptor": module.descriptor(),
    })
}

fn describe(built: &Built, module: &Module) -> String {
    let descriptor = module.descriptor();
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        // Writing to a text cannot fail.
        let _infallible = writeln!(text, "{name:<10} {value}");
    };
    if let Some(path) = &built.written {
        line("component", &path.display().to_string());
    }
    line("size", &ByteSize::b(module.size_bytes() as u64).to_string());
    line("digest", &module.digest().to_string());
    if let Some(compiler) = &built.compiler {
        line("compiler", compiler);
    }
    line("kind", if descriptor.keyed { "keyed" } else { "not keyed" });
    for (index, import) in module.surface().imports.iter().enumerate() {
        line(if index == 0 { "imports" } else { "" }, import);
    }
    for port in &descriptor.inputs {
        line("input", &describe_input(port, descriptor));
    }
    for port in &descriptor.outputs {
        line("output", &describe_port(port));
    }
    for state in &descriptor.states {
        line("state", &describe_state(state));
    }
    if descriptor.timers {
        line("timers", "set, and kept with the state");
    }
    for metric in &descriptor.metrics {
        line("metric", &metric.name);
    }
    text
}

fn describe_input(port: &PortDescriptor, descriptor: &Descriptor) -> String {
    let reads = match (port.fields.is_empty(), descriptor.wants_values) {
        (true, true) => " (whole values)",
        (true, false) => " (no values)",
        (false, true) => " and whole values",
        (false, false) => "",
    };
    format!("{}{reads}", describe_port(port))
}

fn describe_port(port: &PortDescriptor) -> String {
    let fields = port.fields.iter().map(|field| {
        let optional = if field.required { "" } else { "?" };
        format!("{}{optional}: {} at {}", field.name, field.kind, field.path)
    });
    let fields: Vec<String> = fields.collect();
    if fields.is_empty() { port.name.clone() } else { format!("{}: {}", port.name, fields.join(", ")) }
}

fn describe_state(state: &StateDescriptor) -> String {
    let ttl = state.ttl.map(|ttl| {
        let clock = match ttl.clock {
            TtlClock::EventTime => "event time",
            TtlClock::ProcessingTime => "processing time",
        };
        let time = humantime::format_duration(std::time::Duration::from_millis(ttl.millis));
        format!(", ttl {time} by {clock}")
    });
    format!("{} v{}: {:?}{}", state.name, state.version, state.kind, ttl.unwrap_or_default())
}
