//! Randomness.

/// Draws numbers that nobody else draws: for nonces, lineages and jitter. Never for what records become.
pub trait Randomness: Send + Sync {
    /// A number, all of whose bits are drawn.
    fn draw(&self) -> u64;
}
