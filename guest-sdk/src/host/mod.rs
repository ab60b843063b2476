//! What a function asks of its host, in one place.
//!
//! In a component these are the imports of the contract. Anywhere else they go to the harness of
//! [`crate::testing`] that is driving this thread.

#[cfg(not(target_arch = "wasm32"))]
mod native;
#[cfg(target_arch = "wasm32")]
mod wasm;

#[cfg(not(target_arch = "wasm32"))]
pub(crate) use native::*;
#[cfg(target_arch = "wasm32")]
pub(crate) use wasm::*;
