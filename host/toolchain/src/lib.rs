//! The function tool-chain: from a guest crate to a component, with no tools but cargo.
//!
//! A guest is a crate of type `cdylib` that binds the world of `wit/flow.wit`. It is compiled for
//! `wasm32-unknown-unknown`, and the core module that comes out is made a component by `wit-component`.
//!
//! # Words
//! - *shipped* standard library: the compiler came with one for the target; *from source*: cargo
//!   compiles it first, which takes a matching source tree and a linker
//! - *core module*: what the compiler makes; *component*: what the engine loads
//!
//! # Invariants
//! 1. The environment of an outer cargo (flags, wrappers, target folders) never reaches the inner
//!    build, so the same crate gives the same component from a shell, a test and a build script.
//! 2. Which compiler to use is decided by [`decide`] from [`Facts`] alone; finding the facts is apart.
//! 3. Every error says what was found and what to do, and has a code with a page.
//!
//! # Absent on purpose
//! No wasmtime and no other room: whether the engine accepts a component is for `guest` to say. No
//! download of tools: a missing compiler is an error that names the command to run.

mod build;
mod component;
mod detect;
mod env;
mod error;
mod template;

pub use build::{BuildOptions, Guest, build_guest};
pub use component::{WORLD, componentize};
pub use detect::{Compiler, Facts, PREFERENCE_VARIABLE, Preference, StandardLibrary, TARGET, WasmToolchain, decide};
pub use env::{cargo, clean};
pub use error::Error;
pub use template::{SdkSource, Template, new_crate};

#[cfg(test)]
mod tests;
