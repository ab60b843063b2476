//! In-memory doubles of the seams.

mod state;

pub use state::{MapBackend, MapState};
