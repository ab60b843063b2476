//! Rules on the source tree itself.
//!
//! Each rule is a pure function from texts to *violations*: lines for a person, each naming the file
//! and what to do. `tests/tree.rs` applies them to this repository; `src/tests.rs` shows of each that
//! it finds what it is there to find.
//!
//! # Invariants
//! 1. No rule reads a file: [`Tree::read`] does, once.
//! 2. A rule that cannot find what it checks (no rooms, no pages, no items) says so: an empty tree never passes.
//!
//! # Absent on purpose
//! Nothing that rustfmt, clippy or cargo-deny already checks.

pub mod dependencies;
pub mod edges;
pub mod error_pages;
pub mod manifest;
pub mod sources;
mod tree;
pub mod wit;

pub use tree::{File, Tree, WORKSPACES};

#[cfg(test)]
mod tests;
