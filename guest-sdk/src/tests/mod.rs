//! What the SDK promises, driven as a function author would.

mod allocations;
mod codec;
mod config;
mod describe;
mod failures;
mod inputs;
mod outputs;
mod schema;
mod state;
mod timers;
mod ttl;
