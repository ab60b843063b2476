//! Compliance suites: every implementation of a seam runs them.

pub mod state;
