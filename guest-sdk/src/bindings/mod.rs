//! The guest contract in Rust: the types of `wit/flow.wit`, its imports, and the macro that exports a
//! function. `generated.rs` is written by wit-bindgen; the test `bindings` keeps it equal to the
//! contract, so that a function's build needs neither the generator nor its dependencies.
//!
//! # Absent on purpose
//! No code by hand touches memory: what must be `unsafe` is in the generated file alone.

#[expect(unsafe_code, reason = "the canonical ABI passes pointers; the generator writes that code, nobody else")]
#[allow(
    clippy::all,
    clippy::allow_attributes_without_reason,
    clippy::clone_on_ref_ptr,
    clippy::indexing_slicing,
    clippy::too_many_lines,
    clippy::unwrap_used,
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    reason = "generated code follows the generator's style"
)]
#[rustfmt::skip]
mod generated;

pub use generated::exports::tidegate::flow::function::Guest;
pub use generated::tidegate::flow::{emit, state, telemetry, timers, types};
pub use generated::{export_operator, exports};
pub use wit_bindgen::rt;
