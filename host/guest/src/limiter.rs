//! Bounds what an instance may grow.

use wasmtime::ResourceLimiter;

use crate::caps;

/// What an instance wanted and did not get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// Linear memory, all memories together, in bytes.
    Memory { wanted: usize },
    /// Elements of a table.
    Table { wanted: usize },
}

/// The limiter of one store. A refusal is remembered, because a guest that does not get memory usually
/// dies of something else a moment later.
#[derive(Debug)]
pub(crate) struct Limiter {
    memory_bytes: usize,
    memory_in_use: usize,
    denied: Option<Denied>,
}

impl Limiter {
    pub(crate) fn new(memory_bytes: u64) -> Self {
        let memory_bytes = usize::try_from(memory_bytes).unwrap_or(usize::MAX);
        Self { memory_bytes, memory_in_use: 0, denied: None }
    }

    /// Linear memory of all memories, in bytes.
    pub(crate) fn memory_in_use(&self) -> u64 {
        self.memory_in_use as u64
    }

    /// What was refused last.
    pub(crate) fn denied(&self) -> Option<Denied> {
        self.denied
    }

    /// Forgets refusals: another call begins.
    pub(crate) fn forget(&mut self) {
        self.denied = None;
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        let wanted = self.memory_in_use.saturating_add(desired.saturating_sub(current));
        if wanted > self.memory_bytes {
            self.denied = Some(Denied::Memory { wanted });
            return Ok(false);
        }
        // Beyond its own maximum a memory does not grow, whatever is answered here.
        if maximum.is_none_or(|most| desired <= most) {
            self.memory_in_use = wanted;
        }
        Ok(true)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        if desired > caps::TABLE_ELEMENTS {
            self.denied = Some(Denied::Table { wanted: desired });
            return Ok(false);
        }
        Ok(true)
    }

    fn instances(&self) -> usize {
        caps::CORE_INSTANCES
    }

    fn tables(&self) -> usize {
        caps::TABLES
    }

    fn memories(&self) -> usize {
        caps::MEMORIES
    }
}
