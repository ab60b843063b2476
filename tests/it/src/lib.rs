//! In-memory integration tests.
