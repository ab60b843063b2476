//! The REST interface.
