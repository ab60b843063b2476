//! From a component to native code, without trusting the component.
//!
//! # Flow
//! The cache is asked; on a miss a child process with limits compiles and hands the code over its
//! standard output; the code is kept in the cache and loaded.
//!
//! # Words
//! - *code*: what wasmtime makes of a component, to be loaded without compiling
//! - *child program*: the program that compiles when it is called with the hidden argument
//!
//! # Invariants
//! 1. Code is loaded only if it came from our own compiler: over the pipe of a child that we started, out
//!    of this process, or out of the cache folder, which only its owner may write, with a checksum over
//!    the code, the module and the engine it was made for. What a user uploads is never loaded.
//! 2. A cache file that is missing, damaged, cut or of another engine is a miss, never an error.
//! 3. A component that takes the compiler too much memory or time costs a child, not the server.

mod cache;
mod child;

use std::hash::{Hash, Hasher};
use std::path::PathBuf;
use std::time::Duration;

use model::ModuleDigest;
use sha2::{Digest, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::{Error, Sandbox};

use cache::Cache;
pub use child::{CHILD_ARGUMENT, ChildProgram, child_main};

/// What one compilation may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileLimits {
    /// Address space of the child. Default 4 GiB: Cranelift takes up to a hundred times the size of the
    /// code on each core, and threads reserve more than they use.
    pub memory_bytes: u64,
    /// Processor time of the child, all threads. Default 300 s: an 18 MB interpreter takes a tenth.
    pub cpu: Duration,
    /// Wall-clock time of the child. Default 300 s, for a machine that is busy otherwise.
    pub wall: Duration,
}

impl Default for CompileLimits {
    fn default() -> Self {
        Self { memory_bytes: 4 << 30, cpu: Duration::from_secs(300), wall: Duration::from_secs(300) }
    }
}

/// Compiles components, and remembers what it compiled.
#[derive(Clone, Debug)]
pub struct Compiler {
    how: How,
    limits: CompileLimits,
    cache: Option<Cache>,
}

#[derive(Clone, Debug)]
enum How {
    InProcess,
    Child(ChildProgram),
}

impl Compiler {
    /// Compiles in this process, without limits: for tests and benchmarks, where the component is ours.
    #[must_use]
    pub fn in_process() -> Self {
        Self { how: How::InProcess, limits: CompileLimits::default(), cache: None }
    }

    /// Compiles in a child process, within `limits`.
    #[must_use]
    pub fn in_child(program: ChildProgram, limits: CompileLimits) -> Self {
        Self { how: How::Child(program), limits, cache: None }
    }

    /// Keeps compiled code in `folder`, which is made if it is not there.
    ///
    /// # Errors
    /// [`Error::CacheFolder`] when it cannot be made, or others may write into it.
    pub fn with_cache(mut self, folder: impl Into<PathBuf>) -> Result<Self, Error> {
        self.cache = Some(Cache::open(folder.into())?);
        Ok(self)
    }

    /// The component, compiled now or before.
    pub(crate) fn component(&self, sandbox: &Sandbox, bytes: &[u8], digest: ModuleDigest) -> Result<Component, Error> {
        let engine = sandbox.engine();
        let key = CodeKey { module: digest, engine: EngineHash::of(engine) };
        if let Some(cache) = &self.cache
            && let Some(code) = cache.get(&key)
        {
            match load_own_code(engine, &code) {
                Ok(component) => return Ok(component),
                Err(error) => {
                    tracing::warn!(module = %digest, "compiled code does not load, compiling anew: {error:#}")
                }
            }
        }
        let code = self.compile(sandbox, bytes)?;
        let component = load_own_code(engine, &code).map_err(|error| self.not_loaded(&error))?;
        if let Some(cache) = &self.cache {
            cache.put(&key, &code);
        }
        Ok(component)
    }

    fn compile(&self, sandbox: &Sandbox, bytes: &[u8]) -> Result<Vec<u8>, Error> {
        match &self.how {
            How::InProcess => sandbox
                .engine()
                .precompile_component(bytes)
                .map_err(|error| Error::Invalid { reason: format!("{error:#}") }),
            How::Child(program) => child::compile(program, &self.limits, sandbox.counts_fuel(), bytes),
        }
    }

    /// Why code that was just made does not load.
    fn not_loaded(&self, error: &wasmtime::Error) -> Error {
        let reason = format!("{error:#}");
        // wasmtime has no type for it: what the component needs is more than a place for an instance has.
        if reason.contains("pooling allocator") {
            return Error::TooDemanding { reason: error.root_cause().to_string() };
        }
        let program = match &self.how {
            How::InProcess => PathBuf::from("this process"),
            How::Child(program) => program.path.clone(),
        };
        Error::CompilerBroken { program, reason }
    }
}

/// Loads code that our own compiler made.
fn load_own_code(engine: &Engine, code: &[u8]) -> wasmtime::Result<Component> {
    #[expect(unsafe_code, reason = "invariant 1: the code comes from our own compiler and is whole")]
    // SAFETY: `deserialize` runs what it is given as native code, so the bytes must be what `serialize` or
    // `precompile_component` made, unchanged. They come from this process, from the pipe of a child that
    // runs our own program, or from a file that only the owner of the process may write and whose
    // checksum, over these very bytes, was just verified. wasmtime itself refuses another version or
    // other settings.
    unsafe {
        Component::deserialize(engine, code)
    }
}

/// Which code: of a module, for an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CodeKey {
    module: ModuleDigest,
    engine: EngineHash,
}

/// SHA-256 over everything of an engine that decides whether code loads: version, settings, processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct EngineHash([u8; 32]);

impl EngineHash {
    fn of(engine: &Engine) -> Self {
        let mut hasher = Sha256Hasher(Sha256::new());
        engine.precompile_compatibility_hash().hash(&mut hasher);
        Self(hasher.0.finalize().into())
    }
}

/// SHA-256 for what implements [`Hash`]: the same from one build of us to the next, which the hasher of
/// the standard library does not promise.
struct Sha256Hasher(Sha256);

impl Hasher for Sha256Hasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..]: [u8; 32] = self.0.clone().finalize().into();
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }
}
