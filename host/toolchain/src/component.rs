//! From a core module to a component.

use wit_component::{ComponentEncoder, metadata};
use wit_parser::WorldKey;

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
        .map(|world| world.exports.keys().map(|key| interface_name(&bindings.resolve, key)).collect())
        .unwrap_or_default();
    if !exports.iter().any(|export| export == FUNCTION) {
        let found = if exports.is_empty() { "a world without exports".to_owned() } else { exports.join(", ") };
        return Err(Error::ForeignWorld { module: name.to_owned(), found });
    }
    ComponentEncoder::default()
        .validate(true)
        .module(core)
        .and_then(|mut encoder| encoder.encode())
        .map_err(|error| refused(&format!("{error:#}")))
}

fn interface_name(resolve: &wit_parser::Resolve, key: &WorldKey) -> String {
    resolve.name_world_key(key)
}
