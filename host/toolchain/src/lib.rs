//! The function tool-chain: from a guest crate to a component, with no tools but cargo.
