//! Builds a guest crate.

use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use cargo_metadata::{CrateType, Message, Metadata, MetadataCommand, Package};

use crate::Error;
use crate::component::componentize;
use crate::detect::WasmToolchain;
use crate::env::cargo;

/// How to build.
#[derive(Clone, Debug, Default)]
pub struct BuildOptions {
    /// Where cargo puts what it makes; `None` for the crate's own folder.
    pub target_dir: Option<PathBuf>,
    /// Says nothing while it builds; what the compiler says goes into the error. Otherwise cargo's
    /// progress and the compiler's words go to the standard error as they come.
    pub quiet: bool,
    /// The package to build where the path names a workspace.
    pub package: Option<String>,
    /// What to build with; `None` for what [`WasmToolchain::detect_in`] finds.
    pub toolchain: Option<WasmToolchain>,
}

/// A guest that was built.
#[derive(Clone, Debug)]
pub struct Guest {
    /// The package it came from.
    pub package: String,
    /// The component.
    pub component: Vec<u8>,
    /// The core module it was made of.
    pub core_wasm_path: PathBuf,
    /// What built it.
    pub toolchain: WasmToolchain,
}

/// Builds the guest crate at `path` (its folder or its `Cargo.toml`) in release mode and makes it a
/// component.
///
/// # Errors
/// Every [`Error`] but those of `new`.
pub fn build_guest(path: &Path, options: &BuildOptions) -> Result<Guest, Error> {
    let manifest = manifest_of(path)?;
    let folder = manifest.parent().unwrap_or(Path::new("."));
    let metadata = read_metadata(path, &manifest, folder)?;
    let package = choose(path, &manifest, &metadata, options.package.as_deref())?;
    check_makes_module(package)?;
    let toolchain = match &options.toolchain {
        Some(given) => given.clone(),
        None => WasmToolchain::detect_in(folder)?,
    };

    let core_wasm_path = compile(package, folder, &toolchain, options)?;
    let core = fs::read(&core_wasm_path).map_err(Error::file("read", &core_wasm_path))?;
    let component = componentize(&package.name, &core)?;
    Ok(Guest { package: package.name.to_string(), component, core_wasm_path, toolchain })
}

fn manifest_of(path: &Path) -> Result<PathBuf, Error> {
    let refuse = |reason: &str| Error::NotACrate { path: path.to_path_buf(), reason: reason.to_owned() };
    let manifest = if path.is_dir() { path.join("Cargo.toml") } else { path.to_path_buf() };
    if !path.exists() {
        return Err(refuse("no such file or folder"));
    }
    if manifest.file_name().is_none_or(|name| name != "Cargo.toml") {
        return Err(refuse("expected a folder with a Cargo.toml, found a file"));
    }
    if !manifest.is_file() {
        return Err(refuse("the folder has no Cargo.toml"));
    }
    manifest.canonicalize().map_err(Error::file("read", &manifest))
}

fn read_metadata(path: &Path, manifest: &Path, folder: &Path) -> Result<Metadata, Error> {
    let output = cargo()
        .args(["metadata", "--format-version", "1", "--no-deps", "--manifest-path"])
        .arg(manifest)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .map_err(|source| Error::CannotRun { program: "cargo".to_owned(), source })?;
    let refuse = |reason: String| Error::NotACrate { path: path.to_path_buf(), reason };
    if !output.status.success() {
        return Err(refuse(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    MetadataCommand::parse(String::from_utf8_lossy(&output.stdout)).map_err(|error| refuse(error.to_string()))
}

/// The package meant: the one named, the one whose manifest it is, or the only one that makes a module.
fn choose<'a>(path: &Path, manifest: &Path, metadata: &'a Metadata, name: Option<&str>) -> Result<&'a Package, Error> {
    let members = metadata.workspace_packages();
    let names = |packages: &[&Package]| packages.iter().map(|package| package.name.to_string()).collect();
    if let Some(name) = name {
        return members.iter().copied().find(|package| package.name == name).ok_or_else(|| Error::NoSuchPackage {
            path: path.to_path_buf(),
            package: name.to_owned(),
            packages: names(&members),
        });
    }
    if let Some(own) = members.iter().copied().find(|package| package.manifest_path == manifest) {
        return Ok(own);
    }
    let modules: Vec<&Package> = members.iter().copied().filter(|package| makes_module(package)).collect();
    match (modules.as_slice(), members.as_slice()) {
        ([only], _) | ([], [only]) => Ok(only),
        ([], []) => {
            Err(Error::NotACrate { path: path.to_path_buf(), reason: "the workspace has no packages".to_owned() })
        }
        ([], several) | (several, _) => {
            Err(Error::SeveralPackages { path: path.to_path_buf(), packages: names(several) })
        }
    }
}

fn makes_module(package: &Package) -> bool {
    package.targets.iter().any(|target| target.crate_types.contains(&CrateType::CDyLib))
}

fn check_makes_module(package: &Package) -> Result<(), Error> {
    if makes_module(package) {
        return Ok(());
    }
    let library = package.targets.iter().find(|target| target.is_lib() || target.is_rlib());
    let mut found: Vec<String> = library.into_iter().flat_map(|it| &it.crate_types).map(ToString::to_string).collect();
    if found.is_empty() {
        found.push("none".to_owned());
    }
    Err(Error::NoCdylib { package: package.name.to_string(), found })
}

/// Runs cargo and returns the core module.
fn compile(
    package: &Package,
    folder: &Path,
    toolchain: &WasmToolchain,
    options: &BuildOptions,
) -> Result<PathBuf, Error> {
    let mut command = build_command(package, folder, toolchain, options);
    let cannot_run = |source| Error::CannotRun { program: "cargo".to_owned(), source };
    let mut child = command.spawn().map_err(cannot_run)?;
    let said = collect_stderr(&mut child);
    let module = child.stdout.take().and_then(|stdout| find_module(package, BufReader::new(stdout)));
    let status = child.wait().map_err(cannot_run)?;
    let diagnostics = said.and_then(|thread| thread.join().ok()).unwrap_or_default();
    match module {
        Some(module) if status.success() => Ok(module),
        _ => Err(Error::CompileFailed {
            package: package.name.to_string(),
            diagnostics: diagnostics.trim_end().to_owned(),
        }),
    }
}

fn build_command(package: &Package, folder: &Path, toolchain: &WasmToolchain, options: &BuildOptions) -> Command {
    let mut command = cargo();
    toolchain.apply_environment(&mut command);
    command
        .args(["build", "--release", "--lib", "--message-format", "json-render-diagnostics"])
        .args(toolchain.cargo_arguments())
        .arg("--manifest-path")
        .arg(&package.manifest_path)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    if let Some(target_dir) = &options.target_dir {
        command.arg("--target-dir").arg(std::path::absolute(target_dir).unwrap_or_else(|_| target_dir.clone()));
    }
    if options.quiet {
        command.arg("--quiet").stderr(Stdio::piped());
    }
    command
}

/// Reads the standard error of a quiet build beside its standard output, so that neither pipe fills.
fn collect_stderr(child: &mut Child) -> Option<thread::JoinHandle<String>> {
    let mut stderr = child.stderr.take()?;
    Some(thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before a broken pipe is still worth showing.
        std::io::Read::read_to_end(&mut stderr, &mut bytes).ok();
        String::from_utf8_lossy(&bytes).into_owned()
    }))
}

/// Reads cargo's messages to their end and picks out the module of `package`.
fn find_module(package: &Package, messages: impl std::io::BufRead) -> Option<PathBuf> {
    let mut module = None;
    for message in Message::parse_stream(messages).map_while(Result::ok) {
        if let Message::CompilerArtifact(artifact) = message
            && artifact.package_id == package.id
            && artifact.target.crate_types.contains(&CrateType::CDyLib)
        {
            module = artifact.filenames.into_iter().find(|file| file.extension() == Some("wasm"));
        }
    }
    module.map(Into::into)
}
