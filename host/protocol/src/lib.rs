//! The decisions, as pure synchronous functions.
