//! The world of `wit/flow.wit`, bound once.
//!
//! Parameters of exports borrow, so a column of a turn is copied once, into the guest. Results of
//! exports and parameters of imports are lifted once, into vectors that are checked and moved on.

#![allow(clippy::all, clippy::indexing_slicing, missing_docs, unreachable_pub, reason = "generated code")]

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "operator",
    imports: { default: trappable },
    ownership: Borrowing { duplicate_if_necessary: true },
});
