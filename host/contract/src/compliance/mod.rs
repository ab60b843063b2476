//! Compliance suites: every implementation of a seam runs them.

pub mod checkpoint;
pub mod clock;
pub mod function;
pub mod object;
pub mod sink;
pub mod source;
pub mod staging;
pub mod state;
