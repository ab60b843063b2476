//! What a file is, and what a component asks for, from its outermost layer alone: nothing is compiled.

use std::fmt;

use wasmparser::{Encoding, Parser, Payload};
use wasmtime::{Engine, Precompiled};

use crate::{Error, caps};

/// The package of the world.
pub const WORLD_PACKAGE: &str = "tidegate:flow";
/// Its version here.
pub const WORLD_VERSION: &str = "0.1.0";
/// The export that makes a component a function.
const FUNCTION: &str = "function";
/// The interfaces a function may import. `types` holds no functions.
const IMPORTS: [&str; 5] = ["types", "state", "timers", "emit", "telemetry"];

/// What a file that is no WebAssembly is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// WebAssembly as text.
    WebAssemblyText,
    /// Any other text.
    Text,
    /// A component compiled by wasmtime.
    CompiledComponent,
    /// A core module compiled by wasmtime.
    CompiledModule,
    /// An executable or library of an operating system.
    NativeProgram,
    /// An archive or compressed file.
    Archive,
    /// WebAssembly of a binary version nobody reads any more, or not yet.
    UnknownWebAssembly,
    /// Bytes of no kind we know.
    Unknown,
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WebAssemblyText => "WebAssembly as text",
            Self::Text => "text",
            Self::CompiledComponent => "a component that wasmtime compiled",
            Self::CompiledModule => "a core module that wasmtime compiled",
            Self::NativeProgram => "a native program or library",
            Self::Archive => "an archive or a compressed file",
            Self::UnknownWebAssembly => "WebAssembly of an unknown binary version",
            Self::Unknown => "of no kind we know",
        })
    }
}

/// The names in the outermost layer of a component.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surface {
    /// What it imports, in its order.
    pub imports: Vec<String>,
    /// What it exports, in its order.
    pub exports: Vec<String>,
}

/// Checks that `bytes` are a component of our world, as far as names tell.
///
/// # Errors
/// What the file is instead, or what it lacks or asks for.
pub fn inspect(bytes: &[u8]) -> Result<Surface, Error> {
    if bytes.len() > caps::MODULE_BYTES {
        return Err(Error::TooLarge { bytes: bytes.len(), most: caps::MODULE_BYTES });
    }
    check_is_component(bytes)?;
    let surface = surface(bytes)?;
    check_world(&surface)?;
    Ok(surface)
}

fn check_is_component(bytes: &[u8]) -> Result<(), Error> {
    if bytes.is_empty() {
        return Err(Error::Empty);
    }
    if Parser::is_component(bytes) {
        return Ok(());
    }
    if Parser::is_core_wasm(bytes) {
        return Err(Error::CoreModule);
    }
    if let Some(found) = native_kind(bytes) {
        return Err(Error::Precompiled { found });
    }
    Err(Error::NotWasm { found: other_kind(bytes) })
}

fn native_kind(bytes: &[u8]) -> Option<FileKind> {
    const NATIVE: [&[u8]; 4] = [b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"];
    match Engine::detect_precompiled(bytes) {
        Some(Precompiled::Component) => Some(FileKind::CompiledComponent),
        Some(Precompiled::Module) => Some(FileKind::CompiledModule),
        None => NATIVE.iter().any(|magic| bytes.starts_with(magic)).then_some(FileKind::NativeProgram),
    }
}

fn other_kind(bytes: &[u8]) -> FileKind {
    const ARCHIVES: [&[u8]; 5] = [b"PK\x03\x04", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ\0"];
    if bytes.starts_with(b"\0asm") {
        return FileKind::UnknownWebAssembly;
    }
    if ARCHIVES.iter().any(|magic| bytes.starts_with(magic)) {
        return FileKind::Archive;
    }
    let head = bytes.get(..bytes.len().min(4096)).unwrap_or_default();
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        // A character cut in two by the end of the head.
        Err(error) if error.error_len().is_none() => "",
        Err(_) => return FileKind::Unknown,
    };
    if head.contains(&0) {
        return FileKind::Unknown;
    }
    let start = text.trim_start_matches('\u{feff}').trim_start();
    if start.starts_with("(module") || start.starts_with("(component") || start.starts_with(";;") {
        return FileKind::WebAssemblyText;
    }
    FileKind::Text
}

/// Reads the names of the outermost component; what is nested inside is skipped.
fn surface(bytes: &[u8]) -> Result<Surface, Error> {
    let invalid = |error: wasmparser::BinaryReaderError| Error::Invalid { reason: error.to_string() };
    let mut surface = Surface::default();
    let mut depth = 0usize;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(invalid)? {
            Payload::Version { encoding, .. } if depth == 0 && encoding != Encoding::Component => {
                return Err(Error::CoreModule);
            }
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(imports) if depth == 0 => {
                for import in imports {
                    surface.imports.push(import.map_err(invalid)?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(exports) if depth == 0 => {
                for export in exports {
                    surface.exports.push(export.map_err(invalid)?.name.name.to_owned());
                }
            }
            _ => {}
        }
    }
    Ok(surface)
}

/// A name of our package, taken apart.
struct OurName<'a> {
    interface: &'a str,
    version: Option<&'a str>,
}

fn our_name(name: &str) -> Option<OurName<'_>> {
    let rest = name.strip_prefix(WORLD_PACKAGE)?.strip_prefix('/')?;
    match rest.split_once('@') {
        Some((interface, version)) => Some(OurName { interface, version: Some(version) }),
        None => Some(OurName { interface: rest, version: None }),
    }
}

fn check_world(surface: &Surface) -> Result<(), Error> {
    let mut foreign = Vec::new();
    for name in &surface.imports {
        match our_name(name) {
            Some(ours) if ours.version != Some(WORLD_VERSION) => {
                return Err(Error::OtherVersion { name: name.clone() });
            }
            Some(ours) if IMPORTS.contains(&ours.interface) => {}
            _ => foreign.push(name.clone()),
        }
    }
    if !foreign.is_empty() {
        return Err(Error::ForeignImports { imports: foreign });
    }
    let functions = surface.exports.iter().filter_map(|name| our_name(name).map(|ours| (name, ours)));
    let mut other_version = None;
    for (name, ours) in functions.filter(|(_, ours)| ours.interface == FUNCTION) {
        if ours.version == Some(WORLD_VERSION) {
            return Ok(());
        }
        other_version = Some(name.clone());
    }
    if let Some(name) = other_version {
        return Err(Error::OtherVersion { name });
    }
    let exports = match surface.exports.as_slice() {
        [] => "nothing".to_owned(),
        some => some.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
    };
    Err(Error::ForeignWorld { missing: format!("{WORLD_PACKAGE}/{FUNCTION}@{WORLD_VERSION}"), exports })
}
