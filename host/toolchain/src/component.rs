//! From a core module to a component.

use wit_component::{ComponentEncoder, metadata};

use crate::Error;

/// The world a guest is made for.
pub const WORLD: &str = "tidegate:flow/operator@0.1.0";

/// The interface every guest provides.
const FUNCTION: &str = "tidegate:flow/function@0.1.0";

/// Makes a component of a core module. `name` is what messages call it.
///
/// # Errors
/// [`Error::NoWorld`], [`Error::ForeignWorld`] and [`Error::NotComponentizable`].
pub fn componentize(name: &str, core: &[u8]) -> Result<Vec<u8>, Error> {
    let refused = |error: &dyn std::fmt::Display| Error::NotComponentizable {
        module: name.to_owned(),
        reason: error.to_string(),
    };
    let (bound, bindings) = metadata::decode(core).map_err(|error| refused(&format!("{error:#}")))?;
    if bound.is_none() {
        return Err(Error::NoWorld { module: name.to_owned() });
    }
    let exports: Vec<String> = bindings
        .resolve
        .worlds
        .get(bindings.world)
        .map(|world| world.exports.keys().map(|key| bindings.resolve.name_world_key(key)).collect())
        .unwrap_or_default();
    // A crate that uses the SDK and defines no function has the imports of our world, and nothing else.
    if exports.is_empty() {
        return Err(Error::NoWorld { module: name.to_owned() });
    }
    if !exports.iter().any(|export| export == FUNCTION) {
        return Err(Error::ForeignWorld { module: name.to_owned(), found: exports.join("`, `") });
    }
    ComponentEncoder::default()
        .validate(true)
        .module(core)
        .and_then(|mut encoder| encoder.encode())
        .map_err(|error| refused(&format!("{error:#}")))
}
