//! A module: checked, compiled, linked and described.

use std::fmt;
use std::sync::Arc;

use contract::Failure;
use model::{Descriptor, ModuleDigest};
use sha2::{Digest, Sha256};

use crate::bindings::OperatorPre;
use crate::function::live::Live;
use crate::host::{Host, Phase};
use crate::inspect::{Surface, inspect};
use crate::{Error, Limits, Sandbox, caps, convert};

/// A module that is ready to be instantiated. Shared by all functions made of it.
pub struct Module {
    sandbox: Sandbox,
    pre: OperatorPre<Host>,
    digest: ModuleDigest,
    size_bytes: usize,
    surface: Surface,
    descriptor: Arc<Descriptor>,
}

impl Sandbox {
    /// Loads a component: checks what it is, compiles it or finds it compiled, links it, and asks it to
    /// describe itself in an instance that is thrown away, within the default [`Limits`].
    ///
    /// # Errors
    /// What the file is instead of a function, what it asks for and may not have, that it cannot be
    /// compiled within the limits, or that it does not describe itself.
    pub fn load(&self, bytes: &[u8]) -> Result<Arc<Module>, Error> {
        let surface = inspect(bytes)?;
        let digest = ModuleDigest(Sha256::digest(bytes).into());
        let component = self.compiler().component(self, bytes, digest)?;
        let other_shape = |error: wasmtime::Error| Error::OtherShape { reason: format!("{error:#}") };
        let pre = self.linker().instantiate_pre(&component).map_err(other_shape)?;
        let pre = OperatorPre::new(pre).map_err(other_shape)?;
        let descriptor = Arc::new(describe(self, &pre)?);
        Ok(Arc::new(Module { sandbox: self.clone(), pre, digest, size_bytes: bytes.len(), surface, descriptor }))
    }
}

impl Module {
    /// SHA-256 of the component: what the module is known by.
    #[must_use]
    pub fn digest(&self) -> ModuleDigest {
        self.digest
    }

    /// What it says of itself.
    #[must_use]
    pub fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// Size of the component in bytes.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    /// The names it imports and exports.
    #[must_use]
    pub fn surface(&self) -> &Surface {
        &self.surface
    }

    pub(crate) fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    pub(crate) fn pre(&self) -> &OperatorPre<Host> {
        &self.pre
    }

    pub(crate) fn shared_descriptor(&self) -> Arc<Descriptor> {
        Arc::clone(&self.descriptor)
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module").field("digest", &self.digest).finish_non_exhaustive()
    }
}

fn describe(sandbox: &Sandbox, pre: &OperatorPre<Host>) -> Result<Descriptor, Error> {
    let limits = Limits::default();
    let failed = |failure: Failure| Error::Describe(failure);
    let mut live = Live::start(sandbox, pre, Arc::default(), &limits).map_err(|error| match error {
        Error::Open(failure) => failed(failure),
        other => other,
    })?;
    live.store_mut().set_hostcall_fuel(caps::DESCRIPTOR_BYTES);
    let described = live
        .call(Phase::Describe, &limits, |function, store| function.call_describe(store))
        .map_err(|error| live_error(error, failed))?;
    let descriptor = convert::descriptor(described);
    descriptor.check()?;
    check_schemas(&descriptor)?;
    Ok(descriptor)
}

/// What a call outside of `process` means when it does not return.
pub(crate) fn live_error(error: contract::ProcessError, failed: impl FnOnce(Failure) -> Error) -> Error {
    match error {
        contract::ProcessError::Function(failure) => failed(failure),
        contract::ProcessError::Host(error) => Error::Behind(error),
    }
}

pub(crate) fn check_schemas(descriptor: &Descriptor) -> Result<(), Error> {
    let states = descriptor.states.iter().map(|state| ("state", &state.name, Some(&state.schema)));
    let inputs = descriptor.inputs.iter().map(|port| ("input", &port.name, port.schema.as_ref()));
    let outputs = descriptor.outputs.iter().map(|port| ("output", &port.name, port.schema.as_ref()));
    for (what, name, schema) in states.chain(inputs).chain(outputs) {
        let Some(schema) = schema else { continue };
        let refuse = |problem| Error::Schema { what, name: name.clone(), problem };
        if schema.len() > caps::SCHEMA_BYTES {
            return Err(refuse(format!("has {} bytes: at most {} are allowed", schema.len(), caps::SCHEMA_BYTES)));
        }
        if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(schema) {
            return Err(refuse(format!("is not JSON: {error}")));
        }
    }
    Ok(())
}
