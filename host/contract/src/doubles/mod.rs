//! In-memory doubles of the seams.

mod checkpoint;
mod clock;
mod faults;
mod function;
mod object;
mod scripted;
mod sink;
mod source;
mod state;

pub use checkpoint::MemoryCheckpoints;
pub use clock::ManualClock;
pub use faults::{Fault, StoreCall};
pub use function::{ClosureFactory, port, probe};
pub use object::MemorySnapshots;
pub use scripted::ScriptedState;
pub use sink::{MemorySink, WrittenRecord};
pub use source::{MemoryItem, MemoryRecord, MemorySource};
pub use state::{MapBackend, MapState};
