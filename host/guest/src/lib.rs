//! Sandboxed functions: wasmtime behind the [`contract::UserFunction`] seam.
//!
//! # How a function gets here
//! bytes → [`Sandbox::load`]: what the file is, what it imports and exports ([`inspect`]) → compiled in
//! a child process, or found in the cache ([`compile`]) → linked once → `describe` in a throw-away
//! instance → [`Module`] → [`GuestFactory`] with [`Limits`] → [`GuestFunction`], one per subtask.
//!
//! # Words
//! - *module*: a component as uploaded, known by the SHA-256 of its bytes
//! - *instance*: a store with one instantiated module; dropped whole, never repaired
//! - *fuel*: the instruction budget; *deadline ticks*: what wasmtime calls epochs
//! - *cap*: a fixed bound on something a guest controls ([`caps`]); *limit*: one a job sets ([`Limits`])
//!
//! # Invariants
//! 1. Whatever a guest passes is checked before anything else sees it, and bounded before it is copied.
//! 2. What a call stages leaves this room only if the call returned ok.
//! 3. After a trap or a limit the store is dropped; no later call reaches that instance.
//! 4. Native code is loaded only if this room's own compiler made it: see [`compile`].
//! 5. The verdict on a record depends on the record and its state: fuel and caps are the same for a
//!    batch as for a record alone, so a batch that exceeds them is halved, never condemned.
//!
//! # Absent on purpose
//! No WASI, no clock, no randomness, no fibers. No search for the bad record: that is decided by
//! `protocol::isolation` and driven by the engine; this room renews the instance.

mod bindings;
pub mod caps;
mod check;
pub mod compile;
mod convert;
mod engine;
mod error;
mod failure;
mod function;
mod host;
pub mod inspect;
mod limiter;
mod limits;
mod module;

pub use compile::{CompileLimits, Compiler};
pub use engine::{Sandbox, SandboxOptions, Ticks};
pub use error::Error;
pub use function::{GuestFactory, GuestFunction};
pub use limits::Limits;
pub use module::Module;

/// What a fuzz target reaches of the checks on guest data.
#[doc(hidden)]
pub mod fuzzing {
    pub use crate::check::fuzzing::check_anything;
}
