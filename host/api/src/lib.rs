//! The REST interface.
//!
//! # Words
//! - *live*: the process answers; *ready*: what it serves from has been restored, so it may be sent work
//! - *problem*: a refusal, in the form of RFC 9457 (`application/problem+json`)
//!
//! # Invariants
//! 1. Every answer is JSON, every refusal a problem with its status in it.
//! 2. Without authentication nothing but loopback is served: another address is refused, not warned about.
//! 3. What goes out are the types of [`dto`], never those of another room.
//!
//! # Absent on purpose
//! No decision and no state: a handler asks, shapes the answer, and returns it.

pub mod dto;
mod error;
mod routes;
mod server;

pub use error::Error;
pub use routes::{Readiness, router};
pub use server::{Handle, Options, Server};

#[cfg(test)]
mod tests;
